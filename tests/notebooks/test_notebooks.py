"""Every notebook runs as a user would run it: nbval, one kernel each, in a folder that has seen nothing of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from tests.automodel.real import ROOT, make_tiny
from tests.slurm.conftest import slurm_lab as slurm_lab
from tests.slurm.lab import SlurmLab

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    """A copy of notebooks/ and tools/, so that nothing is left in the checkout; the tiny model is there already."""
    ignored = shutil.ignore_patterns("automodel_jobs", ".ipynb_checkpoints", "tiny")
    for folder in ("notebooks", "tools"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignored)
    shutil.copytree(make_tiny(), tmp_path / "notebooks/tiny")
    return tmp_path / "notebooks"


def executed(notebook: str, workplace: Path, **environment: str) -> None:
    """Run all cells of a notebook by nbval, in a kernel of its own."""
    nbval = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-c", os.devnull, "--nbval-lax", "--nbval-current-env"]
    ours = {"AUTOMODEL_NB_HOME": str(workplace / "home"), "OMP_NUM_THREADS": "1"}
    ran = subprocess.run(
        [*nbval, "--nbval-cell-timeout=200", notebook],
        cwd=workplace,
        env={**os.environ, **ours, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout


@pytest.mark.automodel
def test_first_launch_runs(workplace: Path) -> None:
    executed("01_first_launch.ipynb", workplace)
    assert len(list(workplace.glob("automodel_jobs/*/checkpoints/LATEST"))) == 2


@pytest.mark.automodel
def test_a_run_that_failed_is_understood_and_goes_on(workplace: Path) -> None:
    executed("04_a_run_that_failed.ipynb", workplace)
    assert len(list(workplace.glob("automodel_jobs/*/checkpoints/LATEST"))) == 2


@pytest.mark.automodel
@pytest.mark.slurm
def test_slurm(workplace: Path, slurm_lab: SlurmLab) -> None:
    executed("02_slurm.ipynb", workplace, SLURM_CONF=slurm_lab.env["SLURM_CONF"])
    assert len(list(workplace.glob("automodel_jobs/*/checkpoints/LATEST"))) == 3


@pytest.mark.parametrize("notebook", ["03_clouds.ipynb", "05_your_cluster.ipynb"])
def test_those_that_only_show(notebook: str, workplace: Path) -> None:
    executed(notebook, workplace)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_committed_without_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in notebook.cells)


def test_the_first_cell_to_launch_holds_the_tiny_recipe() -> None:
    """notebooks/tiny.yaml is what the tests train with; the cell that a reader sees first is the same text."""
    cells = nbformat.read(ROOT / "notebooks/01_first_launch.ipynb", as_version=4).cells
    (launch,) = [cell.source for cell in cells if cell.source.startswith("%%automodel_launch")]
    assert launch.endswith((ROOT / "notebooks/tiny.yaml").read_text().rstrip("\n"))
