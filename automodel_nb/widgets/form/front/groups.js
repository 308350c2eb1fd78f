// The fields of one method, in groups: what most people need is open, the rest is made when it is opened.

const GROUP_NAMES = { "most needed": "", resources: "Resources", scheduling: "Scheduling", container: "Container", environment: "Environment", training: "Training", profiling: "Profiling", advanced: "Advanced" };

class MethodView {
  constructor(form, method) {
    this.form = form;
    this.groups = method.groups.map((group) => new GroupView(form, group));
    this.element = h("div", { class: "amnb-groups" }, ...this.groups.map((group) => group.element));
  }

  update(fields) {
    for (const group of this.groups) group.update(fields);
  }

  /** Opens the group of a field and goes there. */
  reveal(name) {
    for (const group of this.groups) if (group.reveal(name)) return true;
    return false;
  }
}

class GroupView {
  constructor(form, group) {
    Object.assign(this, { form, group });
    this.views = new Map();
    this.body = h("div", { class: "amnb-fields" });
    this.folded = group.name !== "most needed";
    if (!this.folded) {
      this.element = h("section", { class: "amnb-group" }, this.body);
      return;
    }
    this.count = h("span", { class: "amnb-count" });
    this.mark = h("span", { class: "amnb-mark" });
    this.element = h("details", { class: "amnb-group" }, h("summary", {}, h("span", {}, GROUP_NAMES[group.name] ?? group.name), this.count, this.mark), this.body);
    this.element.addEventListener("toggle", () => this.update(this.fields ?? {}));
  }

  get isOpen() {
    return !this.folded || this.element.open;
  }

  update(fields) {
    this.fields = fields;
    if (this.isOpen && !this.views.size) {
      for (const doc of this.group.fields) {
        const view = new FieldView(this.form, doc);
        this.views.set(doc.name, view);
        this.body.append(view.element);
      }
    }
    for (const [name, view] of this.views) view.update(fields[name]);
    if (!this.folded) return;
    const states = this.group.fields.map((doc) => fields[doc.name]).filter(Boolean);
    const given = states.filter((state) => state.here || state.inherited).length;
    const worst = ["error", "warning"].find((severity) => states.some((state) => state.findings.some((finding) => finding.severity === severity)));
    setText(this.count, given ? `${given} set` : "");
    setText(this.mark, { error: "✗", warning: "▲" }[worst] ?? "");
    this.mark.className = `amnb-mark amnb-${worst ?? "none"}`;
  }

  reveal(name) {
    if (!this.group.fields.some((doc) => doc.name === name)) return false;
    if (this.folded) this.element.open = true;
    this.update(this.fields ?? {});
    this.views.get(name).focus();
    return true;
  }
}
