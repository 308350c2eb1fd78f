"""Strict reading: what is accepted, where things stand, and the one line for each mistake."""

from __future__ import annotations

import copy
import pickle
import time

import pytest

from automodel_nb.document import Document, Scalar, plain
from automodel_nb.document.reading import MAX_CHARACTERS
from automodel_nb.errors import DocumentError
from automodel_nb.findings import Finding

BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12)
)

MISTAKES = [
    ("", "the text holds no YAML (start from a template: %automodel_new interactive)"),
    ("# only a comment\n", "the text holds no YAML (start from a template: %automodel_new interactive)"),
    (
        "recipe: a\nrecipe: b\n",
        "line 2, column 1: `recipe` stands twice in one mapping; the first is 1 line above (remove one of them)",
    ),
    (
        "m:\n  - {x: 1, 'x': 2}\n",
        "line 2, column 12: `x` stands twice in one mapping; the first is on the same line (remove one of them)",
    ),
    ("slurm:\n\tnodes: 2\n", "line 2, column 1: a tab indents this line (indent with spaces)"),
    (
        "a: 1\t\nb: 2\n",
        "line 1, column 5: a tab stands here, outside of a quoted value (use a space, or delete it at the end of a line)",
    ),
    (
        "a: 1\n---\nb: 2\n",
        "line 2, column 1: a second document starts here; a launch is one document (remove it, with its `---`)",
    ),
    ("- a\n- b\n", "line 1, column 1: the document is a list, not a mapping (write `key: value` lines)"),
    ("finetune\n", "line 1, column 1: the document is a single value, not a mapping (write `key: value` lines)"),
    ("recipe Foo\nmodel: x\n", "line 1, column 1: this line is no `key: value` (add the `:`, or a quote that closes above)"),
    ("slurm:\n  nodes:2\n  time: 1\n", "line 2, column 9: a space is missing behind this `:` (write `key: value`)"),
    ("a: 1\n  b: 2\n", "line 2, column 3: this line is indented deeper than its neighbour above (indent it the same)"),
    ("setup: pip: x\n", "line 1, column 11: a second `: ` on this line (quote the value that holds it)"),
    (
        "a:\n  b: 1\n c: 2\n",
        "line 3, column 2: this line is indented differently from its neighbours, or something follows a closed value "
        "(indent it as the lines it belongs to)",
    ),
    ("a: 'x\n", "line 1, column 4: the quote that opens here is never closed (close it)"),
    (
        "a: {b: 1\nc: 2\n",
        "line 1, column 4: the `{` that opens here is not closed, or a `,` is missing in it (close it with `}`)",
    ),
    ("a: [1, 2\n", "line 1, column 4: the `[` that opens here is not closed, or a `,` is missing in it (close it with `]`)"),
    ("a: @x\n", "line 1, column 4: a value cannot start with `@` (quote it)"),
    ('a: "\\d"\n', "line 1, column 6: this `\\` starts no escape that double quotes know (use single quotes, or `\\\\`)"),
    ("a: *x\n", "line 1, column 4: `*x` names no anchor above it (put `&x` before the value meant, or quote the text)"),
    ("a: &x [*x]\n", "line 1, column 8: `*x` stands inside what `&x` names: it would never end (write the value out)"),
    ("a: &x 1\nb: &x 2\n", "line 2, column 4: `&x` stands twice; the first is 1 line above (rename one)"),
    ("{{ x }}: 1\n", "line 1, column 2: a list or a mapping cannot be a key (quote the text if braces are meant as text)"),
    ("<<: 5\n", "line 1, column 5: `<<` takes a mapping, or a list of mappings (write `<<: *name` of an anchored mapping)"),
    ("a: x\0\n", "line 1, column 5: U+0000 is a control character, which YAML does not allow (delete it)"),
    ('slurm: {a: "\\0"}\n', "line 1, column 12: U+0000 cannot stand in a launcher field (remove it)"),
    (
        "slurm: {a: !!python/name:os.system x}\n",
        "line 1, column 12: the tag `!!python/name:os.system` means nothing here (remove it)",
    ),
    ("a: " + "[" * 60_000, "line 1, column 68: more than 64 levels, one in another (nest less)"),
    ("? " * 30_000, "line 1, column 129: more than 64 levels, one in another (nest less)"),
    (BOMB, "line 5, column 10: the text up to here holds more than 10000 values (use fewer aliases)"),
    ("a: [" + "1," * 30_000, "line 1, column 19999: the text up to here holds more than 10000 values (put data into files)"),
    ("a: " + "x" * MAX_CHARACTERS, "the text has 65539 characters, 65536 are read (put data into files)"),
]


