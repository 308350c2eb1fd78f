"""The form's text: a document in which ``{{ name }}`` is a value like any other."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from automodel_nb.document import Document, Path, RawValue
from automodel_nb.errors import DocumentError

Plain = dict[str, "Plain"] | list["Plain"] | str | None

_BRACES = re.compile(r"\{\{[^{}\r\n]*\}\}")
_STAND_INS = 0xF0000  # a plane of characters that no text holds, wide enough for any text that is read


@dataclass(frozen=True)
class Sheet:
    """Text that can be read, immutable.

    YAML takes ``nodes: {{ n }}`` for a mapping in a mapping. So each such name gives way to a stand-in of the same length
    while the text is read and edited: every place stays true, and what comes out has the names again.

    Attributes:
        document: of the text with stand-ins.
        names: stand-in to what stood there.
    """

    document: Document
    names: Mapping[str, str]

    @classmethod
    def parse(cls, text: str) -> Sheet:
        """Read a cell's text.

        Raises:
            DocumentError: with line, column and what to type.
        """
        names = _names(text, {})
        try:
            return cls(Document.parse(_masked(text, names)), names)
        except DocumentError as error:
            raise _as_typed(error, names) from None

    @property
    def text(self) -> str:
        """The text, as typed."""
        return _unmasked(self.document.text, self.names)

    def text_between(self, start: int, end: int) -> str:
        """The text, as typed, from one character of the document to another."""
        return _unmasked(self.document.text[start:end], self.names)

    def raw(self, path: Path) -> Plain:
        """The value at `path` as nested dict, list and text; None for null and for nothing."""
        return self._plain(self.document.raw(path))

    def has(self, path: Path) -> bool:
        """Whether there is something at `path`, null included."""
        return self.document.use(path) is not None

    def line(self, path: Path) -> int | None:
        """1-based line of the value's key; for an item of a list, of the item."""
        place = self.document.place(path, key=True)
        return place[0] if place else None

    def set(self, path: Path, value: object) -> Sheet:
        """Write a value; see `Document.set`."""
        names = _names(value, self.names)
        return self._edited(names, lambda document: document.set(path, _masked(value, names)))

    def remove(self, path: Path) -> Sheet:
        """Take a value out; see `Document.remove`."""
        return self._edited(self.names, lambda document: document.remove(path))

    def rename(self, path: Path, name: str) -> Sheet:
        """Write another key; see `Document.rename`."""
        return self._edited(self.names, lambda document: document.rename(path, name))

    def replace(self, start: int, end: int, text: str) -> Sheet:
        """These characters of the document replaced."""
        names = _names(text, self.names)
        return self._edited(names, lambda document: document.replace(start, end, str(_masked(text, names))))

    def _edited(self, names: Mapping[str, str], edit: Callable[[Document], Document]) -> Sheet:
        try:
            return Sheet(edit(self.document), names)
        except DocumentError as error:
            raise _as_typed(error, names) from None

    def _plain(self, value: RawValue) -> Plain:
        if isinstance(value, dict):
            return {_unmasked(str(key), self.names): self._plain(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._plain(item) for item in value]
        return None if value is None else _unmasked(str(value), self.names)


def _names(value: object, known: Mapping[str, str]) -> Mapping[str, str]:
    """`known`, and a stand-in for each further name that stands in a value."""
    if isinstance(value, Mapping):
        for item in value.values():
            known = _names(item, known)
    elif isinstance(value, list | tuple):
        for item in value:
            known = _names(item, known)
    elif isinstance(value, str):
        new = [text for text in dict.fromkeys(_BRACES.findall(value)) if text not in known.values()]
        known = {**known, **{chr(_STAND_INS + len(known) + index): text for index, text in enumerate(new)}}
    return known


def _masked(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, Mapping):
        return {key: _masked(item, names) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_masked(item, names) for item in value]
    if isinstance(value, str) and "{{" in value:
        stand_ins = {text: character for character, text in names.items()}
        return _BRACES.sub(lambda found: stand_ins[found.group()] * len(found.group()), value)
    return value


def _unmasked(text: str, names: Mapping[str, str]) -> str:
    for character, name in names.items():
        text = text.replace(character * len(name), name)
    return text


def _as_typed(error: DocumentError, names: Mapping[str, str]) -> DocumentError:
    return DocumentError(replace(finding, message=_unmasked(finding.message, names)) for finding in error.findings)
