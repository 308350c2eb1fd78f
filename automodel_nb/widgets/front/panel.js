// The panel of one job. Before the job's end it takes the place of the card; then the card is back, with the log below it.

class PanelView {
  constructor(live) {
    this.live = live;
    this.head = new Head();
    this.actions = new Actions((message) => live.send(message));
    this.log = new LogView(live.ring);
    this.note = h("div", { class: "amnb-note", role: "status", hidden: true });
    this.hint = h("div", { class: "amnb-hint amnb-muted", hidden: true });
    this.details = h("details", { class: "amnb-details" }, h("summary", {}, "Files, and what was launched"));
    this.rows = h("div", {});
    this.drawRows = redrawn(this.rows, detailsOf);
    this.details.append(this.rows);
    this.root = h("section", { class: "amnb amnb-panel" }, this.head.root, this.note,
      h("div", { class: "amnb-foothead" }, this.head.moments, this.actions.root), this.hint, this.log.root, this.details);
  }

  update() {
    const { live } = this;
    const status = live.model.get("status");
    if (!status.job) return;
    const alone = live.inPlace; // of the card
    this.root.setAttribute("aria-label", `Job ${status.name}`);
    this.head.root.hidden = this.head.moments.hidden = this.details.hidden = !alone;
    if (alone) {
      this.head.update(status, live.model.get("curves"));
      this.drawRows({ places: status.places, config: status.config, command: status.command, attach: status.attach });
    }
    this.actions.update(live.stale ? [] : status.actions);
    setText(this.hint, alone ? status.hint : "");
    this.hint.hidden = !this.hint.textContent;
    const words = live.words(status);
    setText(this.note, !alone && words === status.note ? "" : words); // the card shows that one, too
    this.note.hidden = !this.note.textContent;
    this.log.pinned(status.error, alone);
    this.log.update(status.log);
    // below the card of a job that never wrote a line there is nothing to see
    this.root.hidden = !alone && this.note.hidden && !live.ring.total && !live.ring.bar && !(status.actions ?? []).length;
  }
}
