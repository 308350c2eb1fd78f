// A log: follows its end until one scrolls up, search, filters, the first error pinned. Rows come from a Ring.

const LEVELS = { "": 0, D: 0, I: 1, W: 2, E: 3 };

class LogView {
  constructor(ring) {
    this.ring = ring;
    this.next = ring.base; // number of the row that is drawn next
    this.query = "";
    this.level = 0;
    this.rank = null;
    this.following = true;
    this.current = null; // the find that is looked at
    this.root = this.build();
  }

  build() {
    const on = (name, change) => ({ [`on${name}`]: change });
    this.search = h("input", {
      type: "search", class: "amnb-search", placeholder: "Search", "aria-label": "Search the log",
      ...on("input", () => this.find(this.search.value)),
      onkeydown: (event) => {
        if (event.key === "Enter") this.step(event.shiftKey ? -1 : 1);
        else if (event.key === "Escape" && this.search.value) this.find((this.search.value = ""));
        else return;
        event.preventDefault();
        event.stopPropagation();
      },
    });
    this.finds = h("span", { class: "amnb-finds", role: "status" });
    const arrow = (label, text, by) =>
      h("button", { type: "button", class: "amnb-button", "aria-label": label, title: label, onclick: () => this.step(by) }, text);
    this.arrows = h("span", { class: "amnb-arrows", hidden: true }, arrow("Previous find", "↑", -1), arrow("Next find", "↓", 1));
    const option = (value, text) => h("option", { value }, text);
    this.levels = h("select", {
      class: "amnb-select", "aria-label": "Level", ...on("change", () => this.filter({ level: Number(this.levels.value) })),
    }, option(0, "All levels"), option(2, "Warnings and errors"), option(3, "Errors"));
    this.ranks = h("select", {
      class: "amnb-select", "aria-label": "Rank", hidden: true,
      ...on("change", () => this.filter({ rank: this.ranks.value === "" ? null : Number(this.ranks.value) })),
    }, option("", "All ranks"));
    this.knownRanks = 0;
    const wrap = h("input", { type: "checkbox", checked: true, ...on("change", () => this.box.classList.toggle("amnb-nowrap", !wrap.checked)) });
    this.copy = copyButton("Copy", () => this.visibleText(), "Copy the lines that are shown");
    this.pin = h("div", { class: "amnb-pin", role: "status", hidden: true });
    this.drawPin = redrawn(this.pin, (found) => this.pinOf(found));
    this.box = h("div", {
      class: "amnb-lines", tabindex: "0", role: "group", "aria-label": "Lines of the log",
      onscroll: () => this.scrolled(),
      onkeydown: (event) => {
        if (event.key === "/" || (event.key === "f" && (event.ctrlKey || event.metaKey))) {
          event.preventDefault();
          this.search.focus();
        } else if (event.key === "End") this.follow();
        event.stopPropagation(); // the notebook's own keys act on cells
      },
    });
    this.bar = h("div", { class: "amnb-line amnb-bar", hidden: true });
    this.empty = h("div", { class: "amnb-empty" }, "No output yet.");
    this.box.append(this.empty, this.bar);
    this.foot = h("span", {});
    this.down = h("button", { type: "button", class: "amnb-button amnb-follow", hidden: true, onclick: () => this.follow() }, "↓ Follow the end");
    return h("section", { class: "amnb-log", "aria-label": "Log" },
      h("div", { class: "amnb-tools" }, this.search, this.finds, this.arrows, this.levels, this.ranks,
        h("label", { class: "amnb-wrap" }, wrap, " wrap"), this.copy),
      this.pin, this.box,
      h("div", { class: "amnb-foot" }, this.foot, this.down));
  }

  /** Draws what is new since the last call. */
  update(path) {
    const { ring } = this;
    if (this.next < ring.base || this.next > ring.base + ring.rows.length) this.restart();
    const fresh = ring.rows.slice(this.next - ring.base);
    if (fresh.length) {
      const chunk = h("div", { class: "amnb-chunk" }, ...fresh.map((row) => this.line(row)));
      chunk.amnbEnd = ring.base + ring.rows.length;
      this.bar.before(chunk);
      this.next = chunk.amnbEnd;
      this.dropOld();
    }
    this.empty.hidden = this.next > 0;
    this.bar.hidden = !ring.bar;
    setText(this.bar, ring.bar);
    if (ring.ranks.size !== this.knownRanks) this.listRanks();
    this.say(path);
    if (fresh.length && this.query) this.countFinds();
    if (this.following) this.toEnd();
  }

  /** Takes away what the ring no longer holds, so that the count of lines not shown is that of these lines. */
  dropOld() {
    const { base } = this.ring;
    while (this.first && this.first.amnbEnd <= base) this.first.remove();
    const { first } = this;
    for (let over = first ? base - first.amnbEnd + first.children.length : 0; over > 0; over -= 1) first.firstChild.remove();
  }

  get first() {
    return this.box.querySelector(".amnb-chunk");
  }

  restart() {
    this.box.querySelectorAll(".amnb-chunk").forEach((chunk) => chunk.remove());
    this.next = this.ring.base;
    this.current = null;
  }

  line(row) {
    if (row.gap) return h("div", { class: "amnb-line amnb-gap" }, `… ${count(row.gap)} ${row.gap === 1 ? "line" : "lines"} not shown …`);
    const line = h("div", { class: `amnb-line amnb-level-${row.level || "N"}`, "data-n": row.n });
    if (row.pieces) line.append(...row.pieces.map(piece));
    else line.textContent = row.text || "\u200b"; // a blank line has a height
    line.amnbRow = row;
    this.judge(line);
    return line;
  }

