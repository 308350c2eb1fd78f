"""What the form shows of each field: its value, where that comes from, what is wrong with it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from automodel_nb.api import read_text
from automodel_nb.configs import FieldDoc
from automodel_nb.configs import fields as field_docs
from automodel_nb.editing.controls import Control, control, in_words
from automodel_nb.editing.sheet import Plain, Sheet
from automodel_nb.editing.state import State
from automodel_nb.errors import LaunchError
from automodel_nb.findings import Finding
from automodel_nb.profiles import KEYED, defaults, over


@dataclass(frozen=True)
class Inherited:
    """A value that the document need not give: out of a profile, or out of the file that the cell is launched with."""

    value: Plain
    origin: str


@dataclass(frozen=True)
class FieldState:
    """One field of the chosen method's section.

    Attributes:
        doc: what it means.
        control: the control that fits it.
        path: dotted, such as ``slurm.nodes``.
        here: whether the document gives it (if only as null, which lifts an inherited value).
        value: what the document gives.
        inherited: what holds where the document gives nothing.
        line: of the document, where it gives it.
        words: what the value means, where its spelling does not say so (``1 day 4 hours``).
        findings: about it.
        typed: what was typed last, where that could not be written.
    """

    doc: FieldDoc
    control: Control
    path: str
    here: bool
    value: Plain
    inherited: Inherited | None = None
    line: int | None = None
    words: str = ""
    findings: tuple[Finding, ...] = ()
    typed: str | None = None

    @property
    def effective(self) -> Plain:
        """The value that a launch takes; None for the default."""
        if not self.here:
            return self.inherited.value if self.inherited else None
        below = self.inherited.value if self.inherited else None
        if self.doc.name in KEYED and isinstance(self.value, dict) and isinstance(below, dict):
            return over({self.doc.name: below}, {self.doc.name: self.value})[self.doc.name]  # type: ignore[no-any-return]
        return self.value

    @property
    def text(self) -> str:
        """The effective value on one line, for a control that is a line."""
        value = self.effective
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            words = [str(item) for item in value]
            return shlex.join(words) if self.doc.name == "nsys_args" else ",".join(words)
        if isinstance(value, dict) and len(value) == 1 and self.doc.name == "accelerators":
            return ":".join(str(part) for part in next(iter(value.items())))
        return value if isinstance(value, str) else ""

    @property
    def origin(self) -> str:
        """Where the value comes from: ``line 4``, a profile's file, or empty for the default."""
        if self.here:
            return f"line {self.line}"
        return self.inherited.origin if self.inherited else ""


def inherited(method: str, profile: str | None, file: str | None, cwd: str) -> dict[str, Inherited]:
    """What holds where the document gives nothing, by field; empty where a profile or the file cannot be read.

    Args:
        profile: a named profile; None for the plain defaults.
        file: ``-c FILE``, whose section lies under the cell's.
        cwd: the notebook's directory.
    """
    found: dict[str, Inherited] = {}
    directory = Path(cwd)
    try:
        for name, value in defaults(profile, directory).get(method, {}).items():
            found[name] = Inherited(_plain(value), _first_origin(value))
        if file is not None:
            section = Sheet.parse(read_text(directory / Path(file).expanduser())).raw(method)
            if isinstance(section, dict):
                merged = over({name: what.value for name, what in found.items()}, section)
                found |= {name: Inherited(merged[name], file) for name in section}
    except LaunchError:
        return found  # planning tells of it
    return found


def field_states(state: State, below: Mapping[str, Inherited], findings: Iterable[Finding]) -> tuple[FieldState, ...]:
    """The fields of the chosen method, in the order of the configs."""
    by_field: dict[str, list[Finding]] = {}
    for finding in findings:
        by_field.setdefault(field_of(finding.field), []).append(finding)
    sheet, method = state.sheet, state.method
    found = []
    for doc in field_docs(method):
        path, keys = f"{method}.{doc.name}", (method, doc.name)
        kind, refused = control(method, doc), state.refused.get(f"{method}.{doc.name}")
        shown = FieldState(
            doc, kind, path, sheet.has(keys), sheet.raw(keys), below.get(doc.name), sheet.line(keys),
            findings=tuple(by_field.get(path, ())), typed=refused.text if refused else None,
        )  # fmt: skip
        found.append(_with_words(shown))
    return tuple(found)


def field_of(dotted: str | None) -> str:
    """The field that a finding's path lies in: ``slurm.extra_mounts`` for ``slurm.extra_mounts[0].source``."""
    return ".".join(re.split(r"[.\[]", dotted or "")[:2])


def _with_words(field: FieldState) -> FieldState:
    return replace(field, words=in_words(field.control, field.effective))


def _plain(value: Any) -> Plain:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return str(value)


def _first_origin(value: Any) -> str:
    while isinstance(value, Mapping | list) and value:
        value = next(iter(value.values() if isinstance(value, Mapping) else value))
    return getattr(value, "origin", "")
