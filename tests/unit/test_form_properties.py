"""The form over any document of the grammar and any edit: the value is there, the rest is as it was, undo brings all back."""

from __future__ import annotations

import os

import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from automodel_nb import configs
from automodel_nb.document.nodes import Leaf, Table
from automodel_nb.editing.form import Form
from automodel_nb.editing.state import spliced
from automodel_nb.errors import LaunchError
from automodel_nb.plan import METHODS

from .yaml_strategies import TEXT, documents

COUNT = int(os.environ.get("AUTOMODEL_NB_EXAMPLES", "100"))
many = settings(max_examples=COUNT)
NAMES = sorted({doc.name for method in METHODS for doc in configs.fields(method)})
SCALARS = st.one_of(
    TEXT.filter(bool),
    st.integers(0, 10**6),
    st.booleans(),
    st.sampled_from(
        ["04:00:00", "1-0", "${HF_TOKEN}", 'it\'s "x": y # z', "null", "~", "yes", "a\nb\n", "- a", "{{ n }}", "c: d"]
    ),
)
VALUES = st.one_of(
    SCALARS, st.lists(SCALARS, max_size=3), st.dictionaries(st.sampled_from(["A", "B_1", "c"]), SCALARS, max_size=3)
)


def opened(text: str) -> Form:
    try:
        yaml.safe_load(text)
        return Form(text)
    except (yaml.YAMLError, ValueError, LaunchError):
        assume(False)
        raise


def lines_of(text: str) -> list[str]:
    """Its lines but for blank ones, of which one goes or comes with a section."""
    return [line for line in text.splitlines() if line.strip()]


def as_text(value: object) -> object:
    """A value as the form gives it back: text, in whatever nesting."""
    if isinstance(value, dict):
        return {key: as_text(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_text(item) for item in value]
    return str(value).lower() if isinstance(value, bool) else str(value)


@many
@given(documents(), st.sampled_from(NAMES), VALUES)
def test_an_edit_of_any_field(text: str, name: str, value: object) -> None:
    form = opened(text)
    assume(name in {doc.name for doc in configs.fields(form.method)})
    keys, before = (form.method, name), form.state.sheet
    recipe = before.document.recipe()
    refused = False
    try:
        form.set(keys, value)
    except LaunchError:
        refused = True
    if refused:
        assert form.yaml == text
        assert ".".join(keys) in form.state.refused
        return
    after = form.state.sheet
    assert after.raw(keys) == as_text(value)
    if "&" not in text:  # the aliases of an edited anchor follow it
        assert repr(after.document.recipe()) == repr(recipe)
        if not before.document.tree.root.flow_style:
            assert lines_of(after.document.recipe_text) == lines_of(before.document.recipe_text)
    use, section = before.document.use(keys), before.document.use((form.method,))
    in_place = section is not None and section.alias is None and isinstance(section.node, Table) and section.node.own(name)
    if use is not None and isinstance(use.node, Leaf) and in_place:
        assert form.yaml.startswith(text[: use.start])
        assert form.yaml.endswith(text[use.stop :])
    written = form.yaml
    if written == text:
        return
    form.undo()
    assert form.yaml == text
    form.redo()
    assert form.yaml == written


@many
@given(documents(), st.sampled_from(METHODS))
def test_another_method_and_back(text: str, method: str) -> None:
    form = opened(text)
    before, recipe = form.state, form.state.sheet.document.recipe()
    try:
        form.choose(method)  # type: ignore[arg-type]
    except LaunchError:
        assert form.state is before
        return
    assert form.method == method
    assert len(form.state.sheet.document.sections) <= 1
    assert repr(form.state.sheet.document.recipe()) == repr(recipe)
    form.undo()
    assert form.yaml == text
    form.redo()
    if before.method in before.sheet.document.sections:
        form.choose(before.method)
        assert (form.state.sheet.raw(before.method) or {}) == (before.sheet.raw(before.method) or {})


@many
@given(documents(), st.data())
def test_typing_into_the_text_keeps_every_other_byte(text: str, data: st.DataObject) -> None:
    shown = text.replace("\r\n", "\n")
    start = data.draw(st.integers(0, len(shown)))
    end = data.draw(st.integers(start, min(len(shown), start + 8)))
    typed = shown[:start] + data.draw(st.sampled_from(["", "x", "\n", "a: 1\n", "#", "é"])) + shown[end:]
    after = spliced(text, typed)
    assert after.replace("\r\n", "\n") == typed
    lines, kept = text.split("\n"), after.split("\n")
    head, tail = shown[:start].count("\n"), shown[end:].count("\n")
    assert kept[:head] == lines[:head]
    assert tail == 0 or kept[-tail:] == lines[-tail:]


@many
@given(documents(), st.lists(st.tuples(st.sampled_from(NAMES), SCALARS), max_size=6), st.data())
def test_any_edits_are_undone_to_the_first_text(text: str, edits: list[tuple[str, object]], data: st.DataObject) -> None:
    form = opened(text)
    for name, value in edits:
        method = data.draw(st.sampled_from(METHODS))
        try:
            if data.draw(st.booleans()):
                form.set((method, name), value)
            else:
                form.write(form.yaml.replace("\r\n", "\n") + f"\nx{data.draw(st.integers(0, 9))}: [")
        except LaunchError:
            continue
    last = form.yaml
    while form.can_undo:
        form.undo()
    assert form.yaml == text
    while form.can_redo:
        form.redo()
    assert form.yaml == last
