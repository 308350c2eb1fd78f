"""The table of jobs, current, filtered and acted on; and a real training stopped, and resumed by the panel's button."""

from __future__ import annotations

import importlib.util

import pytest

from automodel_nb import cpu
from tests.automodel.real import AIDS, make_tiny, recipe_text
from tests.browser.conftest import Lab, launch, steps
from tests.browser.lab import Notebook
from tests.browser.test_panel import state, stop
from tests.conftest import require


def test_the_table_stays_current_filters_and_acts(notebook: Notebook) -> None:
    notebook.run(launch(steps(600, 0.1), name="table, goes on"))
    notebook.run(launch(steps(1, 0.1), name="table, is over"))
    cell = notebook.run("%automodel_jobs")
    table = cell.locator(".amnb-jobs")
    going, over = (table.locator("tbody tr", has_text=name) for name in ("goes on", "is over"))
    over.get_by_text("✓ COMPLETED").wait_for()
    going.get_by_text("● RUNNING").wait_for()
    going.get_by_text("/600").wait_for()

    def shown(text: str, state: str, count: int) -> tuple[bool, bool]:
        table.get_by_label("Filter the jobs").fill(text)
        table.get_by_label("State").select_option(state)
        table.get_by_text(f"{count} of ").wait_for()
        return going.is_visible(), over.is_visible()

    assert shown("TABLE,", "", 2) == (True, True)
    assert shown("TABLE,", "alive", 1) == (True, False)
    assert shown("table, is", "", 1) == (False, True)
    assert shown("table,", "", 2) == (True, True)
    going.get_by_role("button", name="■ Stop").click()
    going.locator(".amnb-yes").click()
    going.get_by_text("CANCELLED").wait_for()
    over.get_by_role("button", name="Copy %attach").click()
    over.get_by_text("Copied").wait_for()
    assert notebook.page.evaluate("navigator.clipboard.readText()").startswith("%automodel_attach ")
    assert notebook.problems == []


@pytest.mark.automodel
def test_a_real_training_is_stopped_and_resumed(notebook: Notebook, lab: Lab) -> None:
    require(importlib.util.find_spec("nemo_automodel"), "AutoModel is not installed; `make test` installs it")
    recipe = recipe_text(make_tiny(), max_steps=20, ckpt_every_steps=100, val_every_steps=100)
    slow = f"env_vars: {{AM_STEP_SLEEP: 0.3, PYTHONPATH: '{cpu.PATH}:{AIDS}'}}"
    cell = notebook.run(f"%%automodel_launch interactive --detach\ninteractive: {{device: cpu, {slow}}}\n{recipe}")
    cell.locator(".amnb-lines").get_by_text("step 3 |").wait_for(state="attached", timeout=90_000)
    stop(cell)
    cell.get_by_role("button", name="↻ Resume").click()
    state(cell, "Goes on from")
    state(cell, "COMPLETED", 90_000)
    cell.get_by_text("20 of 20 steps").locator("visible=true").wait_for()
    first = notebook.run("print(am.attach('last').metrics()[0].step)").inner_text().split()[-1]
    assert int(first) >= 3  # not from the start
    assert notebook.problems == []
