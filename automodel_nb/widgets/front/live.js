// What makes the static output of a cell live.
//
// The output that is saved is HTML, always. Beside it lies an empty element; this script, which runs where a kernel with
// this widget is connected and nowhere else, draws the live view into it and hides the static one. So a notebook that is
// opened later, elsewhere, or without the widget packages shows the static view and no error.

const SILENT = 10_000; // ms without news after which the kernel is taken for gone

class Live {
  constructor(model, signal) {
    this.model = model;
    this.key = model.get("key");
    this.ring = new Ring();
    this.epoch = null;
    this.heard = 0; // when the kernel last said something: before it has, this may be a dead copy out of a file
    this.stale = false;
    this.waiting = 0; // since when an answer is due
    this.style = h("style");
    this.mounts = document.getElementsByClassName(`amnb-live-${this.key}`);
    model.on("msg:custom", (message) => this.hear(message));
    model.on("change", () => this.hear());
    const timer = setInterval(() => this.watch(), 500);
    signal.addEventListener("abort", () => { clearInterval(timer); this.end(); });
    this.take(model.get("tail"));
    model.send({ do: "hello" });
  }

  /** The kernel said something. */
  hear(message) {
    this.heard = Date.now();
    this.take(this.model.get("tail"));
    if (message?.kind === "lines") this.take(message);
    if (message?.kind === "ack") this.waiting = 0;
    this.draw();
  }

  take({ epoch, rows, total, bar }) {
    if (epoch === undefined || epoch < this.epoch) return;
    if (epoch > this.epoch || this.epoch === null) this.ring.clear();
    this.epoch = epoch;
    if (rows.length && rows[rows.length - 1][0] >= this.ring.last) this.ring.bar = bar;
    if (!rows.length) this.ring.bar = bar;
    this.ring.add(rows, total);
  }

  send(message) {
    this.model.send(message);
    this.waiting = Date.now();
  }

  words(status) {
    if (this.stale) return `▲ No news from the kernel since ${new Date(this.heard).toLocaleTimeString([], { hour12: false })}. The job does not need it. Come back to it with ${status.attach ?? "%automodel_jobs"}`;
    if (this.waiting && Date.now() - this.waiting > 1500) return "◌ The kernel is busy with a cell. This is done as soon as it is free.";
    return status.note ?? "";
  }

  get status() {
    return this.model.get("status");
  }

  /** True where the live view stands in place of the static one. */
  get inPlace() {
    return this.heard > 0 && !this.stale && !this.status.final;
  }

  watch() {
    const stale = this.heard > 0 && !this.status.final && Date.now() - this.heard > SILENT;
    const changed = stale !== this.stale || (this.waiting && Date.now() - this.waiting > 1500);
    this.stale = stale;
    if (changed || [...this.mounts].some((mount) => !mount.amnbView)) this.draw();
  }

  /** Draws before the next frame, once, however often it is called. */
  draw() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = undefined;
      this.drawNow();
    });
  }

  drawNow() {
    if (!this.heard) return;
    if (this.status.closed) return this.end();
    for (const mount of this.mounts) {
      if (!mount.amnbView) {
        mount.amnbView = new VIEWS[this.model.get("kind")](this);
        mount.dataset.lmSuppressShortcuts = "true"; // JupyterLab's keys act on cells
        mount.replaceChildren(mount.amnbView.root);
      }
      mount.hidden = this.stale && mount.amnbView.needsKernel;
      mount.amnbView.update();
    }
    this.hideStatic(this.inPlace);
  }

  /** The static view, or only its log, which the live view shows in any case. */
  hideStatic(whole) {
    setText(this.style, `.amnb-static-${whole ? "" : "log-"}${this.key}{display:none}`);
    if (!this.style.isConnected) document.head.append(this.style);
  }

  end() {
    this.style.remove();
    for (const mount of [...this.mounts]) {
      mount.amnbView = undefined;
      mount.replaceChildren();
    }
  }
}

const VIEWS = { panel: PanelView, jobs: JobsView };

export default {
  initialize({ model, signal }) {
    new Live(model, signal);
  },
};
