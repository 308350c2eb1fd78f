"""The form on a real Slurm: filled in by keyboard alone, written into a cell, and the real AutoModel trains on two nodes."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import Any

import pytest

from tests.automodel.real import make_tiny, recipe_text
from tests.browser.conftest import Lab
from tests.browser.keyboard import tab_to
from tests.browser.lab import APP, Notebook
from tests.conftest import require
from tests.slurm.lab import SlurmLab, missing

STEPS = {"max_steps": 6, "ckpt_every_steps": 3, "val_every_steps": 3, "local_batch_size": 4}
pytestmark = [pytest.mark.slurm, pytest.mark.automodel]


@pytest.fixture(scope="module")
def cluster() -> Iterator[SlurmLab]:
    reason = missing()
    require(reason is None, reason or "")
    require(importlib.util.find_spec("nemo_automodel"), "AutoModel is not installed; `make test` installs it")
    with SlurmLab() as running:
        yield running
        running.run("scancel", "-u", "root", check=False)


@pytest.fixture(scope="module")
def login(notebook: Notebook, lab: Lab, cluster: SlurmLab) -> Notebook:
    """A kernel on the cluster's login node, a recipe beside its notebook."""
    (lab.root / "recipe.yaml").write_text(recipe_text(make_tiny(), **STEPS))
    there = {"SLURM_CONF": cluster.env["SLURM_CONF"], "HF_TOKEN": "the template asks for one"}
    notebook.run(f"import os; os.environ.update({there})")
    return notebook


def typed(page: Any, field: str, text: str) -> None:
    tab_to(page, field)
    page.keyboard.press("Control+a")
    page.keyboard.type(text)


def test_by_keyboard_alone_until_two_nodes_have_trained(login: Notebook) -> None:
    page = login.page
    form = login.run("%automodel_form recipe.yaml").locator("div.amnb-form").first
    form.wait_for()
    page.keyboard.press("Escape")
    form.get_by_role("tab", name="This node").focus()  # a Tab away from the cell; from here on no mouse
    page.keyboard.press("ArrowRight")
    form.get_by_role("tab", name="Slurm", selected=True).wait_for()
    typed(page, "Job name", "by keyboard")
    form.locator(".amnb-line", has_text='#SBATCH --job-name="by keyboard"').wait_for()
    typed(page, "Nodes", "4")
    form.locator(".amnb-line.amnb-changed", has_text="#SBATCH --nodes=4").wait_for()  # the preview follows
    typed(page, "Processes per node", "1")
    typed(page, "Time limit", "10")
    form.get_by_text("10 minutes", exact=True).wait_for()
    tab_to(page, "Partition")
    page.keyboard.press("ArrowDown")
    options = form.get_by_role("option")
    options.filter(has_text="debug").filter(has_text="4 nodes are asked for").wait_for()  # what cannot work is marked
    assert "free" in options.filter(has_text="batch").inner_text()
    page.keyboard.type("deb")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    form.locator("[data-field=nodes] .amnb-error").get_by_text("partition debug gives 2 at most").wait_for()
    assert form.get_by_role("button", name="Launch", exact=True).get_attribute("aria-disabled") == "true"
    tab_to(page, "Nodes", key="Shift+Tab")
    page.keyboard.press("Control+a")
    page.keyboard.type("2")
    form.locator("[data-field=nodes] .amnb-error").wait_for(state="detached")
    tab_to(page, "Resources")
    page.keyboard.press("Enter")
    form.get_by_label("GPUs per node", exact=True).wait_for()
    typed(page, "GPUs per node", "0")
    tab_to(page, "How GPUs are asked for")
    page.keyboard.type("none")
    tab_to(page, "Container1 set")
    page.keyboard.press("Enter")
    form.get_by_label("Container image", exact=True).wait_for()
    typed(page, "Container image", "")
    page.keyboard.press("Delete")
    tab_to(page, "Advanced*")
    page.keyboard.press("Enter")
    form.get_by_label("Master port", exact=True).wait_for()
    typed(page, "Master port", "")  # the template's may be taken; without one a free one is
    page.keyboard.press("Delete")
    tab_to(page, "To cell")
    page.keyboard.press("Enter")
    form.get_by_text("Written into the cell below.").wait_for()

    cell, index = page.evaluate(
        f"""() => {{
            const notebook = {APP}.shell.currentWidget.content;
            return [notebook.widgets.at(-1).model.sharedModel.source, notebook.widgets.length - 1];
        }}"""
    )
    assert cell.startswith("%%automodel_launch slurm\n")
    assert set(recipe_text(make_tiny(), **STEPS).splitlines()) <= set(cell.splitlines())  # with every comment
    page.evaluate(
        f"i => {{ const n = {APP}.shell.currentWidget.content; n.activeCellIndex = i; n.mode = 'command'; n.node.focus(); }}",
        index,
    )
    page.keyboard.press("Control+Enter")
    trained = login.cell(index)
    trained.get_by_text("✓ COMPLETED").locator("visible=true").first.wait_for(timeout=150_000)
    assert login.run("print(am.attach('last').status.observation.nodes)").inner_text().strip().endswith("('n1', 'n2')")
    assert login.run("print(len(am.attach('last').metrics()))").inner_text().strip().endswith("8")  # 6 steps, 2 validations
    assert login.problems == []
