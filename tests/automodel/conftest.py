"""The real AutoModel: what is installed here, and the wheel of the generation before 0.4."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.automodel.real import cache_dir, make_tiny
from tests.conftest import require

OLD = "0.3.0"  # the last release with `automodel finetune llm -c config.yaml`


@pytest.fixture(scope="session")
def old_automodel() -> Path:
    """A directory for PYTHONPATH that holds AutoModel 0.3.0, unpacked from PyPI's wheel."""
    unpacked = cache_dir() / f"nemo-automodel-{OLD}"
    if not unpacked.exists():
        wheels = cache_dir() / "wheels"
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(wheels), f"nemo-automodel=={OLD}"]
        require(subprocess.run(pip, check=False).returncode == 0, f"pip cannot download nemo-automodel {OLD}")
        part = unpacked.with_suffix(f".{os.getpid()}")
        with zipfile.ZipFile(next(wheels.glob(f"nemo_automodel-{OLD}-*.whl"))) as wheel:
            wheel.extractall(part)
        part.rename(unpacked)
    return unpacked


@pytest.fixture(scope="session")
def tiny() -> Path:
    """The tiny model and its data: ``model/``, ``train.jsonl``, ``val.jsonl``."""
    require(importlib.util.find_spec("nemo_automodel"), "AutoModel is not installed; `make test` installs it")
    return make_tiny()
