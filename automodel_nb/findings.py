"""A finding: one thing that a user should know before (or instead of) a launch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

Severity = Literal["error", "warning", "hint"]
_ORDER: dict[str, int] = {"error": 0, "warning": 1, "hint": 2}


@dataclass(frozen=True, slots=True)
class Fix:
    """What to do about a finding.

    Attributes:
        text: what to type or do, in words.
        field: dotted path (``slurm.nodes``) of the value that the form can set with one click; None where it cannot.
        value: the value to set there, as a user would type it.
    """

    text: str
    field: str | None = None
    value: str | None = None

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem, its place and its fix.

    Attributes:
        code: stable name (``unknown-key``); ``--ignore CODE`` lifts it where it is not an error of the text itself.
        severity: an ``error`` stops the launch, a ``warning`` or ``hint`` does not.
        message: one sentence; never holds a secret's value.
        field: dotted path in the document, None where the finding has no field.
        line, column: 1-based place in the text the user wrote, None where there is none.
        fix: what to type instead.
        source: name of the text that line and column belong to: ``cell`` or a file's path.
    """

    code: str
    severity: Severity
    message: str
    field: str | None = None
    line: int | None = None
    column: int | None = None
    fix: Fix | None = None
    source: str = "cell"

    def __str__(self) -> str:
        name = "" if self.source == "cell" else f"{self.source}, "
        place = f"{name}line {self.line}, column {self.column}: " if self.line is not None else ""
        fix = f" ({self.fix.text})" if self.fix else ""
        return f"{place}{self.message}{fix}"


def place_of(value: object) -> dict[str, Any]:
    """Where a value was written, as a finding's arguments; the value is a `document.Scalar`, or has no place."""
    line, column = getattr(value, "line", None), getattr(value, "column", None)
    return {"line": line, "column": column, "source": getattr(value, "source", "cell")}


def below_magic(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings with lines as an editor counts them in a cell whose first line is the magic's."""
    return tuple(
        replace(finding, line=finding.line + 1) if finding.source == "cell" and finding.line is not None else finding
        for finding in findings
    )


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Errors first, then warnings, then hints; within a severity by place; each finding once."""
    return tuple(sorted(dict.fromkeys(findings), key=lambda f: (_ORDER[f.severity], f.line or 0, f.column or 0)))
