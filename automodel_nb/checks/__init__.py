"""Checks before a launch: one function a rule, from what was read to findings; pure, and silent without its facts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from automodel_nb.checks import installed, skypilot
from automodel_nb.findings import Finding

if TYPE_CHECKING:
    from automodel_nb.planning.parts import Parts

#: Findings of the text itself: to lift them would launch something other than what was typed.
NOT_TO_IGNORE = frozenset({"unknown-key", "bad-value", "unset-variable", "literal-secret", "secret-in-field", "cannot-travel"})

RULES: tuple[Callable[[Parts], list[Finding]], ...] = (*installed.RULES, *skypilot.RULES)


def run(parts: Parts) -> list[Finding]:
    """What every rule finds."""
    return [finding for rule in RULES for finding in rule(parts)]