  /** Whether a line passes the filters, and whether it is a find. */
  judge(line) {
    const row = line.amnbRow;
    line.hidden = (LEVELS[row.level] ?? 0) < this.level || (this.rank !== null && row.rank !== this.rank);
    line.classList.toggle("amnb-find", !line.hidden && this.query !== "" && row.text.toLowerCase().includes(this.query));
  }

  get lines() {
    return this.box.querySelectorAll(".amnb-line[data-n]");
  }

  judgeAll() {
    this.lines.forEach((line) => this.judge(line));
    this.box.querySelectorAll(".amnb-gap").forEach((gap) => { gap.hidden = this.level > 0 || this.rank !== null; });
    this.countFinds();
    if (this.following) this.toEnd();
  }

  filter(change) {
    Object.assign(this, change);
    this.judgeAll();
  }

  find(text) {
    this.query = text.toLowerCase();
    this.look(null);
    this.judgeAll();
  }

  /** To the next find, or the one before; the first step goes to the newest. */
  step(by) {
    const finds = [...this.box.querySelectorAll(".amnb-find")];
    if (!finds.length) return;
    const at = finds.indexOf(this.current);
    this.look(finds[at < 0 ? finds.length - 1 : (at + by + finds.length) % finds.length]);
    this.countFinds();
  }

  look(line) {
    this.current?.classList.remove("amnb-current");
    this.current = line;
    if (!line) return;
    line.classList.add("amnb-current");
    this.let(false);
    this.box.scrollTop = line.offsetTop - this.box.clientHeight / 2;
  }

  countFinds() {
    const finds = this.query ? [...this.box.querySelectorAll(".amnb-find")] : [];
    const at = finds.indexOf(this.current);
    this.arrows.hidden = !finds.length;
    setText(this.finds, !this.query ? "" : !finds.length ? "not found" : at < 0 ? `${count(finds.length)} found` : `${count(at + 1)} of ${count(finds.length)}`);
    highlight(this, finds);
  }

  listRanks() {
    const ranks = [...this.ring.ranks].sort((a, b) => a - b);
    this.knownRanks = ranks.length;
    this.ranks.hidden = !ranks.length;
    this.ranks.replaceChildren(this.ranks.firstChild, ...ranks.map((rank) => h("option", { value: rank }, `Rank ${rank}`)));
    if (this.rank !== null) this.ranks.value = this.rank;
  }

  say(path) {
    const { ring } = this;
    const left = ring.hidden ? `${count(ring.hidden)} of ${count(ring.total)} lines not shown, whole log: ${path}` : "";
    setText(this.foot, left || (ring.total ? `${count(ring.total)} ${ring.total === 1 ? "line" : "lines"}` : ""));
  }

  /** The first error on top: [number, text, rank], or null; `words` false where the card above says it already. */
  pinned(error, words) {
    this.pin.hidden = !error;
    this.drawPin({ error, words });
  }

  pinOf({ error, words }) {
    if (!error) return [];
    const [number, text, rank] = error;
    const where = `line ${count(number)}${rank === null ? "" : `, rank ${rank}`}`;
    const show = h("button", { type: "button", class: "amnb-button", onclick: () => this.goTo(number, show) }, "Show in the log");
    return [h("div", { class: "amnb-row" }, h("span", {}, h("strong", {}, "✗ First error "), h("span", { class: "amnb-muted" }, where)), show),
      words ? h("div", { class: "amnb-said" }, text) : null];
  }

  goTo(number, button) {
    const line = this.box.querySelector(`.amnb-line[data-n="${Number(number)}"]`);
    if (!line) return setText(button, "No longer among the lines shown");
    if (line.hidden) this.filter({ level: 0, rank: null }), (this.levels.value = 0), (this.ranks.value = "");
    this.look(line);
  }

  visibleText() {
    return [...this.lines].filter((line) => !line.hidden).map((line) => line.amnbRow.text).join("\n");
  }

  scrolled() {
    const { box } = this;
    if (box.scrollTop === this.setTo) return; // we were that
    this.let(box.scrollHeight - box.scrollTop - box.clientHeight < 4);
  }

  let(following) {
    this.following = following;
    this.down.hidden = following;
  }

  follow() {
    this.let(true);
    this.toEnd();
  }

  toEnd() {
    this.box.scrollTop = this.box.scrollHeight;
    this.setTo = this.box.scrollTop;
  }
}

function piece([text, colour, flags]) {
  const looks = [...(flags || "")].map((flag) => `amnb-${flag}`);
  const named = colour && !colour.startsWith("#");
  if (named) looks.push(`amnb-${colour.replace("bright-", "")}`);
  const span = h("span", { class: looks.join(" ") || null }, text);
  if (colour && !named) span.style.color = colour;
  return span;
}

/** Marks the words that were searched for, where the browser can do so without touching the lines. */
function highlight(view, finds) {
  if (!window.Highlight) return;
  const marks = (CSS.highlights.get("amnb-find") ?? CSS.highlights.set("amnb-find", new Highlight()).get("amnb-find"));
  for (const range of view.marked ?? []) marks.delete(range);
  view.marked = finds.slice(-500).flatMap((line) => rangesOf(line, view.query));
  for (const range of view.marked) marks.add(range);
}

function rangesOf(line, query) {
  const ranges = [];
  for (const node of textNodes(line)) {
    const text = node.data.toLowerCase();
    for (let at = text.indexOf(query); at >= 0; at = text.indexOf(query, at + query.length)) {
      const range = new StaticRange({ startContainer: node, startOffset: at, endContainer: node, endOffset: at + query.length });
      ranges.push(range);
    }
  }
  return ranges;
}

function textNodes(element) {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const nodes = [];
  while (walker.nextNode()) nodes.push(walker.currentNode);
  return nodes;
}
