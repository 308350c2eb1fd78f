// Where a job stands: state, progress, figures with their curves, time line, paths.

class Head {
  constructor() {
    this.curve = "loss"; // which is shown
    this.curves = {};
    const part = (name, draw, props = {}) => {
      const element = h("div", { class: `amnb-${name}`, ...props });
      return [element, redrawn(element, draw)];
    };
    const parts = {
      title: part("title", (s) => [
        h("span", { class: "amnb-chip", style: `background:${s.colour}` }, `${s.symbol} ${s.state}`),
        h("strong", {}, s.name), h("span", { class: "amnb-muted amnb-where" }, s.where)]),
      reason: part("reason", (s) => [s.reason, s.stale, s.relations].filter(Boolean).map((line) => h("div", {}, ...prose(line))), { role: "status" }),
      progress: part("progress", progressOf),
      moments: part("moments", (s) => s.moments.map(([name, text, remark, exact]) => h("div", { class: "amnb-tile" },
        h("div", { class: "amnb-muted" }, name), h("div", { title: exact || null }, text, remark ? h("span", { class: "amnb-muted" }, ` ${remark}`) : "")))),
    };
    this.draw = Object.fromEntries(Object.entries(parts).map(([name, [, draw]]) => [name, draw]));
    this.image = h("img", { class: "amnb-curve", alt: "", hidden: true });
    this.figures = h("div", { class: "amnb-figures", role: "group", "aria-label": "Curves" });
    this.root = h("div", { class: "amnb-head" }, parts.title[0], parts.reason[0], parts.progress[0], this.figures, this.image);
    this.moments = parts.moments[0]; // stands beside the buttons
  }

  update(s, curves) {
    this.draw.title({ state: s.state, symbol: s.symbol, colour: s.colour, name: s.name, where: s.where });
    this.draw.reason({ reason: s.reason, stale: s.stale, relations: s.relations });
    this.draw.progress({ progress: s.progress, fraction: s.fraction, late: s.late, colour: s.colour });
    this.draw.moments({ moments: s.moments });
    this.curves = curves;
    this.drawFigures(s.figures);
    this.show();
  }

  /** Figures are the buttons that show their curves; kept, so that the focus stays while values change. */
  drawFigures(figures) {
    const names = figures.map(([name]) => name).join();
    if (names !== this.names) {
      this.names = names;
      this.figures.replaceChildren(...figures.map(([name, , curve]) => h("button", {
        type: "button", class: "amnb-figure", "data-curve": curve, title: `Show the curve: ${name}`,
        onclick: () => { this.curve = curve; this.choose(); },
      }, h("span", { class: "amnb-muted" }, name), h("span", { class: "amnb-value" }))));
      this.choose();
    }
    figures.forEach(([, value], i) => setText(this.figures.children[i].lastChild, value));
  }

  choose() {
    for (const button of this.figures.children) button.setAttribute("aria-pressed", String(button.dataset.curve === this.curve));
    this.show();
  }

  show() {
    const [svg, words] = this.curves[this.curve] ?? this.curves.loss ?? [];
    this.image.hidden = !svg;
    if (!svg || svg === this.svg) return;
    this.svg = svg;
    this.image.alt = words;
    this.image.src = `data:image/svg+xml,${encodeURIComponent(svg)}`; // a picture: nothing in it can run
  }
}

function progressOf(s) {
  if (!s.progress) return [];
  const percent = s.fraction === null ? "" : `${Math.floor(s.fraction * 100)} %`;
  const bar = s.fraction === null ? null : h("div", {
    class: "amnb-track", role: "progressbar", "aria-label": "Steps", "aria-valuemin": "0", "aria-valuemax": "100", "aria-valuenow": String(Math.floor(s.fraction * 100)),
  }, h("div", { style: `width:${s.fraction * 100}%;background:${s.colour}` }));
  return [h("div", { class: "amnb-row" }, h("span", {}, s.progress), h("span", {}, percent)), bar, s.late ? h("div", {}, s.late) : null];
}

/** Files, nodes and what was launched, each value with a button that copies it. */
function detailsOf(s) {
  const row = ([name, value]) => [h("dt", {}, name), h("dd", {}, h("code", {}, value), " ", copyButton("Copy", () => value, `Copy: ${name}`))];
  const rows = [...s.places, ...s.config, ["Training command", s.command], ["Come back to it", s.attach]].filter(([, value]) => value);
  return h("dl", {}, ...rows.flatMap(row));
}
