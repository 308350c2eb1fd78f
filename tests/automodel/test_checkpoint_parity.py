"""Our rule for the newest checkpoint against AutoModel's own, on directories of every kind."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import require

pytestmark = pytest.mark.automodel

_COMPARE = """
import random, sys, tempfile
from pathlib import Path
from nemo_automodel.components.checkpoint.utils import find_latest_checkpoint
from automodel_nb.watching.checkpoints import newest_checkpoint

rng = random.Random(0)
for number in range(500):
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        names = [f"{rng.choice(['epoch_0_', 'x_', ''])}step_{step}" for step in rng.sample(range(200), rng.randint(0, 4))]
        for name in names:
            (root / name).mkdir()
            if rng.random() < 0.3:
                (root / name / ".incomplete").touch()
        (root / "epoch_0_step_999.staging-1").mkdir()
        target = rng.choice([*names, "gone", str(root / "gone")])
        kind = rng.random()
        if kind < 0.4:
            (root / "LATEST").symlink_to(target)
        elif kind < 0.7:
            (root / "LATEST.txt").write_text(target)
        theirs, ours = find_latest_checkpoint(root), newest_checkpoint(root)
        if (theirs and Path(theirs)) != ours:
            sys.exit(f"{sorted(path.name for path in root.rglob('*'))}: AutoModel says {theirs}, we say {ours}")
print("compared", number + 1)
"""


def test_the_newest_checkpoint_is_the_one_that_automodel_resumes_from() -> None:
    require(importlib.util.find_spec("nemo_automodel"), "nemo_automodel is not installed")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "OMP_NUM_THREADS": "1"}
    run = subprocess.run([sys.executable, "-c", _COMPARE], env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    assert run.stdout == "compared 500\n"
