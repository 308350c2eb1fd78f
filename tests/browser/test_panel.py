"""The panel in JupyterLab: launch, watch, cancel, detach, reload in the middle, a new kernel, several at once."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tests.browser.conftest import Lab, launch, steps
from tests.browser.lab import Notebook, new_page

LONG = 600  # steps: longer than any test


def panel(cell: Any) -> Any:
    return cell.locator(".amnb-panel")


def state(cell: Any, word: str, timeout: float = 20_000) -> None:
    """Wait until what is seen of the cell's job, live or static, names the state."""
    cell.get_by_text(word, exact=False).locator("visible=true").first.wait_for(timeout=timeout)


def stop(cell: Any) -> None:
    cell.get_by_role("button", name="■ Stop").click()
    cell.locator(".amnb-yes").click()
    state(cell, "CANCELLED")


def test_launch_and_watch_to_the_end(notebook: Notebook) -> None:
    cell = notebook.run(launch(steps(20, 0.15)))
    panel(cell).wait_for()
    state(cell, "RUNNING")
    assert not cell.locator("[class^=amnb-static]").first.is_visible()  # the live view stands in its place
    cell.get_by_text("of 20 steps").locator("visible=true").wait_for()
    cell.locator(".amnb-curve").wait_for()
    assert cell.get_by_role("progressbar").get_attribute("aria-valuenow") is not None
    cell.get_by_role("button", name="Tokens/s").click()
    assert cell.locator(".amnb-curve").get_attribute("alt").startswith("Tokens per second")
    cell.locator(".amnb-lines .amnb-green").first.wait_for()
    state(cell, "COMPLETED")
    assert cell.locator("[class^=amnb-static]").first.is_visible()  # the card is back, the log stays
    assert cell.locator(".amnb-lines").is_visible()
    cell.get_by_text("25 lines", exact=True).wait_for()
    assert not cell.get_by_role("button", name="■ Stop").is_visible()
    assert notebook.problems == []


def test_cancel_asks_once(notebook: Notebook) -> None:
    cell = notebook.run(launch(steps(LONG, 0.1)))
    panel(cell).wait_for()
    cell.get_by_role("button", name="■ Stop").click()
    cell.get_by_text("Ask the training to save a checkpoint and stop?").wait_for()
    cell.get_by_role("button", name="No", exact=True).click()
    notebook.page.wait_for_timeout(300)
    assert cell.get_by_role("button", name="■ Stop").is_visible()
    assert notebook.run("print(am.attach('last').state)").inner_text().strip().endswith("RUNNING")
    stop(cell)


def test_a_job_that_fails_says_why_and_where(notebook: Notebook) -> None:
    cell = notebook.run(launch(steps(2, 0.05, "fail")))
    state(cell, "FAILED")
    cell.get_by_text("the data set has no column").locator("visible=true").first.wait_for()
    cell.get_by_role("button", name="Show in the log").click()
    assert "ValueError" in cell.locator(".amnb-current").inner_text()


def test_a_cell_that_stays_streams_and_its_kernel_need_not_listen(notebook: Notebook) -> None:
    cell = notebook.run(launch(steps(LONG, 0.1), options=""), wait=False)
    panel(cell).wait_for()
    cell.get_by_text("step 5 ").locator("visible=true").first.wait_for()
    assert cell.get_by_text("the notebook's stop button").is_visible()
    assert not cell.get_by_role("button", name="■ Stop").is_visible()  # a busy kernel would not hear it
    notebook.interrupt()
    state(cell, "CANCELLED")
    notebook.wait_for_kernel()
    assert "Traceback" not in cell.inner_text()


def test_a_busy_kernel_is_said(notebook: Notebook) -> None:
    cell = notebook.run(launch(steps(LONG, 0.1)))
    panel(cell).wait_for()
    notebook.run("import time; time.sleep(5)", wait=False)
    cell.get_by_role("button", name="■ Stop").click()
    cell.locator(".amnb-yes").click()
    cell.get_by_text("The kernel is busy with a cell").wait_for()
    state(cell, "CANCELLED")  # done as soon as it is free
    assert not cell.get_by_text("The kernel is busy with a cell").is_visible()


