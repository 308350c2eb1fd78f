"""The house's plan, read from the imports: arrows go down only, and each heavy or special package has one door."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import automodel_nb

PACKAGE = Path(automodel_nb.__file__).parent

# From the ground up; a module may import from its own floor and from those below.
FLOORS = [
    ["errors", "findings", "states", "paths"],
    ["document", "interpolation", "names", "plan", "hosts", "cpu"],
    ["configs", "facts", "facts_automodel", "facts_files", "facts_slurm", "profiles"],
    ["rendering", "checks", "watching"],
    ["launchers"],
    ["planning"],
    ["job", "views"],
    ["api", "health", "showing", "editing"],
    ["widgets"],
    ["magics"],
]
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
FILES = sorted(PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imports(path: Path) -> Iterator[str]:
    """Every imported module, those under TYPE_CHECKING left out."""
    tree = ast.parse(path.read_text())
    only_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in only_types:
            continue
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{name.name}" for name in node.names) if node.module == "automodel_nb" else [node.module]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_arrows_go_down(path: Path) -> None:
    room = room_of(path)
    if room in ("__init__", "cpu"):
        return
    for name in imports(path):
        head, _, rest = name.partition(".")
        if head == "automodel_nb" and rest:
            target = rest.split(".")[0]
            assert FLOOR_OF[target] <= FLOOR_OF[room], f"{path.name} ({room}) imports {name}, which is a floor above"


DOORS = {
    "sky": lambda where: where.startswith("launchers/skypilot"),
    "subprocess": lambda where: where.startswith("hosts/") or where == "launchers/supervisor.py",
    "IPython": lambda where: where.startswith("widgets/") or where == "magics.py",
    "ipywidgets": lambda where: where.startswith("widgets/"),
    "anywidget": lambda where: where.startswith("widgets/"),
    "torch": lambda where: where.startswith("cpu/"),
    "nemo_automodel": lambda where: where.startswith("cpu/"),
}


@pytest.mark.parametrize("package", DOORS)
def test_one_door(package: str) -> None:
    outside = [
        str(path.relative_to(PACKAGE))
        for path in FILES
        if any(name.split(".")[0] == package for name in imports(path)) and not DOORS[package](str(path.relative_to(PACKAGE)))
    ]
    assert outside == []


def test_files_are_short() -> None:
    long = {str(path.relative_to(PACKAGE)): n for path in FILES if (n := len(path.read_text().splitlines())) > 300}
    assert long == {}


def test_exported_names_exist() -> None:
    for name in automodel_nb.__all__:
        assert getattr(automodel_nb, name) is not None
    assert callable(automodel_nb.jobs)
    # a room must not take the place of a function that users call
    importlib.import_module("automodel_nb.job.handle")
    assert callable(automodel_nb.jobs)


def test_load_ext_imports_nothing_heavy() -> None:
    code = (
        "import sys, IPython.core.interactiveshell as s; shell = s.InteractiveShell.instance(); before = set(sys.modules);"
        "import automodel_nb; automodel_nb.load_ipython_extension(shell);"
        "print(*sorted({n.split('.')[0] for n in set(sys.modules) - before}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "automodel_nb" in loaded
    assert not loaded & {"ipywidgets", "pydantic", "jinja2", "yaml", "sky", "torch", "anywidget", "pandas"}
