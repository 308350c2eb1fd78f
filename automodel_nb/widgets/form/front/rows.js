// Values that are lists or mappings: one row an item. A row that has no name yet lives here only, until it has one.

const REFERENCE = /^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$/;
const SECRET = /(^|_)(TOKENS?|KEYS?|APIKEY|SECRETS?|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?)(_|$)/i;

/** Rows under a field. Subclasses make a row and fill it; rows are reused, so that who types in one keeps the focus. */
class Rows {
  constructor(form, doc, labelled, addLabel) {
    Object.assign(this, { form, doc });
    this.rows = [];
    this.drafts = 0; // rows at the end in which nothing was typed yet
    this.body = h("div", { class: "amnb-rows" });
    this.add = h("button", { type: "button", class: "amnb-button amnb-small", onclick: () => this.addRow() }, addLabel);
    this.element = h("div", { role: "group", "aria-labelledby": labelled }, this.body, this.add);
  }

  path(...keys) {
    return [...this.doc.path.split("."), ...keys];
  }

  set(keys, value, step) {
    return this.form.send({ do: "set", path: this.path(...keys), value, step });
  }

  remove(...keys) {
    this.form.send({ do: "remove", path: this.path(...keys) });
    this.add.focus();
  }

  /** Takes an item out, or a row that is none yet. */
  drop(index) {
    if (index < this.rows.length - this.drafts) return this.remove(index);
    this.drafts -= 1;
    this.form.draw(true);
    this.add.focus();
  }

  /** Rows for the items, and for those that are still to be typed. */
  fitItems(count) {
    if (count > (this.count ?? count)) this.drafts = Math.max(0, this.drafts - (count - this.count));
    this.count = count;
    this.fit(count + this.drafts);
  }

  addRow() {
    this.drafts += 1;
    this.form.draw(true);
    this.rows[this.rows.length - 1].element.querySelector("input, textarea").focus();
  }

  /** As many rows as there are items. */
  fit(count) {
    while (this.rows.length > count) this.rows.pop().element.remove();
    while (this.rows.length < count) {
      const row = this.makeRow(this.rows.length);
      this.rows.push(row);
      this.body.append(row.element);
    }
  }

  focus() {
    (this.body.querySelector("input, textarea, select") ?? this.add).focus();
  }
}

/** A list of shell commands. */
class LineRows extends Rows {
  constructor(form, doc, labelled) {
    super(form, doc, labelled, "+ Command");
  }

  makeRow(index) {
    const input = shellInput({ rows: "1", "aria-label": `${this.doc.label}, ${index + 1}`, placeholder: this.doc.example });
    const bound = new Bound(this.form, input, (text, step) => this.write(index, text, step));
    return { bound, element: h("div", { class: "amnb-row-edit" }, input, iconButton("×", "Remove this command", () => this.single && index === 0 ? this.form.send({ do: "remove", path: this.path() }) : this.drop(index))) };
  }

  update(field) {
    const value = field?.here ? field.value : field?.inherited?.value;
    this.single = typeof value === "string";
    const items = this.single ? [value] : Array.isArray(value) ? value : [];
    this.fitItems(items.length);
    this.rows.forEach(({ bound }, index) => bound.show(typeof items[index] === "string" ? items[index] : ""));
  }

  write(index, text, step) {
    if (!this.single) return this.set([index], text, step);
    return this.form.send({ do: "set", path: this.path(), value: index ? [this.rows[0].bound.input.value, text] : text, step });
  }
}

/** Mounts: a directory of the node, where the container sees it, and whether it may write there. */
class MountRows extends Rows {
  constructor(form, doc, labelled) {
    super(form, doc, labelled, "+ Mount");
  }

  makeRow(index) {
    const name = `${this.doc.label}, ${index + 1}`;
    const source = textInput({ placeholder: "on the node", "aria-label": `${name}: on the node` });
    const dest = textInput({ placeholder: "the same inside", "aria-label": `${name}: in the container` });
    const only = h("input", { type: "checkbox", "aria-label": `${name}: read only` });
    const row = { source: new Bound(this.form, source, (_, step) => write(step)), dest: new Bound(this.form, dest, (_, step) => write(step)), only };
    const write = (step) => {
      if (row.mapping) {
        // a mapping in the text stays one
        const wanted = { source: source.value, dest: dest.value || source.value, read_only: only.checked };
        let number = 0;
        for (const [key, value] of Object.entries(wanted)) {
          const before = row.mapping[key] ?? (key === "read_only" ? "false" : "");
          if (String(value) !== String(before)) number = this.set([index, key], value, step);
        }
        return number;
      }
      const ro = only.checked ? ":ro" : "";
      return this.set([index], dest.value || ro ? `${source.value}:${dest.value || source.value}${ro}` : source.value, step);
    };
    only.addEventListener("change", () => write(this.form.newStep()));
    row.element = h("div", { class: "amnb-row-edit" }, source, h("span", { "aria-hidden": "true" }, "→"), dest,
      h("label", { class: "amnb-check" }, only, "read only"), iconButton("×", "Remove this mount", () => this.drop(index)));
    return row;
  }

