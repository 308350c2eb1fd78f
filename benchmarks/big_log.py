"""Attach to a large log and parse it, beside `grep -c` on the same file: `python benchmarks/big_log.py [--megabytes 400]`.

Prints one row of a table. The bounds: at most 15 times as slow as grep, at most 60 MB over the memory before. Each is the
best of three, alternating, with the file in the page cache; memory is the peak of a fresh process.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.log_generator import write_log

_RATIO, _MEGABYTES = 15, 60


def peak() -> int:
    """Peak resident memory of this process, in bytes. (Not ru_maxrss: a child begins with its parent's.)"""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def attach(path: Path) -> dict[str, float]:
    """What a kernel does that attaches to a job: read the log from its start, and keep points and progress."""
    from automodel_nb.watching.follow import LogFile
    from automodel_nb.watching.metrics import LogParser

    before, start, count = peak(), time.perf_counter(), 0
    log, parser = LogFile(path), LogParser()
    while data := log.fetch():
        count += len(parser.feed(data))
    count += len(parser.close())
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "points": count, "kept": len(parser.points), "memory": peak() - before}


def measure(path: Path, rounds: int = 3) -> tuple[float, int, list[dict[str, float]]]:
    """grep's best time and count, and what each attach measured."""
    greps, attaches, count = [], [], 0
    for _ in range(rounds):
        start = time.perf_counter()
        grep = subprocess.run(
            ["grep", "-c", "step ", str(path)], env={**os.environ, "LC_ALL": "C"}, capture_output=True, check=True
        )
        greps.append(time.perf_counter() - start)
        count = int(grep.stdout)
        child = subprocess.run([sys.executable, __file__, "--attach", str(path)], capture_output=True, check=True)
        attaches.append(json.loads(child.stdout))
    return min(greps), count, attaches


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=float, default=400)
    parser.add_argument("--attach", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.attach:
        print(json.dumps(attach(options.attach)))
        return 0
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "output.log"
        steps = write_log(path, int(options.megabytes * 1e6))
        path.read_bytes()  # into the page cache
        grep, _, attaches = measure(path)
    seconds = min(run["seconds"] for run in attaches)
    memory = max(run["memory"] for run in attaches) / 1e6
    ratio = seconds / grep
    assert all(run["points"] == steps for run in attaches), (steps, attaches)
    print("| log | step lines | grep | attach and parse | ratio (≤ 15) | memory over baseline (≤ 60 MB) |")
    print("|---|---|---|---|---|---|")
    print(f"| {options.megabytes:.0f} MB | {steps:,} (5 %) | {grep:.2f} s | {seconds:.2f} s | {ratio:.1f} | {memory:.1f} MB |")
    return 0 if ratio <= _RATIO and memory <= _MEGABYTES else 1


if __name__ == "__main__":
    raise SystemExit(main())
