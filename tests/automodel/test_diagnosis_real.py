"""Trainings that fail now, for real: their causes are told as from the logs that are kept (tests/unit/test_diagnosis.py)."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import automodel_nb as am
from automodel_nb import cpu
from automodel_nb.showing import card_data
from automodel_nb.states import JobState, Observation
from automodel_nb.watching.diagnosis import Setting, diagnose
from tests.automodel.provoke import FAILING, fail
from tests.automodel.real import AIDS, recipe_text

pytestmark = pytest.mark.automodel


@pytest.mark.parametrize(
    ("name", "code", "rank"),
    [
        ("oom_rank1", "gpu-memory", 1),
        pytest.param(
            "disk_full",
            "disk-full",
            0,
            marks=pytest.mark.skipif(
                os.geteuid() != 0 or not shutil.which("mount"), reason="a small disk needs root to mount it"
            ),
        ),
        ("port_in_use", "port-in-use", None),
    ],
)
def test_a_run_that_fails_now(tiny: Path, tmp_path: Path, name: str, code: str, rank: int | None) -> None:
    ran = fail(FAILING[name], tmp_path)
    assert ran.exit_code != 0, ran.log
    told = diagnose(ran.log.split("\n"), Observation(JobState.FAILED, exit_code=ran.exit_code), Setting())
    assert told is not None
    assert (told.code, told.rank) == (code, rank), ran.log


def test_a_job_says_why_it_failed_and_how_to_go_on(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole way: launched, failed on rank 1 after a checkpoint, diagnosed on the card, resumed with the change."""
    monkeypatch.setenv("AUTOMODEL_NB_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    recipe = recipe_text(tiny, max_steps=6, ckpt_every_steps=2, val_every_steps=6)
    path = f"{cpu.PATH}:{AIDS}"  # env_vars go over ours: both have to be there
    aids = f"AM_FAIL: '1:3', AM_FAIL_KIND: oom, AM_FAIL_ONCE: {tmp_path}/failed, PYTHONPATH: '{path}'"
    section = f"interactive: {{device: cpu, nproc_per_node: 2, env_vars: {{{aids}}}}}\n"
    job = am.launch(section + recipe)
    assert job.wait(120) == "FAILED", job.log()
    told = job.diagnosis()
    assert told is not None
    assert (told.code, told.rank, dict(told.change)) == ("gpu-memory", 1, {"step_scheduler.local_batch_size": "2"})
    failure = card_data(job).failure
    assert failure is not None
    assert failure.fix.endswith(f"`%automodel_resume {job.id} --set step_scheduler.local_batch_size=2`")
    assert failure.where == f"rank 1 on {os.uname().nodename}, line {told.line} of the log"
    resumed = job.resume(dict(told.change))
    assert resumed.wait(120) == "COMPLETED", resumed.log()
    assert resumed.diagnosis() is None
    assert [point.step for point in resumed.metrics() if point.split == "train"] == [2, 3, 4, 5]
