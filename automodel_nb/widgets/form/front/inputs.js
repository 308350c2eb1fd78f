// Inputs that send what is typed, and never lose a letter to an answer that comes late.

const PAUSE = 150; // ms without a letter before what is typed is sent
const BREATH = 1000; // ms without a letter after which the next one begins a step of its own, to be undone by itself

/** Ties a text control to a value of the kernel's. `write(text, step)` sends it and returns the message's number. */
class Bound {
  constructor(form, input, write, whenDone = false) {
    Object.assign(this, { form, input, write });
    this.sent = 0;
    this.typed = 0;
    input.addEventListener("focus", () => { this.typed = 0; });
    input.addEventListener("input", () => {
      if (Date.now() - this.typed > BREATH) this.step = form.newStep();
      this.typed = Date.now();
      clearTimeout(this.timer);
      this.form.pending.add(this);
      if (!whenDone) this.timer = setTimeout(() => this.flush(), PAUSE);
    });
    input.addEventListener("change", () => this.flush());
    input.addEventListener("blur", () => { this.flush(); this.form.draw(); });
  }

  flush() {
    if (!this.form.pending.delete(this)) return;
    clearTimeout(this.timer);
    this.sent = this.write(this.input.value, this.step) ?? 0;
  }

  /** Shows the kernel's value, unless something newer was typed. */
  show(text) {
    if (this.form.pending.has(this) || this.sent > this.form.heard) return;
    if (this.input.value !== text) {
      const { selectionStart } = this.input;
      this.input.value = text;
      if (document.activeElement === this.input && selectionStart !== null) this.input.setSelectionRange(selectionStart, selectionStart);
    }
    if (this.input.tagName === "TEXTAREA") grow(this.input);
  }
}

/** A text box as high as its text. */
function grow(area) {
  if (!area.classList.contains("amnb-shell")) return;
  area.rows = Math.min(12, Math.max(2, area.value.split("\n").length));
}

const textInput = (props = {}) => h("input", { type: "text", autocomplete: "off", spellcheck: "false", autocapitalize: "off", class: "amnb-input", ...props });

const shellInput = (props = {}) => h("textarea", { rows: "2", spellcheck: "false", class: "amnb-input amnb-shell", ...props });

const iconButton = (sign, title, onclick, more = {}) =>
  h("button", { type: "button", class: "amnb-icon", title, "aria-label": title, onclick, ...more }, sign);

/** Arrow keys count up and down. */
function stepping(input) {
  input.setAttribute("inputmode", "numeric");
  input.addEventListener("keydown", (event) => {
    const by = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    const empty = input.value.trim() === "";
    const from = empty ? Number(input.placeholder) || 0 : Number(input.value); // an example (e.g. 8) is not a default
    if (!by || !Number.isInteger(from)) return;
    event.preventDefault();
    input.value = String(Math.max(0, from + by));
    input.dispatchEvent(new Event("input"));
  });
}
