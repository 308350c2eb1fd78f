"""The real AutoModel on a real SkyPilot: two nodes with two processes each, launched from a notebook's cell."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from tests.automodel.real import losses
from tests.skypilot.kernel import Kernel, until
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
    sky_lab: SkyLab, kernel_env: dict[str, str], kernel: Kernel, work: Path, tiny: Path
) -> None:
    fields = "  job_name: two_nodes\n  num_nodes: 2\n"
    cell = automodel_cell(tiny, fields, gpus=2, global_batch_size=16, max_steps=12, sleep=0.6)
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

    watching = Watching(work)
    watching.start()
    try:
        said = "print(job.state, job.reason, job.exit_code)\nprint(len(job.metrics()), job.cluster)"
        ran = kernel.run(f"job = am.attach('last')\njob.wait(300)\n{said}", timeout=330)
    finally:
        watching.over.set()
    assert ran.error == "", ran.traceback
    ended, counts = ran.text.strip().splitlines()
    assert ended == "COMPLETED  0", ran.text + kernel.run("print(job.log())").text
    assert len(watching.steps) > 3, watching.steps  # the log came while it was running, not at its end
    points, cluster = counts.split()
    assert int(points) >= 12
    log = next(work.glob("automodel_jobs/*/output.log")).read_text()
    assert "World size: 4" in log
    assert [step for step, _ in losses(log)] == list(range(12))
    assert "\x1b" not in log
    down = kernel.run("job.down()\nfrom automodel_nb.launchers.skypilot_clusters import clusters\nprint(clusters())", 120)
    assert down.text.strip() == "[]", down.traceback
    assert cluster
    assert sky_lab.slurm("squeue", "-h", check=True) == ""


def test_a_managed_job_recovers_and_goes_on_from_its_checkpoint(
    sky_lab: SkyLab, kernel: Kernel, work: Path, tiny: Path
) -> None:
    checkpoints = sky_lab.root / "shared/managed"
    fields = "  job_name: managed\n  managed: true\n"
    cell = automodel_cell(tiny, fields, gpus=1, checkpoint_dir=checkpoints, max_steps=12, ckpt_every_steps=4, sleep=1.5)
    ran = kernel.run(f"%%automodel_launch skypilot\n{cell}", timeout=60)
    assert ran.error == "", ran.error
    kernel.run("import threading; job = am.attach('last'); threading.Thread(target=job.wait, daemon=True).start()")
    say = "print(job.status, job.log(tail=20))"
    until(lambda: (checkpoints / "epoch_0_step_3/config.yaml").exists(), 200, "checkpoint", lambda: kernel.run(say).text)
    time.sleep(2)
    allocation = sky_lab.slurm("squeue", "-h", "-o", "%A", check=True).split()
    assert len(allocation) == 1
    sky_lab.slurm("scancel", *allocation, check=True)  # what a preemption is here
    ran = kernel.run("print(job.wait(300), job.reason, job.exit_code)", timeout=310)
    assert ran.text.strip() == "COMPLETED  0", kernel.run("print(job.log())").text
    log = next(work.glob("automodel_jobs/*/output.log")).read_text()
    assert "Loading checkpoint from" in log
    steps = [step for step, _ in losses(log)]
    assert steps[-1] == 11
    assert steps.count(0) == 1  # it went on, and did not begin again
    until(lambda: not sky_lab.slurm("squeue", "-h", check=True), 60, "end of the allocation")
