// The newest lines of a log, and how many are not among them.

const KEPT = 5000; // lines

class Ring {
  constructor() {
    this.clear();
  }

  clear() {
    this.rows = []; // {n, level, rank, text, pieces} or {gap}
    this.base = 0; // how many rows were dropped before rows[0]: rows are numbered base, base + 1, …
    this.last = 0; // number of the newest line
    this.total = 0; // lines of the whole log
    this.shown = 0; // lines in `rows`
    this.ranks = new Set();
    this.bar = "";
  }

  /** Takes what the kernel sent; lines that are here already (a message and the tail overlap) are passed over. */
  add(rows, total) {
    const newer = this.last;
    for (const [n, level, rank, content] of rows) {
      if (n <= newer) continue;
      if (n > this.last + 1) this.rows.push({ gap: n - this.last - 1 });
      if (n !== this.last) this.shown += 1;
      this.last = n;
      if (rank !== null) this.ranks.add(rank);
      const pieces = Array.isArray(content) ? content : null;
      const text = pieces ? pieces.map(([part]) => part).join("") : content;
      this.rows.push({ n, level, rank, text, pieces });
    }
    this.total = Math.max(this.total, total, this.last);
    this.drop();
  }

  drop() {
    const { rows } = this;
    let cut = rows.length - KEPT;
    if (cut <= 0) return;
    while (cut < rows.length && (rows[cut].gap || rows[cut].n === rows[cut - 1].n)) cut += 1; // whole lines
    let n = 0;
    for (const row of rows.splice(0, cut)) {
      if (row.gap || row.n === n) continue;
      n = row.n;
      this.shown -= 1;
    }
    this.base += cut;
  }

  get hidden() {
    return this.total - this.shown;
  }
}
