// The text itself, with line numbers, marks of what is wrong, and a light over the lines that the last edit changed.

class YamlPane {
  constructor(form) {
    this.form = form;
    this.area = h("textarea", { class: "amnb-yaml-text", "aria-label": "YAML", spellcheck: "false", wrap: "off", autocapitalize: "off" });
    this.behind = h("div", { class: "amnb-yaml-behind", "aria-hidden": "true" });
    this.gutter = h("div", { class: "amnb-gutter", "aria-hidden": "true" });
    this.problem = h("div", { class: "amnb-problem", role: "alert" });
    this.bound = new Bound(form, this.area, (text, step) => form.send({ do: "write", text, step }));
    this.area.addEventListener("input", () => this.draw());
    this.area.addEventListener("scroll", () => this.follow());
    this.area.addEventListener("keydown", (event) => this.key(event));
    this.element = h("div", { class: "amnb-yaml" }, h("div", { class: "amnb-yaml-box" }, this.gutter, h("div", { class: "amnb-yaml-page" }, this.behind, this.area)), this.problem);
    this.changed = new Set();
  }

  update(state) {
    const before = this.area.value;
    this.bound.show(state.yaml.replace(/\r\n?/g, "\n"));
    if (this.area.value !== before && before !== "") this.changed = newLines(before.split("\n"), this.area.value.split("\n"));
    this.marks = new Map(state.findings.filter((finding) => finding.line).map((finding) => [finding.line, finding]).reverse());
    const { problem } = state;
    this.problem.hidden = !problem;
    if (problem) {
      setText(this.problem, `✗ line ${problem.line ?? "?"}, column ${problem.column ?? "?"}: ${problem.message}${problem.fix ? ` → ${problem.fix}` : ""}. The fields show the last text that could be read.`);
    }
    this.draw();
  }

  draw() {
    const lines = this.area.value.split("\n");
    this.behind.replaceChildren(...lines.map((line, index) => h("div", { class: this.changed.has(index) ? "amnb-changed" : null }, ...coloured(line), "\n")));
    this.gutter.replaceChildren(...lines.map((_, index) => {
      const finding = this.marks?.get(index + 1);
      return h("div", { class: finding ? `amnb-${finding.severity}` : null, title: finding?.message }, String(index + 1));
    }));
    this.follow();
  }

  follow() {
    this.behind.scrollTop = this.gutter.scrollTop = this.area.scrollTop;
    this.behind.scrollLeft = this.area.scrollLeft;
  }

  /** Enter keeps the indentation. Tab leaves the pane, as everywhere: who has no mouse must get out. */
  key(event) {
    if (event.key !== "Enter" || event.ctrlKey || event.metaKey || event.altKey) return;
    const { selectionStart, value } = this.area;
    const line = value.slice(value.lastIndexOf("\n", selectionStart - 1) + 1, selectionStart);
    const deeper = /:\s*$/.test(line) ? "  " : "";
    event.preventDefault();
    document.execCommand("insertText", false, `\n${/^ */.exec(line)[0]}${deeper}`);
  }
}

/** Which lines of `after` are new: those between what both begin and what both end with. */
function newLines(before, after) {
  let head = 0;
  while (head < after.length && head < before.length && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < after.length - head && tail < before.length - head && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1;
  return new Set(Array.from({ length: after.length - head - tail }, (_, index) => head + index));
}

/** One line in pieces: comment, key, value. */
function coloured(line) {
  const found = /^(\s*(?:- +)?)([\w.-]+|"[^"]*"|'[^']*')(\s*:)(?=\s|$)/.exec(line);
  const [key, rest] = found ? [[found[1], h("span", { class: "amnb-y-key" }, found[2]), found[3]], line.slice(found[0].length)] : [[], line];
  const comment = commentOf(rest);
  const value = comment ? rest.slice(0, comment.index) : rest;
  return [...key, value && h("span", { class: "amnb-y-value" }, value), comment && h("span", { class: "amnb-y-comment" }, rest.slice(comment.index))].filter(Boolean);
}

/** Where the comment of a value begins: at the first # after a blank that is in no quotes. */
function commentOf(rest) {
  const mayQuote = /^\s*[[{"']/.test(rest); // elsewhere an apostrophe is one
  const isOpen = (text, quote) => text.split(quote).length % 2 === 0;
  return [...rest.matchAll(/(?:^|\s)#/g)].find(({ index }) => {
    const before = rest.slice(0, index);
    return !mayQuote || !(isOpen(before, '"') || isOpen(before, "'"));
  });
}
