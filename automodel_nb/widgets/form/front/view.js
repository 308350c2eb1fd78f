// One place where the form is drawn. The same form can stand in several, and all show the same.

class FormView {
  constructor(form) {
    this.form = form;
    const act = (message) => () => { form.flush(); form.send(message); };
    this.tabs = form.shape.methods.map(({ name, label }) => h("button", { type: "button", role: "tab", class: "amnb-tab", "data-method": name, onclick: () => { form.flush(); form.send({ do: "choose", method: name }); } }, label));
    const tablist = h("div", { role: "tablist", "aria-label": "Launch method", class: "amnb-tabs" }, ...this.tabs);
    tablist.addEventListener("keydown", (event) => this.tabKey(event));
    this.undo = iconButton("↶", "Undo (Ctrl+Z)", act({ do: "undo" }));
    this.redo = iconButton("↷", "Redo (Ctrl+Shift+Z)", act({ do: "redo" }));
    this.profile = h("select", { class: "amnb-input amnb-profile", "aria-label": "Profile", onchange: () => form.send({ do: "profile", profile: this.profile.value }) });
    this.profileBox = h("label", { class: "amnb-profile-box" }, "Profile", this.profile);
    this.open = h("button", { type: "button", class: "amnb-button", "aria-expanded": "false", onclick: () => this.toggleOpen() }, "Open …");
    this.opener = h("div", { class: "amnb-opener", hidden: true });
    this.methods = h("div", { class: "amnb-method" });
    this.yaml = new YamlPane(form);
    this.preview = new PreviewPane(form);
    this.panes = { preview: this.preview.element, yaml: this.yaml.element };
    this.paneTabs = [["preview", "Preview"], ["yaml", "YAML"]].map(([name, label]) => h("button", { type: "button", role: "tab", class: "amnb-tab amnb-small", "data-pane": name, onclick: () => this.showPane(name) }, label));
    const paneList = h("div", { role: "tablist", "aria-label": "Text", class: "amnb-tabs" }, ...this.paneTabs);
    paneList.addEventListener("keydown", (event) => this.tabKey(event));
    this.launch = h("button", { type: "button", class: "amnb-button amnb-launch", onclick: () => this.pressLaunch() }, "Launch");
    this.ask = h("span", { class: "amnb-asked", hidden: true });
    this.why = h("span", { class: "amnb-summary", id: form.newId("why") });
    this.drawWhy = redrawn(this.why, prose);
    this.launch.setAttribute("aria-describedby", this.why.id);
    this.toCell = h("button", { type: "button", class: "amnb-button", title: "Write a cell that launches this, below the form", onclick: () => this.writeCell() }, "To cell");
    this.note = h("div", { class: "amnb-note", role: "status" });
    this.general = h("div", { class: "amnb-general" });
    this.drawGeneral = redrawn(this.general, (found) => found.map((finding) => findingView(form, finding)));
    this.counts = h("div", { class: "amnb-counts" });
    this.drawCounts = redrawn(this.counts, (found) => this.jumps(found));
    this.root = h("div", { class: "amnb-form" },
      h("div", { class: "amnb-head" }, tablist, h("div", { class: "amnb-tools" }, this.profileBox, this.undo, this.redo, this.open)),
      this.opener,
      h("div", { class: "amnb-body" },
        h("div", { class: "amnb-left" }, this.methods),
        h("div", { class: "amnb-right" }, paneList, this.preview.element, this.yaml.element, this.general)),
      h("div", { class: "amnb-foot" }, this.launch, this.ask, this.why, this.counts, this.toCell),
      this.note);
    this.root.addEventListener("keydown", (event) => this.key(event));
    this.showPane("preview");
  }

  update() {
    const { form } = this;
    const { state } = form;
    if (this.method !== state.method) {
      this.method = state.method;
      this.fields = new MethodView(form, form.shape.methods.find(({ name }) => name === state.method));
      this.methods.replaceChildren(this.fields.element);
      this.methods.parentElement?.scrollTo(0, 0);
    }
    this.fields.update(state.fields);
    for (const tab of this.tabs) {
      const on = tab.dataset.method === state.method;
      tab.setAttribute("aria-selected", String(on));
      tab.tabIndex = on ? 0 : -1;
    }
    this.methods.classList.toggle("amnb-frozen", Boolean(state.problem));
    this.methods.inert = Boolean(state.problem);
    for (const [button, on] of [[this.undo, state.undo], [this.redo, state.redo]]) button.setAttribute("aria-disabled", String(!on));
    this.drawProfiles(state);
    this.yaml.update(state);
    this.preview.update(form.preview, state);
    this.drawGeneral(state.general);
    this.drawCounts(state.findings);
    this.launch.setAttribute("aria-disabled", String(Boolean(state.blocked || state.checking || form.launching)));
    this.drawWhy(state.blocked ? `Cannot be launched: ${state.blocked}` : [state.summary, state.cost].filter(Boolean).join(" · "));
    this.why.classList.toggle("amnb-blocked", Boolean(state.blocked));
    if (state.blocked) this.answer(false);
    const busy = form.busy ? "◌ The kernel is busy with a cell. This is done as soon as it is free." : "";
    const note = busy || this.own || state.note || "";
    this.note.hidden = !note;
    setText(this.note, note);
    const wrong = this.paneTabs[1];
    wrong.classList.toggle("amnb-wrong", Boolean(state.problem));
  }

