"""The panel under a flood of output, beside `print` and the last 1,000 lines as HTML: `python -m benchmarks.panel`.

A real JupyterLab in a real Chromium. Prints the tables of docs/benchmarks.md; fails where the panel misses a bound.
"""

from __future__ import annotations

import contextlib
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.browser import lab
from tests.browser.conftest import Lab, end_jobs, flood, launch

LINES, RATE, MANY = 100_000, 10_000, 1_000_000
PATIENCE = 120.0  # seconds
PRINT = """
import subprocess, threading
parent = get_ipython().get_parent()
def follow():
    get_ipython().set_thread_parent(parent)  # or it prints into whichever cell runs
    for line in subprocess.Popen({argv!r}, shell=True, stdout=subprocess.PIPE, text=True).stdout:
        print(line, end="")
threading.Thread(target=follow).start()
"""
HTML = """
import collections, html, subprocess, threading, time
from IPython.display import HTML, display
lines, over = collections.deque(maxlen=1000), threading.Event()
handle = display(HTML(""), display_id=True)
def follow():
    for line in subprocess.Popen({argv!r}, shell=True, stdout=subprocess.PIPE, text=True).stdout:
        lines.append(line)
    over.set()
def show():
    while not over.wait(1 / 8):
        update()
    update()
def update():
    text = "".join(lines.copy())
    handle.update(HTML(f"<pre style='max-height: 300px; overflow: auto'>{{html.escape(text)}}</pre>"))
threading.Thread(target=follow).start()
threading.Thread(target=show).start()
"""
METHODS = {"the panel": launch, "`print`": PRINT, "last 1,000 lines as HTML": HTML}

#: What the page itself measures: the longest time without a frame, and when the last line was there.
WATCH = """lines => {
    const notebook = (window.jupyterapp || window.jupyterlab).shell.currentWidget.content;
    const seen = window.seen = {stall: 0, ended: 0, late: [], on: true};
    let frame = performance.now();
    const tick = now => {
        seen.stall = Math.max(seen.stall, now - frame);
        frame = now;
        if (seen.on) requestAnimationFrame(tick);
    };
    requestAnimationFrame(now => { frame = now; tick(now); });
    const last = node => { while (node?.lastChild) node = node.lastChild; return node?.data ?? ''; };
    const places = '.jp-OutputArea-output pre, .amnb-lines .amnb-chunk';
    const probe = setInterval(() => {
        for (const cell of notebook.widgets) {
            const text = last([...cell.node.querySelectorAll(places)].at(-1)).slice(-400);
            if (text.includes(`line ${lines} `)) { seen.ended ||= Date.now() / 1000; clearInterval(probe); }
        }
    }, 50);
    new MutationObserver(records => {
        const now = Date.now() / 1000;
        for (const record of records) for (const chunk of record.addedNodes)
            for (const line of chunk.querySelectorAll?.('.amnb-line[data-n]') ?? [])
                seen.late.push(now - Number(line.textContent.split(' ').at(-1)));
    }).observe(notebook.node, {childList: true, subtree: true});
}"""
#: Runs the first cell again; when that began, and the seconds until its output is there.
ANSWER = """async patience => {
    const app = window.jupyterapp || window.jupyterlab, notebook = app.shell.currentWidget.content;
    const {outputs} = notebook.widgets[1].model;
    outputs.clear();
    notebook.activeCellIndex = 1;
    notebook.deselectAll();
    const began = performance.now(), at = Date.now() / 1000;
    app.commands.execute('notebook:run-cell');
    const answered = () => [...Array(outputs.length).keys()].some(i => outputs.get(i).type === 'execute_result');
    while (!answered() && performance.now() - began < 1000 * patience) await new Promise(r => setTimeout(r, 5));
    return [at, (performance.now() - began) / 1000];
}"""
#: How many lines of the log are in the page.
SHOWN = "cell => new Set([...cell.querySelectorAll('.amnb-line[data-n]')].map(line => line.dataset.n)).size"


@dataclass
class Flood:
    """What one flood did; seconds, bytes.

    Attributes:
        ratio: from the first line written to the last one seen, in terms of the producer's own time.
        answers: of other cells meanwhile.
    """

    ratio: float
    answers: list[float]
    stall: float
    saved: int
    late: list[float]
    memory: int
    shown: int
    foot: str


@contextlib.contextmanager
def opened(place: Path, chromium: Any, name: str) -> Iterator[tuple[lab.Notebook, Lab]]:
    """A notebook on a server of its own."""
    home, root = place / name / "home", place / name / "notebooks"
    root.mkdir(parents=True)
    state = home / "automodel_nb"
    with lab.server(home, root, AUTOMODEL_NB_HOME=str(state), OMP_NUM_THREADS="1") as base:
        here = Lab(base, root, state)
        page = lab.new_page(chromium, height=1400)
        page.set_default_timeout(1000 * PATIENCE)
        try:
            notebook = lab.Notebook(page, base, here.notebook("flood.ipynb")).open()
            notebook.run("'an' + 'swer'")
            notebook.run("%load_ext automodel_nb")
            yield notebook, here
        finally:
            page.context.close()
            end_jobs(state)


