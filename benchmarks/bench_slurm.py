"""What a launch costs on top of sbatch: launch(), bare sbatch of the same script, and submitit's submit, on the tests' Slurm.

Run as root: ``python -m benchmarks.bench_slurm``. Alternating warm pairs; the bound is on the median of the differences.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import automodel_nb as am
from automodel_nb.launchers.slurm import sbatch_argv
from tests.slurm.lab import SlurmLab

PAIRS, WARM, BOUND = 30, 3, 25.0  # BOUND in ms
# held: what runs on two cores beside it would be measured, too
DOCUMENT = "slurm:\n  command: 'true'\n  gpu_request: none\n  time: \"1\"\n  extra_sbatch: {hold: true}\n"


def took(action: Callable[[], object]) -> float:
    begun = time.perf_counter()
    action()
    return 1000 * (time.perf_counter() - begun)


def main() -> int:
    import submitit

    with SlurmLab() as lab, tempfile.TemporaryDirectory() as place:
        os.environ.update({"SLURM_CONF": lab.env["SLURM_CONF"], "PATH": lab.env["PATH"], "AUTOMODEL_NB_HOME": f"{place}/home"})
        os.chdir(place)
        directory = am.launch(DOCUMENT).directory
        argv, env = sbatch_argv(str(directory), place), {**os.environ, "AUTOMODEL_JOB_DIR": str(directory)}
        executor = submitit.SlurmExecutor(f"{place}/submitit")
        executor.update_parameters(time=1, additional_parameters={"hold": True}, use_srun=False)
        ours, bare, theirs = [], [], []
        for _ in range(WARM + PAIRS):
            ours.append(took(lambda: am.launch(DOCUMENT)))
            bare.append(took(lambda: subprocess.run(argv, env=env, capture_output=True, check=True)))
            theirs.append(took(lambda: executor.submit(time.sleep, 0)))
        difference = statistics.median(a - b for a, b in zip(ours[WARM:], bare[WARM:], strict=True))
        lab.run("scancel", "-u", "root")
    for name, times in {"launch()": ours, "bare sbatch": bare, "submitit's submit": theirs}.items():
        print(f"| {name} | {statistics.median(times[WARM:]):.1f} ms |")
    print(f"| launch() - bare sbatch (bound {BOUND:.0f} ms) | {difference:.1f} ms |")
    return int(difference > BOUND)


if __name__ == "__main__":
    sys.exit(main())
