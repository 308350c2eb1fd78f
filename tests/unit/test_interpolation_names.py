"""``{{ name }}`` in the launcher section."""
# ruff: noqa: E501 (tables of exact texts)

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from automodel_nb.document import Document
from automodel_nb.errors import DocumentError
from automodel_nb.interpolation import fill_names

NAMES = {
    "n": 2,
    "ok": True,
    "none": None,
    "lr": 1e-05,
    "half": Fraction(1, 2),
    "name": "run-7",
    "odd": 'it\'s "x": #y\n{{ n }}',
    "items": ["/a", {"b": None}],
    "env": {"A": "yes", "B": 1},
    "where": Path("/a b"),
    "thing": object(),
    "own": NotImplemented,
}

FILLED = [
    ("slurm:\n  nodes: {{ n }} # {{ gone }}\n", "slurm:\n  nodes: 2 # {{ gone }}\n"),
    ("slurm: {nodes: {{n}}, x: [{{ n }}]}\n", "slurm: {nodes: 2, x: [2]}\n"),
    ("slurm:\n  a: {{ ok }}\n  b: {{ none }}\n  c: {{ lr }}\n  d: {{ half }}\n", "slurm:\n  a: true\n  b: null\n  c: 1.0e-05\n  d: 0.5\n"),
    ("slurm:\n  m: {{ items }}\n  env_vars: {{ env }}\n", 'slurm:\n  m: [/a, {b: null}]\n  env_vars: {A: "yes", B: 1}\n'),
    ("slurm:\n  a: {{ odd }}\n", 'slurm:\n  a: "it\'s \\"x\\": #y\\n{{ n }}"\n'),
    ("slurm:\n  a: &x {{ where }}\n", "slurm:\n  a: &x /a b\n"),
    ("slurm:\n  image: nvcr.io/nvidia/nemo:{{ name }}\n", "slurm:\n  image: nvcr.io/nvidia/nemo:run-7\n"),
    ("slurm:\n  a: {{ name }}-{{ n }}\n", "slurm:\n  a: run-7-2\n"),
    ("slurm:\n  a: x {{ odd }}\n", 'slurm:\n  a: "x it\'s \\"x\\": #y\\n{{ n }}"\n'),
    ("slurm:\n  a: \"{{ n }} '{{ name }}'\" # c\n", "slurm:\n  a: \"2 'run-7'\" # c\n"),
    ("slurm:\n  a: 'x {{ where }}'\n", "slurm:\n  a: 'x /a b'\n"),
    ("slurm:\n  setup: |  # {{ x }}\n    echo {{ n }}\n    exit\n", "slurm:\n  setup: |  # {{ x }}\n    echo 2\n    exit\n"),
    ("slurm:\n  setup: |\n    echo {{ odd }}\n", 'slurm:\n  setup: "echo it\'s \\"x\\": #y\\n{{ n }}\\n"\n'),
    ("slurm:\n  {{ name }}: 1\n", "slurm:\n  run-7: 1\n"),
    ("chat: \"{{ bos }}{% x %}\"\nslurm: {a: {{ n }}}\ntpl: |\n  {{ messages }}\n", "chat: \"{{ bos }}{% x %}\"\nslurm: {a: 2}\ntpl: |\n  {{ messages }}\n"),
    ("recipe: {{ n }}\n", "recipe: {{ n }}\n"),
    ("\ufeffslurm:\r\n  a: {{ n }}\r\n", "\ufeffslurm:\r\n  a: 2\r\n"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "after"), FILLED)
def test_fill(text: str, after: str) -> None:
    assert fill_names(text, NAMES) == after


MISTAKES = [
    ("slurm:\n  nodes: {{ itemz }}\n", "line 2, column 10: the notebook has no variable `itemz` (did you mean `items`?)"),
    ("slurm:\n  a: x-{{ zzzz }}\n", "line 2, column 8: the notebook has no variable `zzzz` (assign it in a cell above)"),
    (
        "slurm: {a: {{ cfg.nodes }}}\n",
        "line 1, column 12: `{{ cfg.nodes }}` is no name (assign it to a variable in a cell above, and write that name)",
    ),
    ("slurm: {a: {{ }}}\n", "line 1, column 12: `{{ }}` is no name (assign it to a variable in a cell above, and write that name)"),
    (
        "slurm:\n  a: {{ thing }}\n",
        "line 2, column 6: `thing` is of type object, which is no YAML value (take text, a number, a list or a mapping of these)",
    ),
    ("slurm:\n  a: x {{ items }}\n", "line 2, column 8: `{{ items }}` is a list, which cannot stand within a text (let it stand alone)"),
    ("slurm:\n  a: '{{ none }}'\n", "line 2, column 7: `{{ none }}` is None, which cannot stand within a text (let it stand alone)"),
    ("slurm:\n  {{ n }}: 1\n  {{ n }}: 2\n b: 1\n", None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), MISTAKES)
def test_a_mistake_is_one_line(text: str, message: str | None) -> None:
    with pytest.raises(DocumentError) as error:
        fill_names(text, NAMES)
    (finding,) = error.value.findings
    assert len(str(finding).splitlines()) == 1
    assert all(ord(character) < 0xE000 for character in str(finding))
    if message is not None:
        assert str(finding) == message


def test_a_list_that_holds_itself_and_half_a_character_are_refused() -> None:
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(DocumentError, match="`x` is nested too deep"):
        fill_names("slurm: {a: {{ x }}}", {"x": endless})
    with pytest.raises(DocumentError, match="`x` holds half a character"):
        fill_names("slurm: {a: {{ x }}}", {"x": "\ud83d"})


PLACES = [
    "slurm:\n  a: {{ x }}\n",
    "slurm:\n  a: p{{ x }}s # c\n",
    'slurm:\n  a: "p{{ x }}s"\n',
    "slurm: {a: 'p{{ x }}s'}\n",
    "slurm:\n  a: |\n    p{{ x }}s\n  b: 1\n",
    "slurm:\n  a: >-\n    p{{ x }}s\n  b: 1\n",
    "slurm:\n  a: p {{ x }}\n     s\n",
]


@given(st.sampled_from(PLACES), st.text(st.characters(codec="utf-8"), max_size=12))
def test_any_text_arrives_whole_or_is_refused(place: str, value: str) -> None:
    before = Document.parse(place.replace("{{ x }}", "MARK")).raw("slurm.a")
    filled = fill_names(place, {"x": value})
    unfit = [character for character in value if (ord(character) < 32 and character not in "\t\n") or character == "\x7f"]
    if unfit:
        with pytest.raises(DocumentError, match=r"U\+00[01].|U\+007F"):
            Document.parse(filled)
        return
    assert Document.parse(filled).raw("slurm.a") == str(before).replace("MARK", value)
