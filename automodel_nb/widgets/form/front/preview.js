// What would be submitted: lines that the last edit changed are marked, and each says which field made it.

class PreviewPane {
  constructor(form) {
    this.form = form;
    this.names = h("div", { class: "amnb-chips", role: "group", "aria-label": "Files" });
    this.lines = h("div", { class: "amnb-script", tabindex: "0", role: "list", "aria-label": "What would be submitted" });
    this.lines.addEventListener("keydown", (event) => this.key(event));
    this.element = h("div", { class: "amnb-preview" }, this.names, this.lines);
    this.chosen = null;
    this.active = -1;
  }

  update(preview, state) {
    const files = preview.files ?? [];
    const parts = files.map((file) => file.name);
    if (preview.environment?.length) parts.push("environment");
    if (!parts.includes(this.chosen)) this.chosen = parts[0] ?? null;
    this.element.classList.toggle("amnb-old", !state.planned);
    const key = JSON.stringify([parts, this.chosen]);
    if (key !== this.key_) {
      this.key_ = key;
      this.names.replaceChildren(...parts.map((name) => h("button", { type: "button", class: "amnb-chip-button", "aria-pressed": String(name === this.chosen), onclick: () => { this.chosen = name; this.drawn = null; this.form.draw(); } }, name)));
    }
    const drawn = JSON.stringify([preview, this.chosen]);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    this.active = -1;
    if (!parts.length) {
      this.lines.replaceChildren(h("div", { class: "amnb-muted amnb-none" }, "Nothing to show until the errors are gone."));
    } else if (this.chosen === "environment") {
      this.lines.replaceChildren(...preview.environment.map(([name, value, plain]) => this.line(`${name}=${value}`, false, [], !plain)));
    } else {
      this.draw(files.find((file) => file.name === this.chosen).lines);
    }
  }

  draw(lines) {
    let before = "";
    this.lines.replaceChildren(...lines.map(([text, changed, fields]) => {
      const key = fields.join();
      const first = key !== before && text.trim() !== "";
      if (first) before = key;
      return this.line(text, changed, fields, false, first);
    }));
    const changed = this.lines.querySelector(".amnb-changed");
    if (changed && !this.lines.contains(document.activeElement)) this.lines.scrollTop = Math.max(0, changed.offsetTop - this.lines.offsetTop - 60);
  }

  line(text, changed, fields, marker = false, first = true) {
    const comment = /^\s*#(?!SBATCH|!)/.test(text);
    const said = fields.map((field) => field.split(".").slice(1).join("."));
    const why = fields.length && first ? h("button", { type: "button", tabindex: "-1", class: "amnb-why", title: fields.map((field) => this.form.explain(field)).join("\n"), onclick: () => this.form.reveal(fields[0]) }, said[0] + (said.length > 1 ? ` +${said.length - 1}` : "")) : null;
    return h("div", { role: "listitem", class: `amnb-line${changed ? " amnb-changed" : ""}${comment ? " amnb-comment" : ""}${marker ? " amnb-marker" : ""}`, "data-fields": ` ${fields.map((field) => field.split(".").slice(0, 2).join(".")).join(" ")} ` },
      h("span", { class: "amnb-line-text" }, text || " "), why);
  }

  /** Arrows walk the lines, Enter goes to the field that made the line. */
  key(event) {
    const rows = [...this.lines.children];
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (move) {
      event.preventDefault();
      rows[this.active]?.classList.remove("amnb-active");
      this.active = Math.max(0, Math.min(rows.length - 1, this.active + move));
      rows[this.active]?.classList.add("amnb-active");
      rows[this.active]?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter") {
      const field = rows[this.active]?.dataset.fields.trim().split(" ")[0];
      if (field) this.form.reveal(field);
    }
  }

  /** Shows which lines a field makes. */
  pointAt(path) {
    for (const row of this.lines.children) row.classList.toggle("amnb-pointed", Boolean(path) && (row.dataset.fields ?? "").includes(` ${path} `));
  }
}
