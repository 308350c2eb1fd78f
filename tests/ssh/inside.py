"""What a job of the tests runs: a kernel in a Slurm allocation, as JupyterHub starts it, from which cells launch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.notebooks.kernel import kernel

CELL = """%%automodel_launch slurm --wait --as {name}{options}
slurm:
  job_name: {name}
  gpu_request: none
  ntasks_per_node: 1
  time: "5"
  inherit_env: {inherit}
  command: env | grep -E '^(SLURM_|SBATCH_|PMIX_)' | sort; echo on $SLURM_SUBMIT_HOST
"""


def main(place: Path) -> dict[str, Any]:
    told: dict[str, Any] = {}
    with kernel(os.environ, place) as one:
        one.ok("from automodel_nb.job.session import session; session().tracker.floor['slurm'] = 0.2")
        told["command"] = one.value("am.preview('recipe: TrainFinetuneRecipeForNextTokenPrediction').command")
        one.ok(CELL.format(name="inner", options="", inherit="true"))
        told["inner"] = one.value("[str(inner.state), inner.scheduler_id, inner.log()]")
        # to this lab's controller all nodes have one address, so the partition is closed to the login node as well
        told["refused"] = []
        for change, back in (("AllocNodes=login1", "AllocNodes=ALL"), ("", "")):
            if change:
                subprocess.run(["scontrol", "update", "PartitionName=batch", change], check=True)
            else:  # as where only login nodes have Slurm's commands
                one.ok("import os; os.environ['PATH'] = os.environ['HOME'] + '/bin'")
            cell = one.run(CELL.format(name="refused", options="", inherit="false"))
            told["refused"].append([cell.error, "\n".join(cell.traceback)])
            if back:
                subprocess.run(["scontrol", "update", "PartitionName=batch", back], check=True)
        one.ok(CELL.format(name="outer", options=" --host login", inherit="false"))
        told["outer"] = one.value("[str(outer.state), outer.log(), outer.record.remote]")
    return told


if __name__ == "__main__":
    directory = Path(sys.argv[1])
    part = directory / "told.part"
    part.write_text(json.dumps(main(directory)))
    part.rename(directory / "told")