  update(field) {
    const value = field?.here ? field.value : field?.inherited?.value;
    const items = Array.isArray(value) ? value : value ? [value] : [];
    this.fitItems(items.length);
    this.rows.forEach((row, index) => {
      const item = items[index] ?? "";
      row.mapping = item !== null && typeof item === "object" ? item : null;
      const [source, dest, only] = row.mapping ? [item.source ?? "", item.dest ?? "", isTrue(item.read_only)] : mountParts(item);
      row.source.show(source);
      row.dest.show(dest === source && !row.mapping ? "" : dest);
      if (document.activeElement !== row.only) row.only.checked = only;
    });
  }
}

const isTrue = (text) => ["true", "yes", "on"].includes(String(text ?? "").toLowerCase());

function mountParts(text) {
  const parts = text.split(":");
  const only = parts.length > 2 && parts[2] === "ro";
  return [parts[0], parts[1] ?? "", only];
}

/** A mapping of names to text. */
class PairRows extends Rows {
  constructor(form, doc, labelled, addLabel = "+ Entry") {
    super(form, doc, labelled, addLabel);
    this.draft = null;
  }

  makeRow() {
    const row = {};
    const name = textInput({ placeholder: "name", class: "amnb-input amnb-name" });
    row.name = new Bound(this.form, name, (text) => this.rename(row, text.trim()), true);
    row.value = this.makeValue(row);
    row.element = h("div", { class: "amnb-row-edit" }, this.nameControl(name), h("span", { "aria-hidden": "true" }, "="), row.value.element,
      iconButton("×", "Remove this entry", () => this.dropEntry(row)));
    return row;
  }

  nameControl(input) {
    return input;
  }

  makeValue(row) {
    const input = textInput({ placeholder: "value" });
    const bound = new Bound(this.form, input, (text, step) => row.key && this.set([row.key], text, step));
    return { element: input, show: (text) => bound.show(text), label: (text) => input.setAttribute("aria-label", text) };
  }

  rename(row, text) {
    if (!text || text === row.key) return 0;
    if (row.key) return this.form.send({ do: "rename", path: this.path(row.key), name: text });
    row.key = text;
    this.draft = null;
    return this.set([text], this.firstValue(text));
  }

  firstValue() {
    return "";
  }

  dropEntry(row) {
    if (row.key) return this.remove(row.key);
    this.draft = null;
    this.form.draw();
    this.add.focus();
  }

  update(field) {
    const here = asPairs(field?.here ? field.value : null);
    const below = asPairs(field?.inherited?.value);
    const entries = [...Object.entries(below).filter(([key]) => !(key in here)).map(([key, value]) => [key, value, false]), ...Object.entries(here).map(([key, value]) => [key, value, true])];
    if (this.draft && entries.some(([key]) => key === this.draft.key)) this.draft = null;
    if (this.draft) entries.push([this.draft.key ?? "", "", true]);
    this.fit(entries.length);
    entries.forEach(([key, value, own], index) => {
      const row = this.rows[index];
      row.key = key;
      row.name.show(key);
      row.name.input.setAttribute("aria-label", `${this.doc.label}: name`);
      row.value.label(`${key || "value"}`);
      row.value.show(typeof value === "string" ? value : value === null ? "" : JSON.stringify(value), key);
      row.element.classList.toggle("amnb-inherited", !own);
      row.element.title = own ? "" : `From ${field.inherited.origin}. Typing here goes over it.`;
    });
  }

  addRow() {
    this.draft = {};
    this.form.draw(true);
    this.rows[this.rows.length - 1].name.input.focus();
  }
}

function asPairs(value) {
  if (Array.isArray(value)) return Object.fromEntries(value.map((item) => String(item).split(/=(.*)/s)).map(([key, text]) => [key, text ?? "true"]));
  return value !== null && typeof value === "object" ? value : {};
}

/** Environment variables: a value, or the name of a variable of this kernel, whose value is never shown. */
class EnvironmentRows extends PairRows {
  constructor(form, doc, labelled) {
    super(form, doc, labelled, "+ Variable");
  }

  nameControl(input) {
    return new Combo(this.form, input, "variables").element;
  }

  firstValue(name) {
    return SECRET.test(name) ? `\${${name}}` : "";
  }

  makeValue(row) {
    const kind = h("select", { class: "amnb-input amnb-kind" }, h("option", { value: "text" }, "value"), h("option", { value: "name" }, "from this kernel"));
    const input = textInput();
    const typed = (text, step) => row.key && this.set([row.key], kind.value === "name" ? (text.trim() ? `\${${text.trim()}}` : "") : text, step);
    const bound = new Bound(this.form, input, typed);
    const combo = new Combo(this.form, input, "secrets");
    kind.addEventListener("change", () => {
      row.kind = kind.value;
      input.value = kind.value === "name" ? row.key ?? "" : "";
      if (row.key) bound.sent = typed(input.value, this.form.newStep());
      input.focus();
      this.form.draw();
    });
    return {
      element: h("div", { class: "amnb-env-value" }, kind, combo.element),
      label: (text) => { input.setAttribute("aria-label", text); kind.setAttribute("aria-label", `${text}: where its value is from`); },
      show: (text, key) => {
        const found = REFERENCE.exec(text);
        // where nothing is given yet, what was chosen last stays
        const now = found ? "name" : text === "" ? row.kind ?? (SECRET.test(key ?? "") ? "name" : "text") : "text";
        if (document.activeElement !== kind) kind.value = now;
        combo.button.hidden = now !== "name";
        input.placeholder = now === "name" ? "name of a variable" : "value";
        bound.show(found ? found[1] : text);
      },
    };
  }
}
