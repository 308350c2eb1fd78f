"""What a card is given of a job, with real interactive jobs."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import automodel_nb as am
from automodel_nb.job.session import session
from automodel_nb.job.store import new_id
from automodel_nb.showing import card_data
from automodel_nb.views import card_text


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOMODEL_NB_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def test_the_line_for_a_shell_runs_the_same_there(tmp_path: Path) -> None:
    job = am.launch("interactive:\n  device: cpu\n  job_dir: 'with space'\n  command: echo \"$PWD and $AUTOMODEL_JOB_DIR\"\n")
    job.wait(60)
    line = dict(card_data(job).config)["In a shell"]
    done = subprocess.run(["bash", "-c", line], cwd="/", capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines()[-1] == job.log().splitlines()[-1] == f"{tmp_path} and {job.directory}"


def test_a_card_names_the_job_that_went_on(tmp_path: Path) -> None:
    job = am.launch("interactive:\n  device: cpu\n  command: 'false'\n")
    job.wait(60)
    assert card_data(job).next == ""
    later = replace(job.record, id=new_id(), resumed_from=job.id, uid=None)
    session().store.save(later)
    assert f"Resumed as {later.id}." in card_text(card_data(job))