  drawProfiles(state) {
    const names = state.profiles ?? [];
    this.profileBox.hidden = !names.length;
    const key = names.join("\n");
    if (key !== this.profileKey) {
      this.profileKey = key;
      this.profile.replaceChildren(h("option", { value: "" }, "none"), ...names.map((name) => h("option", { value: name }, name)));
    }
    if (document.activeElement !== this.profile) this.profile.value = state.profile;
  }

  /** Buttons that go to the first finding of each severity. */
  jumps(found) {
    const kinds = [["error", "✗", "error"], ["warning", "▲", "warning"], ["hint", "›", "hint"]];
    return kinds.map(([severity, sign, word]) => {
      const of = found.filter((finding) => finding.severity === severity);
      if (!of.length) return null;
      let next = 0;
      const button = h("button", { type: "button", class: `amnb-link amnb-${severity}`, title: of.map((finding) => finding.message).join("\n") }, `${sign} ${of.length} ${word}${of.length > 1 ? "s" : ""}`);
      button.addEventListener("click", () => {
        const field = of[next++ % of.length].field.split(/[.[]/).slice(0, 2).join(".");
        if (!this.form.reveal(field)) this.general.scrollIntoView({ block: "nearest" });
      });
      return button;
    }).filter(Boolean);
  }

  reveal(path) {
    const [method, name] = path.split(".");
    return method === this.method && this.fields.reveal(name);
  }

  showPane(name) {
    for (const tab of this.paneTabs) {
      const on = tab.dataset.pane === name;
      tab.setAttribute("aria-selected", String(on));
      tab.tabIndex = on ? 0 : -1;
    }
    for (const [pane, element] of Object.entries(this.panes)) element.hidden = pane !== name;
    this.yaml.follow();
  }

  tabKey(event) {
    const tabs = [...event.currentTarget.children];
    const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!move) return;
    event.preventDefault();
    const next = tabs[(tabs.indexOf(document.activeElement) + move + tabs.length) % tabs.length];
    next.focus();
    next.click();
  }

  key(event) {
    if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
    const letter = event.key.toLowerCase();
    const redo = letter === "y" || (letter === "z" && event.shiftKey);
    if (letter !== "z" && !redo) return;
    event.preventDefault();
    event.stopPropagation();
    this.form.flush();
    this.form.send({ do: redo ? "redo" : "undo" });
  }

  // --- opening, writing, launching ---

  toggleOpen() {
    const on = this.opener.hidden;
    this.opener.hidden = !on;
    this.open.setAttribute("aria-expanded", String(on));
    if (!on) return;
    const load = (message) => { this.form.send({ do: "load", ...message }); this.toggleOpen(); this.open.focus(); };
    const cells = this.form.around.launches().map(([label, text]) => h("button", { type: "button", class: "amnb-button", onclick: () => load({ text }) }, label));
    const file = textInput({ placeholder: "a recipe's file, such as recipe.yaml", "aria-label": "File" });
    file.addEventListener("keydown", (event) => { if (event.key === "Enter" && file.value.trim()) { event.preventDefault(); load({ file: file.value }); } });
    this.opener.replaceChildren(
      h("div", { class: "amnb-open-row" }, h("span", { class: "amnb-muted" }, "File"), file, h("button", { type: "button", class: "amnb-button", onclick: () => file.value.trim() && load({ file: file.value }) }, "Open")),
      cells.length ? h("div", { class: "amnb-open-row" }, h("span", { class: "amnb-muted" }, "Cell"), ...cells) : h("div", { class: "amnb-muted" }, "No cell of this notebook launches anything yet."),
    );
    file.focus();
  }

  async writeCell() {
    this.form.flush();
    await this.form.settled();
    const text = this.form.cellText;
    if (this.form.around.write(text)) this.say("Written into the cell below.");
    else if (await copied(text)) this.say("Copied: paste it into a cell.");
    else this.say("This front end lets no widget write a cell: run form.to_cell().");
  }

  say(text) {
    this.own = text;
    this.update();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => { this.own = ""; this.update(); }, 4000);
  }

  async pressLaunch() {
    this.form.flush();
    await this.form.settled();
    if (this.launch.getAttribute("aria-disabled") === "true") {
      const error = this.form.state.findings.find((finding) => finding.severity === "error");
      if (error) this.form.reveal(error.field.split(/[.[]/).slice(0, 2).join("."));
      return;
    }
    this.answer(true);
  }

  /** Asks before it launches: it costs an allocation or money. */
  answer(asking) {
    if (asking === !this.ask.hidden) return;
    this.ask.hidden = !asking;
    this.launch.hidden = asking;
    if (!asking) return;
    const yes = h("button", { type: "button", class: "amnb-button amnb-launch", onclick: () => { this.answer(false); this.form.send({ do: "launch" }); this.launch.focus(); } }, "Yes, launch");
    const no = h("button", { type: "button", class: "amnb-button", onclick: () => { this.answer(false); this.launch.focus(); } }, "No");
    this.ask.replaceChildren(h("span", {}, "Launch this?"), yes, no);
    yes.focus();
  }
}
