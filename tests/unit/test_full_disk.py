"""A disk that is full, or may not be written: a real one, mounted for the test."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import automodel_nb as am
from automodel_nb.errors import SubmissionError
from automodel_nb.states import JobState
from tests.conftest import require

CELL = "interactive:\n  device: cpu\n  job_dir: {where}\n  command: {command}\n"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AUTOMODEL_NB_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small file system of its own, with room for some files."""
    require(os.geteuid() == 0, "mounting a small disk needs root")
    where = tmp_path / "disk"
    where.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", where], check=True)
    yield where
    subprocess.run(["umount", "-l", where], check=True)


def fill(disk: Path, leave: int = 0) -> None:
    ballast = os.open(disk / "ballast", os.O_WRONLY | os.O_CREAT)
    with contextlib.suppress(OSError):
        while True:
            os.write(ballast, b"x" * 4096)
    os.close(ballast)
    if leave:
        os.truncate(disk / "ballast", (disk / "ballast").stat().st_size - leave)


@pytest.mark.parametrize("leave", [0, 4096, 8192])
def test_a_full_disk_is_one_line_and_nothing_is_left(disk: Path, leave: int) -> None:
    """From no room at all to room for all files but the supervisor's."""
    fill(disk, leave)
    with pytest.raises(SubmissionError, match="No space left on device") as caught:
        am.launch(CELL.format(where=disk / "jobs", command="true"))
    assert len(str(caught.value).splitlines()) == 2
    assert os.listdir(disk) == ["ballast"]
    assert am.jobs() == []


def test_a_read_only_disk(disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    with pytest.raises(SubmissionError, match="Read-only file system"):
        am.launch(CELL.format(where=disk / "jobs", command="true"))
    assert am.jobs() == []


def test_records_that_cannot_be_written(disk: Path, monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    monkeypatch.setenv("AUTOMODEL_NB_HOME", str(disk / "home"))
    fill(disk)
    with pytest.raises(SubmissionError, match="cannot write the job's record: No space left"):
        am.launch(CELL.format(where="jobs", command="touch ran"))
    assert sorted(os.listdir(place)) == ["disk"]


def test_a_disk_that_fills_up_while_the_job_runs(disk: Path) -> None:
    """The training goes on; its exit code is written once there is room again."""
    job = am.launch(CELL.format(where=disk / "jobs", command='"until [ -e go ]; do sleep 0.1; done; exit 5"'))
    fill(disk)
    assert job.state is JobState.RUNNING
    Path("go").touch()
    assert job.wait(3) is JobState.RUNNING  # it has ended, and nobody can be told
    (disk / "ballast").unlink()
    assert job.wait(60) is JobState.FAILED
    assert job.exit_code == 5
