"""Notebook 7: the same panel, in its front end."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from tests.browser import lab as rooms
from tests.browser.conftest import Lab, end_jobs, launch, steps
from tests.conftest import require

OURS = ("amnb", "automodel", "anywidget", "widget")  # what notebook 7.6.5 throws on an empty notebook names none of them


def test_launch_in_notebook_7(chromium: Any, tmp_path: Path) -> None:
    require(importlib.util.find_spec("notebook"), "notebook is not installed; `make test` installs it")
    root, state = tmp_path / "notebooks", tmp_path / "automodel_nb"
    root.mkdir()
    with rooms.server(tmp_path / "home", root, "notebook", AUTOMODEL_NB_HOME=str(state), OMP_NUM_THREADS="1") as base:
        seven = Lab(base, root, state)
        page = rooms.new_page(chromium)
        try:
            notebook = rooms.Notebook(page, base, seven.notebook("seven.ipynb"), "notebooks").open()
            notebook.run("%load_ext automodel_nb\nimport automodel_nb as am")
            cell = notebook.run(launch(steps(20, 0.15)))
            cell.locator(".amnb-panel").wait_for()
            cell.get_by_text("of 20 steps").locator("visible=true").wait_for()
            cell.locator(".amnb-curve").wait_for()
            cell.get_by_text("COMPLETED").locator("visible=true").first.wait_for()
            assert cell.locator("[class^=amnb-static]").first.is_visible()
            form = notebook.run("am.form('slurm')").locator("div.amnb-form").first
            form.get_by_label("Nodes", exact=True).fill("3")
            form.locator(".amnb-line", has_text="#SBATCH --nodes=3").wait_for()
            assert [problem for problem in notebook.problems if any(word in problem.lower() for word in OURS)] == []
        finally:
            page.context.close()
            end_jobs(state)
