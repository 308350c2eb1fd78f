"""What a rule is: a pure function from what was read and what is known of the world to problems."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from automodel_nb.findings import Fix, Severity

if TYPE_CHECKING:
    from automodel_nb.checks.facts import Facts
    from automodel_nb.planning.parts import Parts


@dataclass(frozen=True, slots=True)
class Problem:
    """What a rule finds; becomes a finding at the field's place.

    Attributes:
        message: one sentence, without a secret's value.
        field: dotted path, of the launcher section (``slurm.time``) or of the recipe (``step_scheduler.max_steps``).
        fix: what to do about it; with a value where a click can set it.
    """

    message: str
    field: str
    fix: Fix | None = None


Find = Callable[["Parts", "Facts"], Iterable[Problem]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule.

    Attributes:
        code: stable name of its findings.
        severity: of its findings, before a profile raises it.
        find: the rule itself; its docstring says the rule, and behind ``Source:`` where it comes from.
        at_key: findings point at the field's key instead of its value.
    """

    code: str
    severity: Severity
    find: Find
    at_key: bool = False

    @property
    def says(self) -> str:
        """The rule in words."""
        return " ".join(self._paragraphs[0].split())

    @property
    def source(self) -> str:
        """Where it comes from."""
        return next((" ".join(part.split())[8:] for part in self._paragraphs if part.startswith("Source: ")), "")

    @property
    def _paragraphs(self) -> list[str]:
        return (inspect.getdoc(self.find) or "").split("\n\n")


def rule(code: str, severity: Severity, *, at_key: bool = False) -> Callable[[Find], Rule]:
    """Make a rule of a function, whose docstring says the rule."""
    return lambda find: Rule(code, severity, find, at_key)
