// Proposals below an input. Any text can be typed; what cannot work is marked, and can be chosen all the same.

class Combo {
  /** `field`: what the kernel is asked about. `take(value)`: what to type for a choice (the value itself by default). */
  constructor(form, input, field, take = (value) => value) {
    Object.assign(this, { form, input, field, take });
    this.id = form.newId("list");
    this.active = -1;
    this.filtering = false;
    this.list = h("div", { id: this.id, role: "listbox", class: "amnb-form amnb-list", popover: "manual" });
    this.button = iconButton("▾", "Choices", () => { this.input.focus(); this.isOpen ? this.close() : this.open(); }, { tabindex: "-1" });
    this.button.addEventListener("mousedown", (event) => event.preventDefault()); // the input keeps the focus
    this.element = h("div", { class: "amnb-combo" }, input, this.button, this.list);
    for (const [name, value] of Object.entries({ role: "combobox", "aria-expanded": "false", "aria-controls": this.id, "aria-autocomplete": "list" })) input.setAttribute(name, value);
    input.addEventListener("focus", () => form.ask(field));
    input.addEventListener("input", () => { this.filtering = true; if (document.activeElement === input) this.open(); });
    input.addEventListener("keydown", (event) => this.key(event));
    input.addEventListener("blur", () => this.close());
  }

  get isOpen() {
    return this.list.matches(":popover-open");
  }

  get rows() {
    const all = this.form.choices.get(this.field) ?? [];
    const typed = this.input.value.trim().toLowerCase();
    return this.filtering && typed ? all.filter(([value]) => value.toLowerCase().includes(typed)) : all;
  }

  open() {
    this.draw();
    if (!this.rows.length) this.hide();
    else if (!this.isOpen) this.list.showPopover();
    this.input.setAttribute("aria-expanded", String(this.isOpen));
    if (this.isOpen) this.place();
    this.form.openCombo = this; // opened again when choices arrive: the first may be on their way
  }

  hide() {
    if (this.isOpen) this.list.hidePopover();
  }

  close() {
    this.hide();
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
    this.active = -1;
    this.filtering = false;
    if (this.form.openCombo === this) this.form.openCombo = null;
  }

  place() {
    const box = this.input.getBoundingClientRect();
    const below = window.innerHeight - box.bottom - 8;
    const height = Math.min(this.list.scrollHeight, 280);
    const up = below < height && box.top > below;
    Object.assign(this.list.style, {
      left: `${box.left}px`, minWidth: `${box.width}px`, maxHeight: `${Math.min(280, up ? box.top - 8 : below)}px`,
      top: up ? "auto" : `${box.bottom + 2}px`, bottom: up ? `${window.innerHeight - box.top + 2}px` : "auto",
    });
  }

  draw() {
    this.list.replaceChildren(...this.rows.map(([value, note, problem], index) => {
      const option = h("div", { role: "option", id: `${this.id}-${index}`, class: "amnb-option", "aria-selected": String(index === this.active) },
        h("span", { class: "amnb-option-value" }, value),
        note && h("span", { class: "amnb-muted" }, note),
        problem && h("span", { class: "amnb-option-problem" }, `✗ ${problem}`));
      option.addEventListener("mousedown", (event) => { event.preventDefault(); this.pick(value); });
      return option;
    }));
  }

  key(event) {
    const rows = this.rows;
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (move && (this.isOpen || event.key === "ArrowDown")) {
      event.preventDefault();
      if (!this.isOpen) return this.open();
      this.active = (this.active + move + rows.length) % rows.length;
      this.draw();
      this.input.setAttribute("aria-activedescendant", `${this.id}-${this.active}`);
      this.list.children[this.active].scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter" && this.isOpen && this.active >= 0) {
      event.preventDefault();
      this.pick(rows[this.active][0]);
    } else if (event.key === "Escape" && this.isOpen) {
      event.preventDefault();
      event.stopPropagation();
      this.close();
    }
  }

  pick(value) {
    this.input.value = this.take(value);
    this.input.dispatchEvent(new Event("input"));
    this.input.dispatchEvent(new Event("change"));
    this.close();
  }
}
