"""Make docs/images/*.png: real trainings on a real two-node Slurm, watched in JupyterLab, light and dark, wide and narrow.

usage (as root, for the Slurm of the tests; ``make images``): python -m tools.screenshots [DIRECTORY]
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from automodel_nb import cpu
from tests.automodel.real import AIDS, make_tiny, recipe_text
from tests.browser import lab
from tests.browser.conftest import Lab, end_jobs
from tests.slurm.lab import SlurmLab

IMAGES = Path(__file__).parents[1] / "docs/images"
WIDE, NARROW = 980, 520  # pixels of the window; the notebook's column is some 130 narrower
THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}
# what a cell on a cluster without GPUs needs, and what makes a run of seconds long enough to be looked at
PROFILE = f"""
[slurm]
gpu_request = "none"
gpus_per_node = "0"
[slurm.env_vars]
AM_STEP_SLEEP = "0.25"
PYTHONPATH = "{cpu.PATH}:{AIDS}"
[interactive.env_vars]
AM_FAIL = "1:17"
AM_FAIL_KIND = "oom"
PYTHONPATH = "{cpu.PATH}:{AIDS}"
"""
RUN = """%%automodel_launch slurm -c recipe.yaml
slurm:
  job_name: llm_finetune
  nodes: 2
  ntasks_per_node: 1
  time: "00:30:00"
"""
FAIL = """%%automodel_launch interactive --detach -c recipe.yaml
interactive:
  job_name: too_large_a_batch
  device: cpu
  nproc_per_node: 2
"""
FORM = RUN.partition("\n")[2].replace("nodes: 2", "nodes: 4").replace("  time", "  partition: debug\n  time")


class Studio:
    """A notebook, and pictures of its cells."""

    def __init__(self, notebook: lab.Notebook, target: Path) -> None:
        self.notebook, self.target = notebook, target

    def picture(self, name: str, *parts: Any, width: int = WIDE, themes: tuple[str, ...] = tuple(THEMES)) -> None:
        """What is seen of these parts, in these themes."""
        page = self.notebook.page
        page.set_viewport_size({"width": width, "height": 2200})
        for theme in themes:
            page.evaluate(
                f"async name => {{ await {lab.APP}.commands.execute('apputils:change-theme', {{theme: name}}); }}",
                THEMES[theme],
            )
            page.wait_for_timeout(700)
            parts[0].evaluate("e => e.scrollIntoView({block: 'center'})")
            page.wait_for_timeout(200)
            path = self.target / f"{name}-{theme}.png"
            page.screenshot(path=path, animations="disabled", clip=around([part.bounding_box() for part in parts]))
            print(f"{path}  {path.stat().st_size / 1000:.0f} kB", flush=True)
        page.set_viewport_size({"width": WIDE, "height": 1500})


def around(boxes: list[Any]) -> Any:
    """The rectangle that holds all of these, with a little room."""
    left, top = min(box["x"] for box in boxes) - 4, min(box["y"] for box in boxes) - 4
    right, bottom = max(box["x"] + box["width"] for box in boxes) + 4, max(box["y"] + box["height"] for box in boxes) + 4
    return {"x": left, "y": top, "width": right - left, "height": bottom - top}


@contextmanager
def studio(place: Path, cluster: SlurmLab, target: Path) -> Iterator[Studio]:
    root, state = place / "work", place / "automodel_nb"
    root.mkdir()
    (root / "tiny").symlink_to(make_tiny())
    (root / "recipe.yaml").write_text(recipe_text(max_steps=100, num_epochs=2, ckpt_every_steps=50, val_every_steps=20))
    (root / "automodel_nb.toml").write_text(PROFILE)
    kernel = {"SLURM_CONF": cluster.env["SLURM_CONF"], "AUTOMODEL_NB_HOME": str(state), "OMP_NUM_THREADS": "1"}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    with lab.browser() as chromium, lab.server(place / "home", root, PATH=path, **kernel) as base:
        page = lab.new_page(chromium, width=WIDE, height=1500)
        page.set_default_timeout(120_000)
        notebook = lab.Notebook(page, base, Lab(base, root, state).notebook("finetune.ipynb")).open()
        notebook.command("application:set-mode", mode="single-document")
        notebook.command("application:toggle-left-area")
        try:
            notebook.run("%load_ext automodel_nb\nimport automodel_nb as am")
            yield Studio(notebook, target)
        finally:
            page.context.close()
            end_jobs(state)


def main(target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    with (
        SlurmLab() as cluster,
        tempfile.TemporaryDirectory(prefix="ada-") as place,
        studio(Path(place), cluster, target) as here,
    ):
        notebook = here.notebook
        running = notebook.run(RUN)
        running.get_by_text("step 30 |").first.wait_for(state="attached")
        here.picture("running", running.locator(".amnb-panel"))
        here.picture("running-narrow", running.locator(".amnb-panel"), width=NARROW, themes=("light",))
        failed = notebook.run(FAIL)
        chip(failed, "✗ FAILED")
        here.picture("failed", failed.locator("[class^=amnb-static]").first, failed.locator(".amnb-panel"))
        running.scroll_into_view_if_needed()
        chip(running, "✓ COMPLETED")
        time.sleep(2)
        here.picture("finished", running.locator("[class^=amnb-static]").first)
        jobs = notebook.run("%automodel_jobs")
        chip(jobs, "✗ FAILED")
        here.picture("jobs", jobs.locator(".amnb-jobs"))
        here.picture("jobs-narrow", jobs.locator(".amnb-jobs"), width=NARROW, themes=("dark",))
        form = notebook.run(f"am.form('''{FORM}''' + open('recipe.yaml').read())").locator("div.amnb-form").first
        form.get_by_text("4 nodes are asked for").first.wait_for(state="attached")
        here.picture("form", form, width=1280)
        here.picture("form-narrow", form, width=NARROW, themes=("dark",))


def chip(cell: Any, text: str) -> None:
    """Wait until a cell shows a job's state."""
    cell.get_by_text(text, exact=True).locator("visible=true").first.wait_for()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else IMAGES)
