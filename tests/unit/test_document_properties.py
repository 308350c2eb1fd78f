"""What holds for every document of the grammar."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from automodel_nb.document import SECTIONS, Document, Scalar
from automodel_nb.document.nodes import Items, Leaf, Table
from automodel_nb.document.published import published_keys
from automodel_nb.errors import DocumentError

from .yaml_strategies import FIELDS, TEXT, documents

T = TypeVar("T")
Path = tuple[str | int, ...]
COUNT = int(os.environ.get("AUTOMODEL_NB_EXAMPLES", "3000" if os.environ.get("SOAK") else "100"))
many = settings(max_examples=COUNT)
VALUES = st.one_of(
    TEXT,
    st.integers(-9, 10**12),
    st.booleans(),
    st.floats(allow_nan=False),
    st.dictionaries(TEXT, st.one_of(TEXT, st.lists(TEXT, max_size=2)), min_size=1, max_size=2),
    st.lists(TEXT, min_size=1, max_size=2),
    st.sampled_from(
        [
            "04:00:00",
            "${HF_TOKEN}",
            'it\'s "x": y # z',
            "",
            " ",
            "null",
            "~",
            "yes",
            "a\nb\n",
            "a\n\n  b",
            "---",
            "- a",
            "\t",
            "é\u2028",
        ]
    ),
)


def safe_load(text: str | None) -> dict[object, object]:
    data = yaml.safe_load(text or "")
    assert isinstance(data, dict)
    return data


def unless(call: Callable[[], T], *codes: str) -> T | None:
    """The call's result; None where it is refused for one of the reasons that a user can meet."""
    try:
        return call()
    except DocumentError as error:
        if [finding.code for finding in error.findings] in [[code] for code in codes]:
            return None
        raise


def read(text: str) -> Document:
    """The document, where AutoModel's loader reads the text too."""
    try:
        yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):
        assume(False)
    return Document.parse(text)


@many
@given(documents(at_most=2))
def test_reads_what_safe_load_reads(text: str) -> None:
    document = read(text)
    data = safe_load(text)
    recipe = {key: value for key, value in data.items() if key not in SECTIONS}
    assert repr(list(document.recipe().values())) == repr(list(recipe.values()))
    assert set(document.sections) == {key for key in data if key in SECTIONS}


@many
@given(documents(at_most=2))
def test_recipe_is_the_text_less_the_sections(text: str) -> None:
    document = read(text)
    recipe = unless(lambda: document.recipe_text, "anchor-in-section")
    assume(recipe is not None)
    if not document.recipe_findings:
        rest, at = "", 0
        for section in sorted(document.sections.values(), key=lambda section: section.start):
            rest, at = rest + text[at : section.start], max(at, section.end)
        assert recipe == rest + text[at:]
    wanted = {key: value for key, value in safe_load(text).items() if key not in SECTIONS}
    if wanted:
        assert repr(safe_load(recipe)) == repr(wanted)


def paths(document: Document) -> list[tuple[str | int, ...]]:
    """Every path inside of the launcher sections, and one new key for each mapping."""
    found: list[tuple[str | int, ...]] = []

    def walk(path: tuple[str | int, ...], value: object) -> None:
        if isinstance(value, dict):
            found.append((*path, "new_key"))
            for key, item in value.items():
                found.append((*path, str(key)))
                walk(found[-1], item)
        elif isinstance(value, list):
            found.append((*path, len(value)))
            for index, item in enumerate(value):
                found.append((*path, index))
                walk(found[-1], item)

    for name in SECTIONS:
        found.append((name, "other_key"))
        found.append((name, "env_vars", "NAME"))
        walk((name,), document.raw(name))
    return found


def common(one: str, other: str) -> int:
    """How many characters are the same from the start."""
    return next(
        (index for index, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), min(len(one), len(other))
    )


def only_inserted(before: str, after: str) -> bool:
    """Whether `after` is `before` with one insertion."""
    return common(before, after) + common(before[::-1], after[::-1]) >= len(before)


def own(document: Document, path: Path) -> bool:
    """Whether what holds the path's end is written in place, not through an alias or ``<<``."""
    return all(
        isinstance(use.node, Table | Items)
        and use.alias is None
        and (isinstance(use.node, Items) or use.node.own(str(path[at])) is not None or at == len(path) - 1)
        for at in range(len(path))
        if (use := document.use(path[:at]))
    )


