"""What a notebook waits for: %load_ext and a first preview, beside the import of submitit, each in a warm kernel's process.

Prints one table row a measure: median of `RUNS` fresh processes that have IPython loaded, as a kernel has.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

RUNS = 15
RECIPE = Path(__file__).parents[1] / "notebooks/tiny.yaml"
PROBE = """
import sys, time, contextlib, io
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
import ipykernel.zmqshell  # what a kernel has loaded
begun = time.perf_counter()
{code}
print(1000 * (time.perf_counter() - begun))
"""
LOAD = "shell.run_line_magic('load_ext', 'automodel_nb')"
PREVIEW = (
    "import automodel_nb; shell.run_line_magic('load_ext', 'automodel_nb'); begun = time.perf_counter()\n"
    f"with contextlib.redirect_stdout(io.StringIO()): shell.run_line_magic('automodel_launch', '-n -c {RECIPE}')"
)
MEASURES = {
    "%load_ext automodel_nb": (LOAD, 30),
    "first --dry-run": (PREVIEW, 300),
    "import submitit": ("import submitit", None),
}


def measure(code: str) -> float:
    with tempfile.TemporaryDirectory() as place:
        done = subprocess.run(
            [sys.executable, "-c", PROBE.format(code=code)], capture_output=True, text=True, check=True, cwd=place
        )
    return float(done.stdout.split()[-1])


def main() -> None:
    times: dict[str, list[float]] = {name: [] for name in MEASURES}
    for _ in range(RUNS):  # alternating, so that a busy moment hits all of them
        for name, (code, _) in MEASURES.items():
            times[name].append(measure(code))
    medians = {name: statistics.median(values) for name, values in times.items()}
    peer = medians["import submitit"]
    for name, (_, limit) in MEASURES.items():
        within = "" if limit is None else f"  (limit {limit} ms)"
        print(f"{name:24} {medians[name]:7.1f} ms  {medians[name] / peer:5.2f} x import submitit{within}")


if __name__ == "__main__":
    main()