def test_detach_leaves_the_card_current_and_the_job_alone(notebook: Notebook) -> None:
    cell = notebook.run(launch(steps(40, 0.1)))
    panel(cell).wait_for()
    cell.get_by_role("button", name="Detach").click()
    panel(cell).wait_for(state="detached")
    cell.get_by_text("Detached; the job goes on.").wait_for()
    state(cell, "COMPLETED")
    assert notebook.problems == []


def test_several_at_once_each_with_its_own_log(notebook: Notebook) -> None:
    cells = [
        notebook.run(
            launch(f"{sys.executable} -c \"import time; print('only {i}', flush=True); time.sleep(4)\"", name=f"job{i}")
        )
        for i in range(3)
    ]
    for i, cell in enumerate(cells):
        cell.locator(".amnb-lines").get_by_text(f"only {i}").wait_for()
        assert cell.locator(".amnb-lines").get_by_text("only").count() == 1
    for cell in cells:
        state(cell, "COMPLETED")


def test_the_same_job_in_two_notebooks(notebook: Notebook, lab: Lab, chromium: Any) -> None:
    mine = notebook.run(launch(steps(LONG, 0.1), name="shared"))
    panel(mine).wait_for()
    page = new_page(chromium)
    other = Notebook(page, lab.base, lab.notebook("other.ipynb")).open()
    other.run("%load_ext automodel_nb")
    theirs = other.run("%automodel_attach shared")
    panel(theirs).wait_for()
    theirs.get_by_text("step 5 ").locator("visible=true").first.wait_for()
    stop(theirs)
    state(mine, "CANCELLED")
    page.context.close()


def test_reload_in_the_middle_then_a_new_kernel(notebook: Notebook) -> None:
    cell = notebook.run(launch(steps(LONG, 0.1), name="long"))
    panel(cell).wait_for()
    index = int(cell.get_attribute("data-windowed-list-index"))
    notebook.save()
    notebook.open()  # the same kernel, a new page
    cell = notebook.cell(index)
    cell.scroll_into_view_if_needed()
    panel(cell).wait_for()
    state(cell, "RUNNING")
    cell.get_by_text("step 20 ").locator("visible=true").first.wait_for()
    assert "Error displaying widget" not in notebook.page.inner_text("body")

    notebook.restart()  # the job does not need the kernel
    cell.get_by_text("No news from the kernel since").wait_for(timeout=15_000)
    assert not cell.get_by_role("button", name="■ Stop").is_visible()
    assert cell.locator("[class^=amnb-static]").first.is_visible()
    notebook.run("%load_ext automodel_nb\nimport automodel_nb as am")
    again = notebook.run("%automodel_attach long")
    panel(again).wait_for()
    again.locator(".amnb-lines").get_by_text("step 0 ").wait_for(state="attached")  # from its start
    stop(again)


def test_the_stop_ladder_reaches_a_job_that_does_not_listen(notebook: Notebook) -> None:
    ignore = "[signal.signal(number, signal.SIG_IGN) for number in (2, 10, 15)]"
    deaf = f"import signal, time; {ignore}; print('deaf', flush=True); time.sleep(600)"
    cell = notebook.run(launch(f'{sys.executable} -c "{deaf}"', name="deaf"))
    cell.locator(".amnb-lines").get_by_text("deaf").wait_for()
    for label in ("■ Stop", "■ Interrupt", "■ Kill"):
        cell.get_by_role("button", name=label).click()
        cell.locator(".amnb-yes").click()
    state(cell, "CANCELLED")


@pytest.mark.parametrize("width", [1280, 560])
def test_nothing_is_wider_than_its_column(notebook: Notebook, width: int) -> None:
    notebook.page.set_viewport_size({"width": width, "height": 900})  # the module's last test
    cell = notebook.run(launch(f"{sys.executable} -c \"print('x' * 3000); raise ValueError('y' * 500)\"", name="n" * 80))
    state(cell, "FAILED")
    cell.locator(".amnb-lines").wait_for()
    over = cell.evaluate(
        """cell => { const right = cell.querySelector('.jp-OutputArea').getBoundingClientRect().right + 1;
            return [...cell.querySelectorAll('.jp-OutputArea-output *')]
                .filter(e => e.checkVisibility() && e.getBoundingClientRect().right > right)
                .filter(e => !e.closest('pre, .jp-RenderedText')).map(e => e.outerHTML.slice(0, 200)); }"""
    )
    assert over == []
