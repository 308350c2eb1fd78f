"""One JupyterLab server and one Chromium for all browser tests; a notebook with its kernel for each module."""

from __future__ import annotations

import importlib.util
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest

from automodel_nb.job.store import JobStore
from automodel_nb.launchers.interactive import InteractiveLauncher, lives
from tests.browser import lab as rooms
from tests.conftest import require

AIDS = Path(__file__).with_name("aids")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(AIDS.parent):
            item.add_marker(pytest.mark.browser)


@dataclass(frozen=True)
class Lab:
    """A running server.

    Attributes:
        base: its address.
        root: the directory of the notebooks.
        state: AUTOMODEL_NB_HOME of its kernels.
    """

    base: str
    root: Path
    state: Path

    def notebook(self, name: str) -> str:
        """A new, empty notebook."""
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        nbformat.write(nbformat.v4.new_notebook(metadata={"kernelspec": kernel}), self.root / name)
        return name

    def saved(self, name: str) -> Any:
        """A notebook as it lies on disk."""
        return nbformat.read(self.root / name, as_version=4)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    require(rooms.chromium(), "chromium is not installed (make apt); the panel is proven in a real browser")
    require(importlib.util.find_spec("playwright"), "playwright is not installed; `make test` installs it")
    with rooms.browser() as running:
        yield running


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    require(importlib.util.find_spec("jupyterlab"), "jupyterlab is not installed; `make test` installs it")
    home, root = tmp_path_factory.mktemp("lab"), tmp_path_factory.mktemp("notebooks")
    state = home / "automodel_nb"
    with rooms.server(home, root, AUTOMODEL_NB_HOME=str(state), OMP_NUM_THREADS="1") as base:
        try:
            yield Lab(base, root, state)
        finally:
            end_jobs(state)


def end_jobs(state: Path) -> None:
    """Kill what still runs: jobs outlive their kernel, and must not outlive the tests."""
    launcher = InteractiveLauncher()
    for record in JobStore(state).records():
        if record.submission and lives(record.ref()):
            launcher.stop(record.ref(), "kill")
            end = time.monotonic() + 15
            while lives(record.ref()) and time.monotonic() < end:
                time.sleep(0.05)


@pytest.fixture(scope="module")
def notebook(lab: Lab, chromium: Any, request: pytest.FixtureRequest) -> Iterator[rooms.Notebook]:
    """A notebook of the module's own, with the extension loaded."""
    page = rooms.new_page(chromium)
    one = rooms.Notebook(page, lab.base, lab.notebook(f"{Path(request.node.name).stem}.ipynb")).open()
    one.run("%load_ext automodel_nb\nimport automodel_nb as am")
    yield one
    page.context.close()


def launch(command: str, options: str = "--detach", name: str = "finetune") -> str:
    """A cell that launches a command in AutoModel's place."""
    fields = {"device": "cpu", "job_name": name, "command": command}
    section = "".join(f"  {field}: {json.dumps(value)}\n" for field, value in fields.items())
    return f"%%automodel_launch interactive {options}\ninteractive:\n{section}"


def steps(count: int, pause: float, *more: str) -> str:
    return " ".join([sys.executable, str(AIDS / "steps.py"), str(count), str(pause), *more])


def flood(lines: int, rate: int) -> str:
    return f"{sys.executable} {AIDS / 'flood.py'} {lines} {rate}"
