"""Fixtures: a Slurm cluster for the session, with and without accounting, and a kernel that launches on it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import automodel_nb as am
from automodel_nb.job.handle import Job
from automodel_nb.job.session import session
from tests.conftest import require
from tests.slurm.lab import SlurmLab, missing


@pytest.fixture(scope="session")
def slurm_lab() -> Iterator[SlurmLab]:
    """Four nodes, no accounting: `sacct` fails, as on many small clusters."""
    reason = missing()
    require(reason is None, reason or "")
    with SlurmLab() as lab:
        yield lab


@pytest.fixture(scope="session")
def slurm_lab_accounting() -> Iterator[SlurmLab]:
    """Four nodes with slurmdbd: `sacct` works, accounts and QOS are enforced (account `lab` exists).

    Where the kernel has control groups of version 1, they enforce memory here; in `slurm_lab` Slurm's own sampling does.
    """
    reason = missing(accounting=True)
    require(reason is None, reason or "")
    with SlurmLab(accounting=True, cgroup=Path("/sys/fs/cgroup/memory").is_dir()) as lab:
        yield lab


@pytest.fixture(autouse=True)
def _no_jobs_left(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    for name in ("slurm_lab", "slurm_lab_accounting"):
        if name in request.fixturenames:
            lab = request.getfixturevalue(name)
            for user in ("root", "nobody"):
                lab.run("scancel", "-u", user, check=False)


class Kernel:
    """A notebook on the login node of a lab: its environment, its state directory and its working directory."""

    def __init__(self, lab: SlurmLab, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.lab, self.directory, self.setenv = lab, directory, monkeypatch.setenv
        for name in list(os.environ):
            if name.startswith(("SLURM_", "SBATCH_", "HF_")):
                monkeypatch.delenv(name)
        monkeypatch.setenv("SLURM_CONF", lab.env["SLURM_CONF"])
        monkeypatch.setenv("PATH", f"{Path(am.__file__).parents[1]}/.venv/bin:{lab.env['PATH']}")
        monkeypatch.setenv("AUTOMODEL_NB_HOME", str(directory / "state"))
        monkeypatch.setenv("HF_HOME", str(directory / "hf"))
        (directory / "work").mkdir()
        monkeypatch.chdir(directory / "work")
        session().tracker.floor["slurm"] = 0.1

    def launch(self, command: str | None = None, /, *, wait: bool = True, **fields: Any) -> Job:
        """Launch a shell command on one node without GPUs, or as `fields` of the ``slurm:`` section say."""
        job = am.launch(self.text(command, **fields), "slurm")
        if wait:
            job.wait(120)
        return job

    def text(self, command: str | None = None, /, **fields: Any) -> str:
        """A document with these fields, each written as JSON (which is YAML)."""
        import json

        section = {
            "gpu_request": "none",
            "ntasks_per_node": 1,
            "time": "10",
            **({"command": command} if command else {}),
            **fields,
        }
        lines = [f"  {name}: {json.dumps(value, ensure_ascii=False)}" for name, value in section.items()]
        return "slurm:\n" + "\n".join(lines) + "\n"


@pytest.fixture
def kernel(slurm_lab: SlurmLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    """A kernel on the cluster without accounting."""
    return Kernel(slurm_lab, tmp_path, monkeypatch)


MakeKernel = Callable[[SlurmLab], Kernel]
