"""Many jobs: `%automodel_jobs` with 1,000 records, and what 200 tracked Slurm jobs cost the scheduler in one tick.

Run as root: ``python -m benchmarks.bench_jobs``. The cluster is the tests' Slurm; a wrapper around its squeue counts.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from IPython.core.interactiveshell import InteractiveShell

import automodel_nb as am
from automodel_nb.job.session import session
from automodel_nb.states import JobState, Observation
from tests.slurm.lab import SlurmLab

RECORDS, LIMIT = 1000, 200.0  # LIMIT in ms
JOBS, RUNS = 200, 9
HELD = "slurm:\n  command: 'true'\n  gpu_request: none\n  time: \"1\"\n  extra_sbatch: {hold: true}\n"
COUNTING = '#!/bin/sh\necho "$*" >>"{calls}"\nexec "{squeue}" "$@"\n'


def jobs_table() -> float:
    """Median ms of `%automodel_jobs` where a thousand jobs have ended."""
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "automodel_nb")
    job = am.launch("interactive:\n  device: cpu\n  command: 'true'\n")
    job.wait(30)
    store, record = session().store, job.record
    ended = Observation(JobState.COMPLETED, ended=record.created, exit_code=0)
    for index in range(RECORDS - 1):
        store.save(replace(record, id=f"{index:08}", created=record.created - index, ended=ended))
    times = []
    for _ in range(RUNS):
        begun = time.perf_counter()
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            shell.run_line_magic("automodel_jobs", "")
        times.append(1000 * (time.perf_counter() - begun))
        assert f"{RECORDS - 50} older jobs" in shown.getvalue()
    return statistics.median(times)


def tracked(place: Path, lab: SlurmLab) -> tuple[int, float]:
    """How often squeue ran for one tick of `JOBS` jobs, and the tick's ms."""
    calls, squeue = place / "calls", place / "bin" / "squeue"
    squeue.parent.mkdir()
    squeue.write_text(COUNTING.format(calls=calls, squeue=shutil.which("squeue", path=lab.env["PATH"])))
    squeue.chmod(0o755)
    os.environ.update({"SLURM_CONF": lab.env["SLURM_CONF"], "PATH": f"{squeue.parent}:{lab.env['PATH']}"})
    jobs = [am.launch(HELD) for _ in range(JOBS)]
    tracker = session().tracker
    tracker.observe_all(job.record for job in jobs)  # the first look asks for each that was launched since
    tracker.poke("slurm")
    calls.write_text("")
    begun = time.perf_counter()
    states = tracker.observe_all(job.record for job in jobs)
    took = 1000 * (time.perf_counter() - begun)
    assert {status.observation.state for status in states.values()} == {JobState.PENDING}
    lab.run("scancel", "-u", "root")
    return len(calls.read_text().splitlines()), took


def main() -> int:
    with tempfile.TemporaryDirectory() as place, SlurmLab() as lab:
        os.chdir(place)
        os.environ["AUTOMODEL_NB_HOME"] = f"{place}/home"
        table = jobs_table()
        queries, tick = tracked(Path(place), lab)
        os.chdir("/")
    print(f"| %automodel_jobs, {RECORDS} records (limit {LIMIT:.0f} ms) | {table:.1f} ms |")
    print(f"| {JOBS} tracked Slurm jobs, one tick | {queries} squeue, {tick:.1f} ms |")
    return int(table > LIMIT or queries > 1)


if __name__ == "__main__":
    sys.exit(main())
