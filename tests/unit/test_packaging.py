"""The wheel by itself: built out of the sdist, installed where nothing else is, used without the repository."""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
USE = r"""
import sys
import automodel_nb as am
from IPython.core.interactiveshell import InteractiveShell

assert "site-packages" in am.__file__, am.__file__
for method in ("interactive", "slurm"):
    plan = am.preview(am.template(method))
    assert plan.files
assert "#SBATCH --nodes=2" in plan.files["launch.sbatch"]
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "automodel_nb")
shell.run_cell_magic("automodel_launch", "--as job", "interactive:\n  device: cpu\n  command: echo hello\n")
assert shell.user_ns["job"].state == "COMPLETED"
shell.run_line_magic("automodel_jobs", "")
shell.run_line_magic("automodel_form", "slurm")
assert not [name for name in ("ipywidgets", "anywidget", "torch", "nemo_automodel") if name in sys.modules]
"""


def pythons() -> list[str]:
    """This Python, and the other ones of this machine that the package is for."""
    found = [sys.executable]
    for version in ("3.12", "3.13"):
        candidates = [
            shutil.which(f"python{version}"),
            *glob.glob(os.path.expanduser(f"~/.pyenv/versions/{version}.*/bin/python")),
        ]
        for python in filter(None, candidates):
            done = subprocess.run(
                [python, "-c", "import sys, venv; print(sys.version)"], capture_output=True, text=True, check=False
            )
            if done.stdout.startswith(version) and not sys.version.startswith(version):
                found.append(python)
                break
    return found


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made out of the sdist."""
    place = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(place), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (made,) = place.glob("*.whl")
    return made


@pytest.mark.timeout(240)
@pytest.mark.parametrize("python", pythons())
def test_the_wheel_works_alone(python: str, wheel: Path, tmp_path: Path) -> None:
    subprocess.run([python, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    own = str(tmp_path / "venv/bin/python")
    begun = time.monotonic()
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", own, "install", "--quiet", str(wheel)]
    subprocess.run(pip, check=True, capture_output=True)
    assert time.monotonic() - begun < 60  # four packages and what they need
    env = {**os.environ, "AUTOMODEL_NB_HOME": str(tmp_path / "home"), "HF_TOKEN": "the template asks for one", "PYTHONPATH": ""}
    used = subprocess.run([own, "-c", USE], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert used.returncode == 0, used.stdout + used.stderr
    assert "hello" in used.stdout
    assert "COMPLETED" in used.stdout


@pytest.mark.parametrize("extra", ["widgets", "demo", "dev"])
def test_extras_resolve(extra: str) -> None:
    """They are what is installed here; pip says what would be missing."""
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--no-build-isolation", "--no-index"]
    done = subprocess.run([*command, f"{ROOT}[{extra}]"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
