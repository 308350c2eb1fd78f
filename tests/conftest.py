"""What every test may use."""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

# how long an example takes says something of the machine and what else it does, not of our code
settings.register_profile("any machine", deadline=None, suppress_health_check=list(HealthCheck))
settings.load_profile("any machine")


def pytest_configure() -> None:
    """A SIGTERM (`timeout`, a CI job that is cancelled) ends the tests as Ctrl-C does: with their labs taken down."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def require(condition: object, reason: str) -> None:
    """Skip the calling test or fixture unless `condition` holds, with one line that says what is missing and why it is needed.

    Where ``CI=true`` a test that cannot run is a failure: there, everything is meant to be installed.
    """
    if condition:
        return
    if os.environ.get("CI") == "true":
        pytest.fail(f"CI=true, and this cannot run: {reason}", pytrace=False)
    pytest.skip(reason)
