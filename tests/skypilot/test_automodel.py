"""The real AutoModel on a real SkyPilot: two nodes with two processes each, launched from a notebook's cell."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from tests.automodel.real import losses
from tests.skypilot.kernel import Kernel
from tests.skypilot.lab import SkyLab
from tests.skypilot.recipes import automodel_cell

pytestmark = [pytest.mark.skypilot, pytest.mark.automodel, pytest.mark.timeout(420)]


class Watching(threading.Thread):
    """Looks at a job's log while it grows.

    Attributes:
        steps: each number of training steps that it was seen with.
    """

    def __init__(self, work: Path) -> None:
        super().__init__(daemon=True)
        self.work = work
        self.steps: set[int] = set()
        self.over = threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.3):
            for path in self.work.glob("automodel_jobs/*/output.log"):
                self.steps.add(len(losses(path.read_text())))


def test_two_nodes_and_a_kernel_that_dies_during_the_launch(
    sky_lab: SkyLab, kernel_env: dict[str, str], work: Path, tiny: Path
) -> None:
    cell = automodel_cell(
        tiny, "  job_name: two_nodes\n  num_nodes: 2\n", gpus=2, global_batch_size=16, max_steps=24, sleep=0.6
    )
    first = Kernel(kernel_env, work)
    try:
        first.run("%load_ext automodel_nb")
        ran = first.run(f"%%automodel_launch skypilot\n{cell}", timeout=60)
        assert ran.error == "", ran.error
        # nothing of SkyPilot's own: no spinner, no "Running on cluster"
        assert "\x1b[" not in ran.text
        assert "Running on cluster" not in ran.text
        started = first.run("import automodel_nb as am; print(am.attach('last').state)").text
        assert started.strip() == "PENDING"
    finally:
        first.kill()

    second = Kernel(kernel_env, work)
    watching = Watching(work)
    watching.start()
    try:
        said = "print(job.state, job.reason, job.exit_code)\nprint(len(job.metrics()), job.cluster)"
        ran = second.run(f"import automodel_nb as am\njob = am.attach('last')\njob.wait(300)\n{said}", timeout=330)
        watching.over.set()
        assert ran.error == "", ran.traceback
        ended, counts = ran.text.strip().splitlines()
        assert ended == "COMPLETED  0", ran.text + second.run("print(job.log())").text
        assert len(watching.steps) > 4, watching.steps  # the log came while it was running, not at its end
        points, cluster = counts.split()
        assert int(points) >= 24
        log = next(work.glob("automodel_jobs/*/output.log")).read_text()
        assert "World size: 4" in log
        assert [step for step, _ in losses(log)] == list(range(24))
        assert "\x1b" not in log
        down = second.run(f"from automodel_nb.launchers.skypilot import down\ndown({cluster!r})", timeout=120)
        assert down.error == "", down.traceback
    finally:
        watching.over.set()
        second.kill()
    assert cluster not in sky_lab.sky("status")
    assert sky_lab.slurm("squeue", "-h", check=True) == ""


def test_a_managed_job_recovers_and_goes_on_from_its_checkpoint(
    sky_lab: SkyLab, kernel_env: dict[str, str], work: Path, tiny: Path
) -> None:
    checkpoints = sky_lab.root / "shared/checkpoints"
    fields = "  job_name: managed\n  managed: true\n"
    cell = automodel_cell(tiny, fields, gpus=1, checkpoint_dir=checkpoints, max_steps=16, ckpt_every_steps=4, sleep=1.5)
    kernel = Kernel(kernel_env, work)
    try:
        kernel.run("%load_ext automodel_nb")
        ran = kernel.run(f"%%automodel_launch skypilot\n{cell}", timeout=60)
        assert ran.error == "", ran.error
        kernel.run(
            "import automodel_nb as am, threading; job = am.attach('last')\n"
            "threading.Thread(target=job.wait, daemon=True).start()"
        )
        end = time.monotonic() + 200
        while not (checkpoints / "epoch_0_step_3/config.yaml").exists():
            assert time.monotonic() < end, kernel.run("print(job.status, job.log(tail=20))").text
            time.sleep(0.5)
        time.sleep(2)
        allocation = sky_lab.slurm("squeue", "-h", "-o", "%A", check=True).split()
        assert len(allocation) == 1
        sky_lab.slurm("scancel", *allocation, check=True)  # what a preemption is here
        ran = kernel.run("print(job.wait(300), job.reason, job.exit_code)\nprint(job.cluster)", timeout=310)
        state, name = ran.text.strip().splitlines()
        assert state == "COMPLETED  0", kernel.run("print(job.log())").text
        log = next(work.glob("automodel_jobs/*/output.log")).read_text()
        assert "Loading checkpoint from" in log
        steps = [step for step, _ in losses(log)]
        assert steps[-1] == 15
        assert steps.count(0) == 1  # it went on, and did not begin again
        assert name in sky_lab.sky("jobs", "queue", "--all")
    finally:
        kernel.kill()
    assert sky_lab.slurm("squeue", "-h", check=True) == ""
