"""What every test may use."""

from __future__ import annotations

import os

import pytest


def require(condition: object, reason: str) -> None:
    """Skip the calling test or fixture unless `condition` holds, with one line that says what is missing and why it is needed.

    Where ``CI=true`` a test that cannot run is a failure: there, everything is meant to be installed.
    """
    if condition:
        return
    if os.environ.get("CI") == "true":
        pytest.fail(f"CI=true, and this cannot run: {reason}", pytrace=False)
    pytest.skip(reason)
