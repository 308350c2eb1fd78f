"""Jobs that wait, in words; arrays and dependencies."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import automodel_nb as am
from automodel_nb.job.handle import Job
from automodel_nb.showing import last_lines, log_lines
from tests.slurm.conftest import Kernel

pytestmark = pytest.mark.slurm


def reason(job: Job, words: str) -> str:
    """The reason once it holds `words` (Slurm says `None` or `Priority` before its scheduler has looked)."""
    end = time.monotonic() + 20
    while words not in job.reason and time.monotonic() < end:
        assert job.state == "PENDING", job.state
        time.sleep(0.2)
    return job.reason


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"partition": "debug", "time": "3:00:00"}, "will not start: the partition debug allows at most 30 minutes"),
        ({"partition": "debug", "nodes": 3}, "will not start: the partition debug allows at most 2 nodes"),
        ({"extra_sbatch": {"begin": "now+1hour"}}, "waiting for its start time"),
        ({"extra_sbatch": {"hold": "true"}}, "held (`scontrol release` lets it go)"),
    ],
)
def test_why_a_job_waits(kernel: Kernel, fields: dict[str, object], words: str) -> None:
    plan = am.preview(kernel.text("true", **fields))
    job = am.launch(plan if not plan.errors else _without_findings(plan))
    assert reason(job, words) == words


def _without_findings(plan: am.Plan) -> am.Plan:
    from dataclasses import replace

    return replace(plan, findings=())


def test_waiting_for_resources_with_an_estimate(kernel: Kernel) -> None:
    kernel.launch("sleep 300", wait=False, nodes=4, exclusive=True, time="30")
    job = kernel.launch("true", wait=False)
    assert reason(job, "waiting for resources") == "waiting for resources"
    end = time.monotonic() + 30
    while (estimate := job.status.observation.estimate) is None and time.monotonic() < end:
        time.sleep(0.3)
    assert estimate is not None
    assert 20 * 60 < estimate - time.time() < 31 * 60


def test_a_job_that_waits_for_another(kernel: Kernel) -> None:
    first = kernel.launch("sleep 2; echo first >>order", wait=False)
    second = kernel.launch("echo second >>order", wait=False, dependency=f"afterok:{first.scheduler_id}")
    assert reason(second, "depends on") == "waiting for the jobs it depends on"
    assert second.wait(30) == "COMPLETED"
    assert Path("order").read_text() == "first\nsecond\n"


def test_a_job_whose_dependency_failed(kernel: Kernel) -> None:
    first = kernel.launch("sleep 1; false", wait=False)
    second = kernel.launch("true", wait=False, dependency=f"afterok:{first.scheduler_id}")
    assert "will never start" in reason(second, "will never start")


def test_an_array(kernel: Kernel) -> None:
    job = kernel.launch(
        'echo "task $SLURM_ARRAY_TASK_ID"; [ "$SLURM_ARRAY_TASK_ID" != 2 ] || exit 5', wait=False, array="0-3%2"
    )
    assert job.state in ("PENDING", "RUNNING")
    followed = [line for _, line in job.follow()]
    assert job.wait(60) == "FAILED"
    assert [line for line in log_lines(job, 100, "task") if line.endswith(tuple("0123"))] == [
        f"[task{task}] task {task}" for task in range(4)
    ]
    assert {f"[task{task}] task {task}" for task in range(4)} <= set(followed)
    assert "task 3" in "".join(last_lines(job, 10))
    assert (job.exit_code, "1 FAILED" in job.reason) == (5, True)
    for task in range(4):
        assert f"task {task}\n" in (job.directory / f"output.task{task}.log").read_text()
        assert (job.directory / f"exit_code.task{task}").read_text().split()[0] == ("5" if task == 2 else "0")


def test_cancelling_an_array(kernel: Kernel) -> None:
    job = kernel.launch("sleep 100", wait=False, array="0-9%2")
    while job.state != "RUNNING":
        time.sleep(0.1)
    job.cancel()
    assert job.wait(30) == "CANCELLED"
    assert not kernel.lab.run("squeue", "-h", "-j", job.scheduler_id).stdout


def test_tasks_of_an_array_do_not_share_checkpoints(kernel: Kernel) -> None:
    recipe = "recipe: TrainFinetuneRecipeForNextTokenPrediction\n" + kernel.text(array="0-3")
    assert (
        '--checkpoint.checkpoint_dir="$AUTOMODEL_JOB_DIR"/checkpoints/task"$SLURM_ARRAY_TASK_ID"' in am.preview(recipe).command
    )
