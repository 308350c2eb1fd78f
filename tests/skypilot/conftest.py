"""Fixtures: one SkyPilot lab for the session, kernels on it, and the tiny model that its nodes train."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import require
from tests.skypilot.kernel import Kernel
from tests.skypilot.lab import SkyLab, missing

ROOT = Path(__file__).parents[2]
#: Typed into the kernels' environment; to be found nowhere but in SkyPilot.
SECRET = "hf_" + "q" * 30 + "1234"
#: The nodes' own Python: it has AutoModel and no SkyPilot of ours; with the notebook's it is the other way round.
AUTOMODEL_PYTHON = ROOT / ".venv/bin/python"


@pytest.fixture(scope="session")
def sky_lab() -> Iterator[SkyLab]:
    """API server, two Slurm nodes with H100:2 each, and a mock AWS."""
    reason = missing()
    require(reason is None, reason or "")
    with SkyLab() as lab:
        yield lab


@pytest.fixture(scope="session")
def tiny() -> Path:
    """The tiny model and its data."""
    require(AUTOMODEL_PYTHON.exists(), f"the nodes' Python with AutoModel is {AUTOMODEL_PYTHON}: make test")
    code = "import nemo_automodel; from tests.automodel.real import make_tiny; print(make_tiny())"
    made = subprocess.run([AUTOMODEL_PYTHON, "-c", code], cwd=ROOT, capture_output=True, text=True)
    require(made.returncode == 0, f"{AUTOMODEL_PYTHON} has no AutoModel: make test")
    return Path(made.stdout.split()[-1])


def environment(lab: SkyLab, records: Path) -> dict[str, str]:
    """A notebook user's environment on the lab."""
    passed = {"PYTHONPATH": os.environ["PYTHONPATH"]} if "PYTHONPATH" in os.environ else {}
    return {**lab.env, **passed, "AUTOMODEL_NB_HOME": str(records), "OMP_NUM_THREADS": "1", "MY_TOKEN": SECRET}


@pytest.fixture
def kernel_env(sky_lab: SkyLab, tmp_path: Path) -> dict[str, str]:
    """For a kernel of the test's own, with the same records as `kernel`."""
    return environment(sky_lab, tmp_path)


@pytest.fixture(scope="session")
def _shared(sky_lab: SkyLab) -> Iterator[Kernel]:
    running = Kernel(environment(sky_lab, sky_lab.work), sky_lab.work)
    running.run("import os; import automodel_nb as am")
    running.run("%load_ext automodel_nb")
    yield running
    running.kill()


@pytest.fixture
def kernel(_shared: Kernel, work: Path, tmp_path: Path) -> Kernel:
    """The kernel that all tests share, in a directory and with records of the test's own."""
    _shared.run(f"os.chdir({str(work)!r}); os.environ['AUTOMODEL_NB_HOME'] = {str(tmp_path)!r}")
    return _shared


@pytest.fixture
def work(sky_lab: SkyLab, request: pytest.FixtureRequest) -> Path:
    """The notebook's directory."""
    path = sky_lab.work / request.node.name.replace("[", "-").rstrip("]")
    path.mkdir()
    return path


@pytest.fixture(autouse=True)
def _nothing_left_on_the_nodes(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test that fails leaves no cluster to the next one."""
    yield
    if "sky_lab" in request.fixturenames:
        lab: SkyLab = request.getfixturevalue("sky_lab")
        if lab.slurm("squeue", "-h"):
            lab.sky("jobs", "cancel", "--all", "-y", check=False)
            lab.sky("down", "--all", "-y", check=False)
            lab.slurm("scancel", "-u", "root")
