"""``{{ name }}`` in the launcher section: a value from the notebook, encoded as YAML."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from numbers import Integral, Real

from automodel_nb.document import SECTIONS, Document
from automodel_nb.document.encoding import inline, printable, quote, scalar
from automodel_nb.document.mistakes import mistake
from automodel_nb.document.nodes import Items, Leaf, Table, Use
from automodel_nb.document.scanning import Places
from automodel_nb.errors import DocumentError

_BRACES = re.compile(r"\{\{([^{}\r\n]*)\}\}")
_NAME = re.compile(r"[^\W\d]\w*")
_PROPERTIES = re.compile(r"(?:[&!]\S*(?:\s+(?:#[^\r\n]*)?)*)*")
_STAND_INS = 0xF0000  # a plane of characters that no text holds, wide enough for any text that is read
_DEEPEST = 16


def fill_names(text: str, namespace: Mapping[str, object], source: str = "cell") -> str:
    """Put values of the notebook in place of ``{{ name }}`` in the launcher sections; the recipe's braces stay.

    A value alone becomes a YAML value on one line; within a longer text it becomes text. Comments are left alone.

    Raises:
        DocumentError: an unknown name, with the nearest known one; an expression; a value that is no YAML; text that
            cannot be read.
    """
    found = {chr(_STAND_INS + index): match for index, match in enumerate(_BRACES.finditer(text))}
    return _Filling(text, found, namespace, source).filled() if found else text


class _Filling:
    """Each ``{{ … }}`` gives way to a stand-in of the same length, so that the text can be read with every place true."""

    def __init__(self, text: str, found: Mapping[str, re.Match[str]], namespace: Mapping[str, object], source: str) -> None:
        self.text, self.found, self.namespace, self.source = text, found, namespace, source
        self.places = Places(text)
        self.masked = text
        for character, match in found.items():
            self.masked = self.masked[: match.start()] + character * len(match.group()) + self.masked[match.end() :]

    def filled(self) -> str:
        try:
            root = Document.parse(self.masked, self.source).tree.root
        except DocumentError as error:
            raise DocumentError(
                [replace(finding, message=self._as_typed(finding.message)) for finding in error.findings]
            ) from None
        sections = [entry.value for entry in root.entries if entry.name in SECTIONS]
        edits = [edit for section in sections for use, leaf in _leaves(section) for edit in self._edits(use, leaf)]
        result = self.text
        for start, stop, new in sorted(edits, reverse=True):
            result = result[:start] + new + result[stop:]
        return result

    def _as_typed(self, message: str) -> str:
        for character, match in self.found.items():
            message = message.replace(character * len(match.group()), match.group())
        return message

    def _edits(self, use: Use, leaf: Leaf) -> Iterator[tuple[int, int, str]]:
        inside = [(self.found[mark], mark) for mark in dict.fromkeys(leaf.value) if mark in self.found]
        if not inside:
            return
        properties = _PROPERTIES.match(self.masked, use.start)
        start = properties.end() if properties else use.start
        match, mark = inside[0]
        if leaf.style is None and leaf.value == mark * len(match.group()):
            yield start, use.stop, inline(self._value(match))
            return
        texts = [(match, mark, self._text(match)) for match, mark in inside]
        if all(_fits(text, leaf.style) for _, _, text in texts):
            for match, _, text in texts:
                yield match.start(), match.end(), _within(text, leaf.style)
            return
        whole = leaf.value
        for match, mark, text in texts:
            whole = whole.replace(mark * len(match.group()), text)
        yield start, use.stop, scalar(whole) if leaf.style is None else quote(whole)

    def _text(self, match: re.Match[str]) -> str:
        value = self._value(match)
        if isinstance(value, str):
            return value
        if value is None or isinstance(value, list | dict):
            kind = "None" if value is None else "a list" if isinstance(value, list) else "a mapping"
            raise self._mistake(match, f"`{match.group()}` is {kind}, which cannot stand within a text", "let it stand alone")
        return scalar(value)

    def _value(self, match: re.Match[str]) -> object:
        name = match.group(1).strip()
        if not _NAME.fullmatch(name):
            raise self._mistake(
                match, f"`{match.group()}` is no name", "assign it to a variable in a cell above, and write that name"
            )
        if name not in self.namespace:
            near = get_close_matches(name, [known for known in self.namespace if not known.startswith("_")], 1)
            fix = f"did you mean `{near[0]}`?" if near else "assign it in a cell above"
            raise self._mistake(match, f"the notebook has no variable `{name}`", fix)
        try:
            return _data(self.namespace[name])
        except TypeError as error:
            raise self._mistake(match, f"`{name}` {error}", "take text, a number, a list or a mapping of these") from None

    def _mistake(self, match: re.Match[str], message: str, fix: str) -> DocumentError:
        line, column = self.places(match.start())
        return mistake("names", message, source=self.source, line=line, column=column, fix=fix)


def _leaves(use: Use) -> Iterator[tuple[Use, Leaf]]:
    """Every scalar that is written inside of this occurrence, keys included."""
    if use.alias is not None:
        return
    if isinstance(use.node, Leaf):
        yield use, use.node
    elif isinstance(use.node, Items):
        for item in use.node.items:
            yield from _leaves(item)
    elif isinstance(use.node, Table):
        for entry in use.node.entries:
            yield from _leaves(entry.key)
            yield from _leaves(entry.value)


def _fits(text: str, style: str | None) -> bool:
    """Whether the text can be written into a scalar of that style as it is."""
    if style == '"':
        return True
    return style is not None and bool(text) and text == text.strip() and printable(text)


def _within(text: str, style: str | None) -> str:
    if style == '"':
        return quote(text)[1:-1]
    return text.replace("'", "''") if style == "'" else text


def _data(value: object, depth: int = 0) -> object:
    """A notebook's value as what YAML has.

    Raises:
        TypeError: it is nothing that YAML has.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
            raise TypeError("holds half a character (a lone surrogate)")
        return str(value)
    if isinstance(value, os.PathLike):
        return _data(os.fspath(value))
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    if depth > _DEEPEST:
        raise TypeError("is nested too deep")
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {str(key): _data(item, depth + 1) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview | range):
        return [_data(item, depth + 1) for item in value]
    raise TypeError(f"is of type {type(value).__name__}, which is no YAML value")
