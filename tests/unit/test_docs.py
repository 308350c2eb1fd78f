"""What a reader follows and copies out of README and docs: links lead somewhere, cells can be planned."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import automodel_nb as am
from automodel_nb import magics

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
RECIPE = "recipe: TrainFinetuneRecipeForNextTokenPrediction\n"
CELLS = re.findall(r"^    (%%automodel_launch[^\n]*\n(?:(?:    [^\n]*)?\n)+)", (ROOT / "README.md").read_text(), re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text()):
        assert "://" in target or (page.parent / target).exists(), target


def test_every_page_is_reached_from_the_readme() -> None:
    readme = (ROOT / "README.md").read_text()
    assert [page.name for page in sorted((ROOT / "docs").glob("*.md")) if f"(docs/{page.name})" not in readme] == []


@pytest.mark.parametrize("cell", CELLS, ids=["interactive", "slurm", "skypilot"])
def test_a_cell_of_the_readme_can_be_planned(cell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_TOKEN", "hf")
    first, _, text = cell.partition("\n")
    method = next((word for word in first.split() if word in ("slurm", "skypilot")), None)
    Path("recipe.yaml").write_text(RECIPE)
    plan = am.preview(RECIPE + re.sub(r"^    ", "", text, flags=re.MULTILINE), method)
    assert plan.method == (method or "interactive")
    here = {"no-skypilot", "cpu-backend"}  # of a machine without SkyPilot or GPUs
    assert {finding.code for finding in plan.findings if finding.severity == "error"} <= here


def test_magics_that_the_docs_name_are_there() -> None:
    named = {name for page in PAGES for name in re.findall(r"%(automodel_\w+)", page.read_text())}
    assert named <= {name for name in dir(magics.AutomodelMagics) if name.startswith("automodel_")}
