"""Fixtures: a Slurm cluster for the session, with and without accounting."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

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
    """Four nodes with slurmdbd: `sacct` works, accounts and QOS are enforced (account `lab` exists)."""
    reason = missing(accounting=True)
    require(reason is None, reason or "")
    with SlurmLab(accounting=True) as lab:
        yield lab


@pytest.fixture(autouse=True)
def _no_jobs_left(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    for name in ("slurm_lab", "slurm_lab_accounting"):
        if name in request.fixturenames:
            lab = request.getfixturevalue(name)
            lab.run("scancel", "-u", "root,nobody", check=False)
