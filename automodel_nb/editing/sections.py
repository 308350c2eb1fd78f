"""The launcher section as a whole: begun, and exchanged for that of another method."""

from __future__ import annotations

import contextlib
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass

from automodel_nb.configs import LauncherConfig, fields
from automodel_nb.configs.templates import TEMPLATES
from automodel_nb.document import Document
from automodel_nb.document.encoding import block
from automodel_nb.editing.controls import native
from automodel_nb.editing.sheet import Plain, Sheet
from automodel_nb.errors import DocumentError
from automodel_nb.findings import Finding, Fix
from automodel_nb.plan import METHODS, Method


def begin(sheet: Sheet, method: Method, values: Mapping[str, object]) -> Sheet:
    """A section of `values` above all else, where a reader looks for it; in flow style where the document is in flow style.

    Raises:
        DocumentError: the text around it leaves no place where it could be written.
    """
    document, root = sheet.document, sheet.document.tree.root
    if root.entries and not root.flow_style:
        key, newline = root.entries[0].key, _newline(sheet.document)
        pad = " " * _indent(document)
        text = block(method, values, len(pad), 2, newline) + newline * 2 + pad
        with contextlib.suppress(DocumentError):
            return _only_section_changed(sheet, sheet.replace(key.head, key.head, text))
    return sheet.set(method, values)


@dataclass(frozen=True)
class Kept:
    """A section that gave way: its text at the left margin, and its values, for where that text does not fit back."""

    text: str
    values: Mapping[str, Plain]


def exchange(sheet: Sheet, method: Method, kept: Kept | None) -> tuple[Sheet, dict[Method, Kept]]:
    """The document with a section for `method` in place of the one that it has.

    Args:
        kept: the section that the document had before; None begins from the published one, with what all methods share
            taken over from the section that gives way.

    Returns:
        The document, and each section that gave way.

    Raises:
        DocumentError: a section cannot be taken out: the recipe uses an anchor of it.
    """
    document = sheet.document
    gone = {name: _kept(sheet, name) for name in METHODS if name in document.sections}
    shared = {key: value for section in gone.values() for key, value in section.values.items() if key in COMMON}
    new = kept or _kept(with_common(method, shared) if gone else published(method), method)
    if gone and not document.tree.root.flow_style:
        with contextlib.suppress(DocumentError):
            after = _in_place(sheet, list(gone), new.text)
            if after.raw(method) == new.values:  # at another place, a text may read differently
                return after, gone
    rest = sheet
    for name in gone:
        rest = rest.remove(name)
    docs = {doc.name: doc for doc in fields(method)}
    return begin(rest, method, {key: native(docs.get(key), value) for key, value in new.values.items()}), gone


def _in_place(sheet: Sheet, present: list[Method], new: str) -> Sheet:
    document = sheet.document
    first = document.sections[present[0]]
    old, newline = document.text[first.start : first.end], _newline(document)
    pad = " " * _indent(document)
    lines = newline.join(pad + line if line.strip() else line for line in new.rstrip().splitlines())
    after = sheet.replace(first.start, first.end, lines + (old[len(old.rstrip()) :] or newline))
    for name in present[1:]:
        after = after.remove(name)
    return _only_section_changed(sheet, after)


def with_common(method: Method, shared: dict[str, Plain]) -> Sheet:
    """The published section of a method alone, with these common fields in place of its own."""
    sheet = published(method)
    docs = {doc.name: doc for doc in fields(method)}
    for name in COMMON:
        if name not in shared:
            sheet = sheet.remove((method, name))
        elif sheet.raw((method, name)) != shared[name]:
            sheet = sheet.set((method, name), native(docs[name], shared[name]))
    return sheet


def published(method: Method) -> Sheet:
    """The published section alone."""
    sheet = Sheet.parse(TEMPLATES[method])
    return Sheet.parse(_kept(sheet, method).text)


#: Fields that move from one method's section to the next: what all have, but for what is true of one place only.
COMMON = tuple(name for name in LauncherConfig.model_fields if name not in ("python", "master_port"))


def _only_section_changed(before: Sheet, after: Sheet) -> Sheet:
    if repr(before.document.recipe()) != repr(after.document.recipe()):
        fix = Fix("edit the YAML")
        raise DocumentError([Finding("edit", "error", "the launcher section cannot be exchanged in place", fix=fix)])
    return after


def _kept(sheet: Sheet, method: Method) -> Kept:
    section, values = sheet.document.sections[method], sheet.raw(method)
    text = textwrap.dedent(sheet.text_between(section.start, section.end)).rstrip() + "\n"
    return Kept(text, values if isinstance(values, dict) else {})


def _indent(document: Document) -> int:
    """How far the document's keys are indented."""
    place = document.place((document.tree.root.entries[0].name,), key=True)
    return place[1] - 1 if place else 0


def _newline(document: Document) -> str:
    text = document.text
    return "\r\n" if "\r\n" in text else "\r" if "\r" in text and "\n" not in text else "\n"
