"""Edits change just the characters of one value, key or item."""
# ruff: noqa: E501 (tables of exact texts)

from __future__ import annotations

import pytest

from automodel_nb.document import Document
from automodel_nb.errors import DocumentError

SETS = [
    # a value in place: quotes, comments and anchors stay
    ("slurm:\n  nodes: 2 # two\n", "slurm.nodes", 4, "slurm:\n  nodes: 4 # two\n"),
    ("slurm:\n  time: 10:00:00\n", "slurm.time", "04:00:00", "slurm:\n  time: 04:00:00\n"),
    ('slurm:\n  time: "10:00:00"\n', "slurm.time", "04:00:00", 'slurm:\n  time: "04:00:00"\n'),
    ("slurm: {time: '10:00:00' }\n", "slurm.time", "it's", "slurm: {time: 'it''s' }\n"),
    ("slurm:\n  a: &n 2\n  b: *n\n", "slurm.a", 3, "slurm:\n  a: &n 3\n  b: *n\n"),
    ("slurm:\n  a: &n 2\n  b: *n\n", "slurm.b", 3, "slurm:\n  a: &n 2\n  b: 3\n"),
    ("slurm: {a: x}\n", "slurm.a", "x, y", 'slurm: {a: "x, y"}\n'),
    ("slurm:\n  a: x\n", "slurm.a", "x, y", "slurm:\n  a: x, y\n"),
    ("slurm:\n  a: x\n", "slurm.a", "x: y", 'slurm:\n  a: "x: y"\n'),
    ("slurm:\n  a: x\n", "slurm.a", "null", 'slurm:\n  a: "null"\n'),
    ("slurm:\n  a: x\n", "slurm.a", None, "slurm:\n  a: null\n"),
    ("slurm:\n  a:   # none yet\n", "slurm.a", "x", "slurm:\n  a: x   # none yet\n"),
    ("slurm:\n  setup: | # said\n    x\n    y\n\n  b: 1\n", "slurm.setup", "z", "slurm:\n  setup: z # said\n\n  b: 1\n"),
    ("slurm:\n  setup: x\n", "slurm.setup", "a\nb: c\n", "slurm:\n  setup: |\n    a\n    b: c\n"),
    ("slurm:\r\n  setup: x\r\n", "slurm.setup", "a\nb", "slurm:\r\n  setup: |-\r\n    a\r\n    b\r\n"),
    ("slurm:\n  a: x # c\n", "slurm.a", "a\nb", 'slurm:\n  a: "a\\nb" # c\n'),
    ("slurm:\n  m:\n    - a\n    - b # c\n", "slurm.m.1", "z", "slurm:\n  m:\n    - a\n    - z # c\n"),
    # recipe values keep their type, since a loader reads them
    ("lr: x\nn: 1\n", "lr", "10", 'lr: "10"\nn: 1\n'),
    ("lr: 1\n", "lr", 1e-05, "lr: 1.0e-05\n"),
    # a new key
    ("slurm:\n  nodes: 2 # two\n\n# of model\nmodel: x\n", "slurm.qos", "high", "slurm:\n  nodes: 2 # two\n  qos: high\n\n# of model\nmodel: x\n"),
    ("slurm:\n    nodes: 2", "slurm.qos", "high", "slurm:\n    nodes: 2\n    qos: high"),
    ("slurm: {nodes: 2} # c\n", "slurm.qos", "high", "slurm: {nodes: 2, qos: high} # c\n"),
    ("slurm: {nodes: 2,}\n", "slurm.qos", "high", "slurm: {nodes: 2, qos: high}\n"),
    ("slurm: {}\n", "slurm.qos", "high", "slurm: {qos: high}\n"),
    ("slurm: # go\nmodel: x\n", "slurm.qos", "high", "slurm: # go\n  qos: high\nmodel: x\n"),
    ("slurm: ~ # go\n", "slurm.qos", "high", "slurm: # go\n  qos: high\n"),
    ("recipe: x\n", "slurm.env_vars.HF_TOKEN", "${HF_TOKEN}", 'recipe: x\nslurm:\n  env_vars:\n    HF_TOKEN: "${HF_TOKEN}"\n'),
    ("slurm:\n  setup: |+\n    x\n\nb: 1\n", "slurm.qos", "high", "slurm:\n  setup: |+\n    x\n\n  qos: high\nb: 1\n"),
    ("slurm:\n  a: |\n    x", "slurm.qos", "high", "slurm:\n  qos: high\n  a: |\n    x"),
    ("slurm:\n  m: [a]\n", ("slurm", "m", 1), "b", "slurm:\n  m: [a, b]\n"),
    ("slurm:\n  m:\n  - a\n  n: 1\n", ("slurm", "m", 1), {"source": "/a", "dest": "/b"}, "slurm:\n  m:\n  - a\n  - {source: /a, dest: /b}\n  n: 1\n"),
    ("slurm:\n  a: 1\n", "slurm.env_vars", {"A": "1", "B": "x"}, 'slurm:\n  a: 1\n  env_vars:\n    A: "1"\n    B: x\n'),
    ("slurm:\n  a: 1\n", "slurm.mounts", ["/a", "/b"], "slurm:\n  a: 1\n  mounts:\n    - /a\n    - /b\n"),
    ("slurm:\n  env_vars:\n    A: b\n  c: 1\n", "slurm.env_vars", "x", 'slurm:\n  env_vars: x\n  c: 1\n'),
    # what comes in through an alias or a merge key is overridden where it is used
    ("b: &b {nodes: 1}\nslurm: *b\n", "slurm.qos", "high", "b: &b {nodes: 1}\nslurm: {<<: *b, qos: high}\n"),
    ("b: &b {nodes: 1}\nslurm:\n  <<: *b\n", "slurm.nodes", 2, "b: &b {nodes: 1}\nslurm:\n  <<: *b\n  nodes: 2\n"),
    (
        "b: &b {env_vars: {A: yes}}\nslurm:\n  <<: *b\n",
        "slurm.env_vars.B",
        "c",
        "b: &b {env_vars: {A: yes}}\nslurm:\n  <<: *b\n  env_vars:\n    A: yes\n    B: c\n",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "path", "value", "after"), SETS)
