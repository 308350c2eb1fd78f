"""The CPU shim as Python's start-up hook: whom it leaves alone, whom it lets run. tests/automodel show what it is for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from automodel_nb import cpu

TELL = "import sys; print([type(f).__name__ for f in sys.meta_path if not isinstance(f, type)], 'torch' in sys.modules)"


def python(*arguments: str, path: list[Path], active: bool) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path)), **(cpu.environment(2) if active else {})}
    return subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def users_own(tmp_path: Path) -> Path:
    (tmp_path / "own").mkdir()
    (tmp_path / "own/sitecustomize.py").write_text("import sys; print('own', __name__, sys.modules[__name__].__file__)\n")
    return tmp_path / "own"


def test_it_acts_only_when_asked() -> None:
    assert "PatchingFinder" not in python("-c", TELL, path=[cpu.PATH], active=False).stdout
    assert "PatchingFinder" in python("-c", TELL, path=[cpu.PATH], active=True).stdout
    assert "PatchingFinder" not in python("-I", "-c", TELL, path=[cpu.PATH], active=True).stdout


def test_torch_is_not_imported_for_a_process_that_does_not() -> None:
    assert python("-c", TELL, path=[cpu.PATH], active=True).stdout.endswith("False\n")


@pytest.mark.parametrize("active", [True, False])
def test_the_users_own_sitecustomize_runs_once(users_own: Path, active: bool) -> None:
    ran = python("-c", "import sitecustomize; print(sitecustomize.__file__)", path=[cpu.PATH, users_own], active=active)
    own = users_own / "sitecustomize.py"
    assert ran.stdout.splitlines() == [f"own sitecustomize {own}", str(own)]
    assert ran.stderr == ""


def test_a_fault_in_it_is_told_as_python_tells_it(users_own: Path) -> None:
    (users_own / "sitecustomize.py").write_text("raise ValueError('own fault')\n")
    chained = python("-c", TELL, path=[cpu.PATH, users_own], active=True)
    alone = python("-c", TELL, path=[users_own], active=True)
    assert "own fault" in alone.stderr
    assert chained.stderr == alone.stderr
    assert "PatchingFinder" in chained.stdout


def test_a_start_without_it_being_asked_imports_nothing_more() -> None:
    tell = "import sys; print(*sorted(sys.modules))"
    with_it = python("-c", tell, path=[cpu.PATH], active=False).stdout.split()
    without = python("-c", tell, path=[], active=False).stdout.split()
    assert set(with_it) - set(without) <= {"sitecustomize", "__future__"}


def test_patches_are_made_when_the_module_is_imported(tmp_path: Path) -> None:
    """Stand-ins for torch show the moment and the way; that they are the right patches only the real AutoModel can tell."""
    (tmp_path / "torch/distributed").mkdir(parents=True)
    (tmp_path / "torch/__init__.py").touch()
    (tmp_path / "torch/distributed/__init__.py").touch()
    (tmp_path / "torch/distributed/run.py").write_text(
        "def determine_local_world_size(nproc_per_node):\n    return int(nproc_per_node)\n"
        "if __name__ == '__main__':\n    print('run as a script')\n"
    )
    count = "from torch.distributed.run import determine_local_world_size as n; print(n('gpu'), n('5'))"
    assert python("-c", count, path=[cpu.PATH, tmp_path], active=True).stdout == "2 5\n"
    assert "invalid literal" in python("-c", count, path=[cpu.PATH, tmp_path], active=False).stderr
    source = "import inspect, torch.distributed.run as r; print(inspect.getsource(r).count('def '))"
    assert python("-c", source, path=[cpu.PATH, tmp_path], active=True).stdout == "1\n"
    assert python("-m", "torch.distributed.run", path=[cpu.PATH, tmp_path], active=True).stdout == "run as a script\n"
