"""One state of the form: everything that undo brings back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from automodel_nb.editing.cells import Options
from automodel_nb.editing.sections import Kept
from automodel_nb.editing.sheet import Sheet
from automodel_nb.errors import DocumentError
from automodel_nb.findings import Finding
from automodel_nb.plan import Method

_BREAK = re.compile(r"\r\n|\r")


@dataclass(frozen=True)
class Refused:
    """A value that could not be written: what was typed (empty where it may be a secret), and why."""

    text: str
    finding: Finding


@dataclass(frozen=True)
class State:
    """One state of the form.

    Attributes:
        text: the YAML as typed; it need not be readable.
        readable: the last text that could be read, which the fields show.
        problem: why `text` cannot be read; None where it can.
        method: the chosen launch method.
        options: what the cell's first line says beside the method.
        kept: launcher sections that gave way to another method's, for the way back.
        refused: by dotted path, the last value that could not be written there.
    """

    text: str
    readable: str
    method: Method
    problem: Finding | None = None
    options: Options = field(default_factory=Options)
    kept: Mapping[Method, Kept] = field(default_factory=dict)
    refused: Mapping[str, Refused] = field(default_factory=dict)

    @property
    def sheet(self) -> Sheet:
        """`readable`, read: of a long past of states, only the last ones keep their trees."""
        return _sheet(self.readable)

    def read(self, text: str) -> State:
        """The state with another text."""
        try:
            sheet = _sheet(text)
        except DocumentError as error:
            return replace(self, text=text, problem=error.findings[0])
        return self.show(sheet)

    def show(self, sheet: Sheet, **changes: Any) -> State:
        """The state with another readable text."""
        return replace(self, text=sheet.text, readable=sheet.text, problem=None, **changes)

    def without_refusal(self, path: str) -> State:
        """The state after something at `path` was written."""
        if not self.refused:
            return self
        return replace(self, refused={name: why for name, why in self.refused.items() if not _within(name, path)})


_sheet = lru_cache(maxsize=16)(Sheet.parse)


def _within(name: str, path: str) -> bool:
    return name == path or name.startswith(f"{path}.")


def spliced(before: str, shown: str) -> str:
    r"""`before` with the change that was made to it in a text box, where every line ends in ``\n``.

    Only what lies between the first and the last character that differ is taken: a text box cannot hold CRLF.
    """
    lines = _BREAK.sub("\n", before)
    shown = _BREAK.sub("\n", shown)
    if lines == before:
        return shown
    head = _alike(lines, shown)
    tail = _alike(lines[head:][::-1], shown[head:][::-1])
    newline = "\r\n" if "\r\n" in before else "\r"
    new = shown[head : len(shown) - tail].replace("\n", newline)
    return before[: _at(before, head)] + new + before[_at(before, len(lines) - tail) :]


def _alike(one: str, other: str) -> int:
    """With how many of the same characters both begin."""
    return next(
        (index for index, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), min(len(one), len(other))
    )


def _at(text: str, index: int) -> int:
    """The index in `text` of a character that has this index where each line break is one character."""
    for found in re.finditer(r"\r\n", text):
        if found.start() >= index:
            break
        index += 1
    return index