def test_set(text: str, path: str, value: object, after: str) -> None:
    assert Document.parse(text).set(path, value).text == after


REMOVALS = [
    ("slurm:\n  nodes: 2 # two\n  qos: a\n", "slurm.nodes", "slurm:\n  qos: a\n"),
    ("slurm:\n  a: 1\n  # of b\n  b:\n    c: 1\n    # deep\n\n# of model\nmodel: x\n", "slurm.b", "slurm:\n  a: 1\n  # of b\n\n# of model\nmodel: x\n"),
    ("slurm: {a: 1, b: 2, c: 3}\n", "slurm.b", "slurm: {a: 1, c: 3}\n"),
    ("slurm: {a: 1, b: 2}\n", "slurm.b", "slurm: {a: 1}\n"),
    ("slurm:\n  a: 1\n", "slurm.a", "slurm:\n"),
    ("slurm:\n  m:\n    - a: 1\n      b: 2\n    - c\n", "slurm.m.0.a", "slurm:\n  m:\n    - b: 2\n    - c\n"),
    ("slurm:\n  m:\n    - a # 1\n    - b\n", "slurm.m.0", "slurm:\n  m:\n    - b\n"),
    ("slurm: {m: [a, b]}\n", "slurm.m.0", "slurm: {m: [b]}\n"),
    ("recipe: x\nslurm:\n  a: 1\n", "slurm", "recipe: x\n"),
    ("slurm: {a: 1}\n", "slurm.other", "slurm: {a: 1}\n"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "path", "after"), REMOVALS)
def test_remove(text: str, path: str, after: str) -> None:
    assert Document.parse(text).remove(path).text == after


def test_rename() -> None:
    assert Document.parse("a: {'x' : 1, y: 2} # c\n").rename("a.x", "z").text == "a: {'z' : 1, y: 2} # c\n"


REFUSALS = [
    ("slurm.a", "slurm:\n  a: &x [1]\nb: *x\n", "line 2, column 3: `slurm.a` cannot be changed in place: it holds an anchor that is used elsewhere (edit the text)"),
    ("slurm.a", "b: &b {a: 1}\nslurm: {<<: *b}\n", "line 1, column 8: `slurm.a` cannot be changed in place: it comes in through an alias or `<<` (edit the text)"),
    ("slurm", "slurm: {a: 1}\n", None),
]  # fmt: skip


@pytest.mark.parametrize(("path", "text", "message"), REFUSALS)
def test_what_cannot_be_removed_is_said(path: str, text: str, message: str | None) -> None:
    document = Document.parse(text)
    if message is None:
        assert document.remove(path).text == "{}\n"
        return
    with pytest.raises(DocumentError) as error:
        document.remove(path)
    assert str(error.value.findings[0]) == message


def test_a_value_within_a_value_is_refused() -> None:
    with pytest.raises(DocumentError, match=r"`slurm\.a\.b` cannot be changed in place"):
        Document.parse("slurm: {a: text}\n").set("slurm.a.b", 1)


def test_a_document_is_not_changed_by_its_edits() -> None:
    document = Document.parse("slurm: {a: 1}\n")
    edited = document.set("slurm.a", 2)
    assert (document.text, document.raw("slurm")) == ("slurm: {a: 1}\n", {"a": "1"})
    assert edited != document
    assert edited.set("slurm.a", 1) == document