@many
@given(documents(at_most=2), st.data(), VALUES)
def test_an_edit_changes_its_value_and_nothing_else(text: str, data: st.DataObject, value: object) -> None:
    document = read(text)
    path = data.draw(st.sampled_from(paths(document)))
    holders = [document.node(path[:at]) for at in range(len(path))]
    assume(all(holder is None or isinstance(holder, yaml.CollectionNode) or holder.tag.endswith(":null") for holder in holders))
    assume(
        not any(
            isinstance(holder, yaml.SequenceNode) and isinstance(part, str) for holder, part in zip(holders, path, strict=True)
        )
    )
    use = document.use(path)
    edited = unless(lambda: document.set(path, value), "edit" if use and "&" in text[use.start : use.stop] else "")
    assume(edited is not None)
    assert edited is not None
    if isinstance(value, str | dict | list):
        assert edited.raw(path) == value
    else:
        assert (type(edited.value(path)), edited.value(path)) == (type(value), value)
    if not own(document, path):
        return
    if use is None:
        assert only_inserted(text, edited.text) or document.node(path[:-1]) is None or document.raw(path[:-1]) is None
    elif isinstance(use.node, Leaf) and use.start == use.stop:  # nothing stands there yet, as behind `? nodes # a comment`
        assert only_inserted(text, edited.text)
    elif isinstance(use.node, Leaf):
        assert edited.text.startswith(text[: use.start])
        assert edited.text.endswith(text[use.stop :])
        if use.node.style in ("|", ">") and use.alias is None:
            assert edited.text.count("# said of the text") == text.count("# said of the text")


def test_a_value_behind_an_explicit_key() -> None:
    text = "slurm:\n  ? nodes # a comment\nmodel: 4\n"
    assert read(text).set("slurm.nodes", 2).text == "slurm:\n  ? nodes # a comment\n  : 2\nmodel: 4\n"


@many
@given(documents(at_most=2), st.data())
def test_removing_takes_one_member_out(text: str, data: st.DataObject) -> None:
    document = read(text)
    path = data.draw(st.sampled_from(paths(document)))
    after = unless(lambda: document.remove(path), "edit")
    assume(after is not None)
    assert after is not None
    before, left = document.raw(path[:-1]), after.raw(path[:-1])
    if isinstance(before, dict):
        assert (left or {}) == {key: item for key, item in before.items() if key != path[-1]}
    elif isinstance(before, list):
        assert (left or []) == [item for index, item in enumerate(before) if index != path[-1]]
    assert only_inserted(after.text, text) or after.text.count("{}") + after.text.count("[]") > text.count("{}") + text.count(
        "[]"
    )


@many
@given(documents(at_most=2), st.data())
def test_broken_text_gives_our_error_only(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 6)))
    broken = (
        text[:start]
        + data.draw(st.sampled_from(["", "\t", "{", "}", "'", '"', ": ", "\n", "- ", "&a1 ", "*a1 ", "!!x ", "\0", "? ", "| "]))
        + text[end:]
    )
    calls: tuple[Callable[[Document], object], ...] = (
        Document.recipe,
        Document.raw,
        published_keys,
        lambda document: document.set("slurm.nodes", 4),
        lambda document: document.remove("slurm"),
    )
    for call in calls:
        try:
            call(Document.parse(broken))
        except DocumentError as error:
            lines = [str(finding).splitlines() for finding in error.findings]
        else:
            continue
        assert [len(line) for line in lines] == [1]


@many
@given(documents(at_most=2))
def test_places_are_an_editors(text: str) -> None:
    document = read(text)
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    stack = [document.raw()]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            stack += [*value, *value.values()]
        elif isinstance(value, list):
            stack += value
        elif isinstance(value, Scalar) and value and not value.quoted and value.node.anchor is None and "\n" not in value:
            at = lines[value.line - 1][value.column - 1 :]
            assert at.startswith((value.split()[0], "*"))


@pytest.mark.parametrize("name", FIELDS)
def test_strategy_field_names_can_be_set(name: str) -> None:
    assert Document.parse("slurm:\n").set(("slurm", name), "x").raw("slurm") == {name: "x"}
