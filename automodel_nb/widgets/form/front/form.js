// The form's end of the wire: what the kernel says goes to every place where the form is drawn, what a user does goes back.

const forms = new Map(); // by key: one for each model, wherever it is drawn

class FormFront {
  constructor(model) {
    this.model = model;
    this.key = model.get("key");
    this.shape = model.get("shape");
    this.around = new NotebookAround(model, this.key);
    this.views = new Set();
    this.pending = new Set();
    this.choices = new Map();
    this.number = model.get("seq");
    this.waiting = 0;
    this.steps = 0;
    this.ids = 0;
    this.session = Math.random().toString(36).slice(2); // steps of two pages are not the same steps
    model.on("change", () => this.draw());
    model.on("msg:custom", (message) => this.hear(message));
    model.on("comm_live_update", () => this.lose());
    this.timer = setInterval(() => this.watch(), 500);
  }

  get state() {
    return this.model.get("state");
  }

  get preview() {
    return this.model.get("preview");
  }

  /** Number of the last message that the kernel has acted on. */
  get heard() {
    return this.model.get("seq");
  }

  get busy() {
    return this.waiting > 0 && this.heard < this.number && Date.now() - this.waiting > 1500;
  }

  get launching() {
    return (this.state.note ?? "").startsWith("Launching");
  }

  /** The cell that launches this. */
  get cellText() {
    return `${this.state.head}\n${this.state.yaml}`;
  }

  /** An id for an element; other forms of the page have other ones. */
  newId(kind) {
    this.ids += 1;
    return `amnb-${kind}-${this.session}-${this.ids}`;
  }

  newStep() {
    this.steps += 1;
    return `${this.session}-${this.steps}`;
  }

  send(message) {
    if (this.heard >= this.number) this.waiting = Date.now();
    this.number += 1;
    this.model.send({ ...message, seq: this.number });
    return this.number;
  }

  /** Sends what is typed and not sent yet. */
  flush() {
    for (const bound of [...this.pending]) bound.flush();
  }

  /** Resolves when the kernel has acted on everything and knows the plan; after ten seconds in any case. */
  async settled() {
    const end = Date.now() + 10_000;
    while ((this.heard < this.number || this.state.checking) && Date.now() < end) await new Promise((done) => { setTimeout(done, 20); });
  }

  ask(field) {
    this.model.send({ do: "choices", field });
  }

  hear(message) {
    if (message.kind !== "choices") return;
    this.choices.set(message.field, message.choices);
    if (this.openCombo?.field === message.field) this.openCombo.open();
  }

  /** A field in words: its name, and where its value comes from. */
  explain(path) {
    const [method, name] = path.split(".");
    const state = method === this.state.method ? this.state.fields[name] : null;
    if (state?.here) return `${path} · line ${state.line} of the YAML`;
    return state?.inherited ? `${path} · ${state.inherited.origin}` : `${path} · default`;
  }

  pointAt(path) {
    for (const view of this.views) view.preview.pointAt(path);
  }

  reveal(path) {
    return [...this.views].some((view) => view.root.isConnected && view.reveal(path));
  }

  draw(now = false) {
    const all = () => { this.frame = undefined; for (const view of this.views) view.update(); };
    if (now) return all();
    this.frame ??= requestAnimationFrame(all);
  }

  watch() {
    if (this.busy !== this.wasBusy) this.draw();
    this.wasBusy = this.busy;
    this.mountAll();
  }

  /** Draws the form into the empty elements that the kernel put beside its static text. */
  mountAll() {
    for (const mount of document.getElementsByClassName(`amnb-form-${this.key}`)) {
      if (mount.amnbView) continue;
      mount.amnbView = this.drawIn(mount);
      this.style ??= h("style", {}, `.amnb-form-static-${this.key}{display:none}`);
      if (!this.style.isConnected) document.head.append(this.style);
    }
  }

  drawIn(element) {
    const view = new FormView(this);
    this.views.add(view);
    element.dataset.lmSuppressShortcuts = "true"; // JupyterLab's keys act on cells
    element.replaceChildren(view.root);
    view.update();
    return view;
  }

  /** The kernel was restarted or is gone, and hears nothing: the text stays, to be taken along. */
  lose() {
    for (const mount of this.leave()) {
      mount.replaceChildren(h("div", { class: "amnb-form amnb-lost" }, h("div", {}, "The kernel that held this form is gone. To go on, run the cell again. What it held:"), h("pre", {}, this.cellText)));
    }
  }

  end() {
    this.style?.remove();
    for (const mount of this.leave()) mount.amnbView = undefined;
  }

  /** Takes the form out of the page; the places where it was. */
  leave() {
    clearInterval(this.timer);
    for (const view of this.views) view.root.remove();
    this.views.clear();
    forms.delete(this.key);
    return [...document.getElementsByClassName(`amnb-form-${this.key}`)];
  }
}

function front(model) {
  const key = model.get("key");
  if (!forms.has(key)) forms.set(key, new FormFront(model));
  return forms.get(key);
}

export default {
  initialize({ model, signal }) {
    const form = front(model);
    // the cell's output comes a moment after the widget
    let looks = 0;
    const look = () => { form.mountAll(); if (!form.views.size && (looks += 1) < 120) requestAnimationFrame(look); };
    look();
    signal.addEventListener("abort", () => form.end());
  },
  render({ model, el, signal }) {
    const form = front(model);
    const view = form.drawIn(el);
    signal.addEventListener("abort", () => form.views.delete(view));
  },
};
