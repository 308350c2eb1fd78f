"""docs/checks.md is what the code says, and no code is without a word there."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

import pytest

import automodel_nb
from automodel_nb import checks
from automodel_nb.checks import OTHERS, RULES

ROOT = Path(__file__).parents[2]
PACKAGE = Path(automodel_nb.__file__).parent


@pytest.mark.parametrize("page", ["checks.md", "diagnosis.md", "fields.md", "magics.md", "states.md"])
def test_the_page_is_current(page: str) -> None:
    spec = importlib.util.spec_from_file_location("make_docs", ROOT / "tools/make_docs.py")
    assert spec is not None
    assert spec.loader is not None
    make_docs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make_docs)
    assert (ROOT / "docs" / page).read_text() == make_docs.PAGES[page](), "run tools/make_docs.py"


@pytest.mark.parametrize("rule", RULES, ids=[rule.code for rule in RULES])
def test_every_rule_says_itself(rule: checks.Rule) -> None:
    assert rule.says.endswith((".", ")", "]")), rule.says
    assert len(rule.says) > 20
    assert len(rule.source) > 10


def test_codes_are_rules_or_named() -> None:
    """Every code in the package's text: the first argument of a finding, which is written out everywhere."""
    written = {}
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            name = getattr(node.func, "id", getattr(node.func, "attr", "")) if isinstance(node, ast.Call) else ""
            if name in ("Finding", "finding", "mistake") and node.args and isinstance(node.args[0], ast.Constant):  # type: ignore[attr-defined]
                written[node.args[0].value] = path  # type: ignore[attr-defined]
    codes = [rule.code for rule in RULES]
    assert len(codes) == len(set(codes))
    assert not set(codes) & set(OTHERS)
    assert {code: str(path) for code, path in written.items() if code not in OTHERS and code not in codes} == {}
    text = "".join(path.read_text() for path in PACKAGE.rglob("*.py") if path.name != "others.py")
    assert {code for code in OTHERS if f'"{code}"' not in text} == set(), "no longer found by anything"
    assert set(OTHERS) >= checks.NOT_TO_IGNORE
