"""The real AutoModel: what is installed here, and the wheel of the generation before 0.4."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

OLD = "0.3.0"  # the last release with `automodel finetune llm -c config.yaml`


def cache_dir() -> Path:
    """Outside the repository, so that a fresh clone on the same machine downloads and builds nothing twice."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "automodel_nb-tests"


@pytest.fixture(scope="session")
def old_automodel() -> Path:
    """A directory for PYTHONPATH that holds AutoModel 0.3.0, unpacked from PyPI's wheel."""
    unpacked = cache_dir() / f"nemo-automodel-{OLD}"
    if not unpacked.exists():
        wheels = cache_dir() / "wheels"
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(wheels), f"nemo-automodel=={OLD}"]
        if subprocess.run(pip, check=False).returncode != 0:
            pytest.skip(f"PyPI does not give nemo-automodel {OLD}")
        part = unpacked.with_suffix(f".{os.getpid()}")
        with zipfile.ZipFile(next(wheels.glob(f"nemo_automodel-{OLD}-*.whl"))) as wheel:
            wheel.extractall(part)
        part.rename(unpacked)
    return unpacked