def mistake(text: str) -> Finding:
    with pytest.raises(DocumentError) as error:
        Document.parse(text)
    (finding,) = error.value.findings
    return finding


@pytest.mark.parametrize(("text", "line"), MISTAKES, ids=[text[:24] for text, _ in MISTAKES])
def test_a_mistake_is_one_line_within_a_second(text: str, line: str) -> None:
    start = time.process_time()
    assert str(mistake(text)) == line
    assert time.process_time() - start < 1


def test_a_mistake_names_its_file() -> None:
    with pytest.raises(DocumentError, match=r"^conf/a\.yaml, line 2, column 1: `a` stands twice"):
        Document.parse("a: 1\na: 2\n", "conf/a.yaml")


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\r\nslurm:\r\n  nodes: 2\r\n",
        "\ufeffa: 1\nslurm:\n  nodes: 2\n",
        "a: 😀\x85\n\nslurm:\n  nodes: 2\n",
        "a: 1\rslurm:\r  nodes: 2\r",
    ],
)
def test_places_are_those_of_an_editor(text: str) -> None:
    document = Document.parse(text)
    line = 4 if "\x85" in text else 3
    assert document.place("slurm.nodes") == (line, 10)
    assert document.place("slurm.nodes", key=True) == (line, 3)
    assert document.place("a", key=True) == (1, 1)
    assert document.place("slurm.time") is None


def test_launcher_fields_are_the_text_as_typed() -> None:
    document = Document.parse(
        "slurm:\n  time: 10:00:00\n  nodes: '2'\n  on: yes\n  e: 1e-5\n  n: ~\n  empty:\n  quoted: ''\n  list: [0123, {a: b}]\n"
    )
    fields = plain(document.sections["slurm"].node)
    assert fields == {
        "time": "10:00:00",
        "nodes": "2",
        "on": "yes",
        "e": "1e-5",
        "n": None,
        "empty": None,
        "quoted": "",
        "list": ["0123", {"a": "b"}],
    }
    assert isinstance(fields, dict)
    time_, nodes = fields["time"], fields["nodes"]
    assert isinstance(time_, Scalar)
    assert isinstance(nodes, Scalar)
    assert (time_.line, time_.column, time_.quoted) == (2, 9, False)
    assert (nodes.line, nodes.column, nodes.quoted) == (3, 10, True)
    key = next(iter(fields))
    assert isinstance(key, Scalar)
    assert (key.line, key.column) == (2, 3)
    moved = time_.replaced("x")
    assert (moved, moved.line, moved.column) == ("x", 2, 9)
    assert type(copy.deepcopy(time_)) is type(pickle.loads(pickle.dumps(time_))) is str


def test_aliases_and_merge_keys_are_resolved() -> None:
    document = Document.parse(
        "base: &b {nodes: 1, qos: low}\nmore: &m {qos: high, x: 1}\nslurm:\n  <<: [*b, *m]\n  nodes: 2\n  a: *b\n"
    )
    assert document.raw("slurm") == {"qos": "low", "x": "1", "nodes": "2", "a": {"nodes": "1", "qos": "low"}}
    assert document.place("slurm.qos") == (1, 26)
    assert document.place("slurm.a") == (6, 6)
    copied = document.recipe()
    assert copied["base"] == {"nodes": 1, "qos": "low"}


def test_values_for_checks_are_safe_loads() -> None:
    document = Document.parse("a: 10:00:00\nb: on\nc: 1e-5\nd: [1, {e: !mine x}]\n1: one\nslurm: {x: 1}\n")
    assert document.recipe() == {"a": 36000, "b": True, "c": "1e-5", "d": [1, {"e": "x"}], "1": "one"}
    assert document.value("d.1.e") == "x"
    assert document.value(("d", 0)) == 1
    assert document.value("d.7") is None
    assert document.node("nothing.here") is None


@pytest.mark.parametrize("text", ["%YAML 1.1\n---\na: 1\n...\n", "---\na: 1\n", "{a: 1}", "!!map {a: 1}", "&r\na: 1"])
def test_other_ways_to_write_a_mapping(text: str) -> None:
    assert Document.parse(text).recipe() == {"a": 1}


def test_a_usual_recipe_is_read_fast() -> None:
    text = "".join(
        f"section_{i}:\n  _target_: some.module.Class\n  lr: 1e-5 # tuned\n  betas: [0.9, 0.95]\n" for i in range(30)
    )
    start = time.process_time()
    Document.parse(text)
    assert time.process_time() - start < 0.3
