"""The saved notebook: reopened without its kernel, untrusted, and as nbconvert's HTML it is readable and no text in it acts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbconvert import HTMLExporter

from tests.browser.conftest import AIDS, Lab, launch
from tests.browser.lab import Notebook, new_page

ATTACK = "<img src=x onerror=hit()>"
SENTINEL = "window.hits = 0; window.hit = () => { window.hits += 1; };"
SLURM = f"%%automodel_launch slurm -n\nslurm:\n  job_name: '{ATTACK}'\n  partition: '{ATTACK}'\n  comment: '{ATTACK}'\n"
#: What whoever reads the notebook finds, whatever it is shown by.
TOLD = ("FAILED", "hostile <img", "ValueError", "%automodel_attach", f"WARNING | {ATTACK}", f'--partition="{ATTACK}"')


def watched(page: Any) -> Any:
    page.add_init_script(SENTINEL)
    return page


def readable(page: Any, text: str) -> None:
    page.wait_for_timeout(300)  # what would act, has
    assert page.evaluate("window.hits") == 0
    assert [words for words in TOLD if words not in text] == []
    for trouble in ("Error displaying widget", "model not found", "Javascript Error", "[object"):
        assert trouble not in text
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x: onerror=hit()>')")  # the sentinel works
    page.wait_for_function("window.hits === 1")


@pytest.fixture(scope="module")
def attacked(lab: Lab, chromium: Any) -> Iterator[Notebook]:
    """A notebook in which every surface was given text that attacks."""
    page = watched(new_page(chromium))
    notebook = Notebook(page, lab.base, lab.notebook("attacked.ipynb")).open()
    notebook.run("%load_ext automodel_nb\nimport automodel_nb as am")
    cell = notebook.run(launch(f"{sys.executable} {AIDS / 'hostile.py'} fail", name=f"hostile {ATTACK}"))
    cell.get_by_text("FAILED").locator("visible=true").first.wait_for()
    cell.locator(".amnb-curve, img").first.wait_for()
    notebook.run(SLURM)
    notebook.run("%automodel_jobs").get_by_text("hostile").locator("visible=true").first.wait_for()
    notebook.run("%automodel_logs last")
    form = notebook.run(f"am.form({SLURM.partition(chr(10))[2]!r})")
    form.locator("div.amnb-form .amnb-preview, div.amnb-form pre").first.wait_for()
    notebook.save()
    yield notebook
    page.context.close()


def everything(page: Any) -> str:
    """All text of the notebook; JupyterLab keeps far cells out of the page until they are scrolled to."""
    texts: list[str] = page.evaluate(
        """async () => {
            const found = [];
            for (const cell of (window.jupyterapp || window.jupyterlab).shell.currentWidget.content.widgets) {
                cell.node.scrollIntoView(); await new Promise(r => setTimeout(r, 60));
                cell.node.querySelectorAll('details').forEach(d => { d.open = true; });
                cell.node.querySelectorAll('.jp-OutputArea-output *').forEach(e => ['mouseover', 'focus'].forEach(
                    name => e.dispatchEvent(new Event(name, {bubbles: true}))));
                found.push(cell.node.innerText);
            }
            return found;
        }"""
    )
    return "\n".join(texts)


def test_live(attacked: Notebook) -> None:
    readable(attacked.page, everything(attacked.page))


def test_reopened_with_a_new_kernel(attacked: Notebook, lab: Lab, chromium: Any) -> None:
    page = watched(new_page(chromium))
    (lab.root / "reopened.ipynb").write_bytes((lab.root / "attacked.ipynb").read_bytes())
    again = Notebook(page, lab.base, "reopened.ipynb").open()
    assert page.evaluate("jupyterapp.shell.currentWidget.content.model.cells.get(1).trusted")
    text = everything(page)
    assert again.problems == []
    readable(page, text)
    page.context.close()


def test_reopened_untrusted(attacked: Notebook, lab: Lab, chromium: Any) -> None:
    """As a colleague opens it."""
    page = watched(new_page(chromium, dark=True))
    saved = lab.saved("attacked.ipynb")
    saved.cells.append(nbformat.v4.new_markdown_cell("so that no signature fits"))
    nbformat.write(saved, lab.root / "untrusted.ipynb")
    Notebook(page, lab.base, "untrusted.ipynb").open()
    assert not page.evaluate("jupyterapp.shell.currentWidget.content.model.cells.get(1).trusted")
    readable(page, everything(page))
    curves = page.evaluate("[...document.querySelectorAll('.jp-OutputArea img')].map(i => i.naturalWidth > 0 && i.alt)")
    assert any("loss" in str(words).lower() for words in curves)
    page.context.close()


def test_as_html(attacked: Notebook, lab: Lab, chromium: Any, tmp_path: Path) -> None:
    html, _ = HTMLExporter().from_notebook_node(lab.saved("attacked.ipynb"))
    (tmp_path / "saved.html").write_text(html)
    page = watched(new_page(chromium))
    page.route("**/*", lambda route: route.continue_() if route.request.url.startswith(("file:", "data:")) else route.abort())
    page.goto(f"file://{tmp_path}/saved.html")
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    readable(page, page.inner_text("body"))
    page.evaluate(
        """() => {
            document.querySelectorAll('style, script, link').forEach(e => e.remove());
            document.querySelectorAll('[style]').forEach(e => e.removeAttribute('style'));
        }"""
    )
    assert all(words in page.inner_text("body") for words in TOLD)  # plain viewers strip all of these
    page.context.close()
