// The table of jobs: filters by text and state, acts on a job, stays current.

class JobsView {
  constructor(live) {
    this.live = live;
    this.needsKernel = true; // without one the static table says as much
    this.query = "";
    this.state = "";
    this.search = h("input", { type: "search", class: "amnb-search", placeholder: "Filter: name, id, method, state", "aria-label": "Filter the jobs",
      oninput: () => { this.query = this.search.value.toLowerCase(); this.filter(); } });
    this.states = h("select", { class: "amnb-select", "aria-label": "State", onchange: () => { this.state = this.states.value; this.filter(); } },
      h("option", { value: "" }, "All states"), h("option", { value: "alive" }, "Not ended"), h("option", { value: "ok" }, "Completed"), h("option", { value: "bad" }, "Ended otherwise"));
    this.number = h("span", { class: "amnb-muted", role: "status" });
    this.body = h("tbody");
    this.rows = new Map();
    this.note = h("div", { class: "amnb-note", role: "status", hidden: true });
    this.foot = h("div", { class: "amnb-foot" });
    const head = ["State", "Job", "Step, loss", "Actions"].map((title) => h("th", { scope: "col" }, title));
    this.root = h("section", { class: "amnb amnb-jobs", "aria-label": "Jobs" },
      h("div", { class: "amnb-tools" }, this.search, this.states, this.number), this.note,
      h("table", {}, h("thead", {}, h("tr", {}, ...head)), this.body), this.foot);
  }

  update() {
    const status = this.live.status;
    const seen = new Set();
    let before = null;
    for (const job of status.jobs ?? []) {
      seen.add(job.id);
      const row = this.rows.get(job.id) ?? this.row(job.id);
      row.update(job);
      const place = before ? before.nextSibling : this.body.firstChild;
      if (row.root !== place) this.body.insertBefore(row.root, place);
      before = row.root;
    }
    for (const [id, row] of this.rows) if (!seen.has(id)) row.root.remove(), this.rows.delete(id);
    setText(this.note, this.live.words(status));
    this.note.hidden = !this.note.textContent;
    setText(this.foot, (status.notes ?? []).join("\n"));
    this.filter();
  }

  row(id) {
    const actions = new Actions((message) => this.live.send({ ...message, target: id }));
    const cells = ["state", "job", "step", "act"].map((name) => h("td", { class: `amnb-${name}` }));
    const draw = {
      state: redrawn(cells[0], (job) => [h("span", { class: "amnb-chip", style: `background:${job.colour}` }, `${job.symbol} ${job.state}`),
        job.note ? h("div", { class: "amnb-muted" }, ...prose(job.note)) : null]),
      job: redrawn(cells[1], (job) => [h("strong", {}, job.name), h("div", { class: "amnb-muted" }, h("code", {}, job.id), ` · ${job.about}`)]),
      step: redrawn(cells[2], (job) => [job.steps, h("div", { class: "amnb-muted" }, job.loss)]),
    };
    cells[3].append(actions.root, copyButton("Copy %attach", () => `%automodel_attach ${id}`, "Copy the line that comes back to this job"));
    const row = {
      root: h("tr", {}, ...cells),
      update: (job) => {
        row.job = job;
        draw.state({ colour: job.colour, symbol: job.symbol, state: job.state, note: job.note });
        draw.job({ name: job.name, id: job.id, about: job.about });
        draw.step({ steps: job.steps, loss: job.loss });
        actions.update(job.actions);
      },
    };
    this.rows.set(id, row);
    return row;
  }

  filter() {
    let shown = 0;
    for (const { root, job } of this.rows.values()) {
      const kind = !job.final ? "alive" : job.ok ? "ok" : "bad";
      const text = `${job.name} ${job.id} ${job.about} ${job.state}`.toLowerCase();
      root.hidden = (this.state && this.state !== kind) || !text.includes(this.query);
      if (!root.hidden) shown += 1;
    }
    setText(this.number, `${count(shown)} of ${count(this.rows.size)} jobs`);
  }
}