def high_water(pid: int, *, reset: bool = False) -> int:
    """A process's peak memory in bytes since the last reset."""
    if reset:
        Path(f"/proc/{pid}/clear_refs").write_text("5")
    return 1024 * int(Path(f"/proc/{pid}/status").read_text().partition("VmHWM:")[2].split()[0])


def measure(place: Path, chromium: Any, name: str, method: Any, lines: int, rate: int) -> Flood:
    with opened(place, chromium, name) as (notebook, here):
        page, file, log = notebook.page, here.root / "flood.ipynb", place / f"{name}.log"
        if callable(method):  # all that a panel needs is loaded
            notebook.run(launch("true")).get_by_text("COMPLETED").locator("visible=true").first.wait_for()
        pid = int(notebook.run("import os; print(os.getpid())").inner_text().split()[-1])
        notebook.save()
        size = file.stat().st_size
        page.evaluate(WATCH, lines)
        before = high_water(pid, reset=True)
        stamped = f"sleep 2; {flood(lines, rate)} | tee {log}"
        cell = notebook.run(launch(stamped) if callable(method) else method.format(argv=stamped))
        answers, end = [], time.monotonic() + PATIENCE
        while not page.evaluate("seen.ended") and time.monotonic() < end:
            answers.append(page.evaluate(ANSWER, PATIENCE))
            time.sleep(0.3 if rate else 0.05)
        seen, memory = page.evaluate("(seen.on = false, seen)"), high_water(pid) - before
        with log.open("rb") as written:
            first, *_, last = (float(line.split()[-1]) for line in written)
        if callable(method):
            cell.get_by_text("COMPLETED").locator("visible=true").first.wait_for()
        time.sleep(1.5)
        notebook.save()
        foot = cell.locator(".amnb-log .amnb-foot span")
        return Flood(
            (seen["ended"] - first) / (last - first) if seen["ended"] else math.inf,
            [took for at, took in answers if at > first],
            seen["stall"] / 1000,
            file.stat().st_size - size,
            seen["late"],
            memory,
            cell.evaluate(SHOWN),
            foot.first.inner_text() if foot.count() else "",
        )


def row(*cells: str) -> None:
    print(f"| {' | '.join(cells)} |", flush=True)


def main() -> int:
    missed: list[str] = []

    def bound(what: str, value: float, limit: float) -> None:
        if not value <= limit:
            missed.append(f"{what}: {value:.3f}, bound {limit}")

    with tempfile.TemporaryDirectory() as directory, lab.browser() as chromium:
        place = Path(directory)
        print(f"{LINES:,} lines at {RATE:,} a second, two cores ({os.cpu_count()} here):\n")
        row("", "last line seen, in the producer's time", "another cell answers: median, worst", "longest stall", "saved file")
        row(*["---"] * 5)
        for number, (name, method) in enumerate(METHODS.items()):
            found = measure(place, chromium, f"paced{number}", method, LINES, RATE)
            median, worst = statistics.median(found.answers), max(found.answers)
            ended = f"{found.ratio:.2f}" if math.isfinite(found.ratio) else f"not within {PATIENCE:.0f} s"
            row(name, ended, f"{median:.2f} s, {worst:.2f} s", f"{found.stall:.2f} s", f"+{found.saved / 1000:.1f} kB")
            if callable(method):
                bound("last line", found.ratio, 1.05)
                bound("another cell", median, 0.1)
                bound("stall", found.stall, 0.3)
                bound("saved file", found.saved, 20_000)
        many = measure(place, chromium, "many", launch, MANY, 0)
        slow = measure(place, chromium, "slow", launch, 300, 30)
    answer, late = statistics.median(many.answers), statistics.median(slow.late)
    print(f"\n{MANY:,} lines as fast as they are written:\n")
    row("another cell answers: median, worst", "kernel memory", "lines in the page", "what the panel says of the others")
    row(*["---"] * 4)
    said = many.foot.partition(", whole")[0]
    row(f"{answer:.2f} s, {max(many.answers):.2f} s", f"+{many.memory / 1e6:.1f} MB", f"{many.shown:,}", said)
    print(
        f"\nOf 30 lines a second each is seen {late:.2f} s after it was written (median; the slowest {max(slow.late):.2f} s)."
    )
    bound("another cell, unpaced", answer, 0.2)
    bound("memory", many.memory, 20e6)
    bound("a line", late, 0.25)
    if said != f"{MANY - many.shown:,} of {MANY:,} lines not shown":
        missed.append(f"count: {many.foot}; {many.shown} are shown")
    for miss in missed:
        print(f"MISSED {miss}", file=sys.stderr)
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
