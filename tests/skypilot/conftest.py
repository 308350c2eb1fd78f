"""Fixtures: one SkyPilot lab for the session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conftest import require
from tests.skypilot.lab import SkyLab, missing


@pytest.fixture(scope="session")
def sky_lab() -> Iterator[SkyLab]:
    """API server, and two Slurm nodes with H100:2 each."""
    reason = missing()
    require(reason is None, reason or "")
    with SkyLab() as lab:
        yield lab
