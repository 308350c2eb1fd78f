"""Checks before a launch: one function a rule, from what was read and what is known to findings.

Rules are pure, and silent without their facts. `docs/checks.md` is made from their docstrings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING

from automodel_nb.checks import (
    batch,
    checkpoints,
    cluster,
    container,
    environment,
    installed,
    keys,
    ports,
    skypilot,
    storage,
    time_limit,
)
from automodel_nb.checks.facts import Facts, gather
from automodel_nb.checks.others import NOT_TO_IGNORE, OTHERS
from automodel_nb.checks.rules import Rule
from automodel_nb.findings import Finding, Fix, Severity

if TYPE_CHECKING:
    from automodel_nb.planning.parts import Parts

__all__ = ["CODES", "GROUPS", "NOT_TO_IGNORE", "OTHERS", "RULES", "Facts", "Rule", "gather", "kept", "run"]

#: The rules, by the heading that the documentation gives them.
GROUPS: dict[str, tuple[Rule, ...]] = {
    "Keys and sections of the recipe": keys.RULES,
    "Batch, workers and GPUs": batch.RULES,
    "Variables and secrets of the recipe": environment.RULES,
    "Resuming and checkpoints": checkpoints.RULES,
    "Files and storage": storage.RULES,
    "Time limit": time_limit.RULES,
    "SkyPilot and spot instances": skypilot.RULES,
    "Rendezvous port": ports.RULES,
    "Containers": container.RULES,
    "The Slurm cluster": cluster.RULES,
    "What is installed": installed.RULES,
}
RULES: tuple[Rule, ...] = tuple(rule for rules in GROUPS.values() for rule in rules)
CODES = frozenset({rule.code for rule in RULES} | set(OTHERS))
_WEIGHT: dict[Severity, int] = {"hint": 0, "warning": 1, "error": 2}


def run(parts: Parts, facts: Facts | None = None) -> list[Finding]:
    """What every rule finds.

    Args:
        parts: the request, read and typed.
        facts: what is known of the world; None gathers it.
    """
    known = gather(parts) if facts is None else facts
    return [
        parts.finding(rule.code, rule.severity, problem.message, problem.field, problem.fix, key=rule.at_key)
        for rule in RULES
        for problem in rule.find(parts, known)
    ]


def kept(findings: list[Finding], ignored: tuple[str, ...], raised: Mapping[str, Severity]) -> list[Finding]:
    """The findings that a user does not ignore, those that a profile raises with their new severity.

    Args:
        findings: all of them.
        ignored: codes (``--ignore``).
        raised: severity by code, out of a profile's ``[checks]``; a lower one than the rule's own is not taken.
    """
    left = [finding for finding in findings if finding.code not in ignored or finding.code in NOT_TO_IGNORE]
    left = [_raised(finding, raised.get(finding.code)) for finding in left]
    for code, where in [*((code, f"--ignore {code}") for code in ignored), *((code, f"[checks] {code}") for code in raised)]:
        if code in NOT_TO_IGNORE and code in ignored and any(finding.code == code for finding in findings):
            left.append(
                Finding("not-ignored", "hint", f"{where}: this is a mistake of the text itself, and is not passed over")
            )
        elif code not in CODES:
            near = get_close_matches(code, CODES, 1, 0.6)
            fix = Fix(f"did you mean {near[0]}?") if near else Fix("docs/checks.md lists them")
            left.append(Finding("unknown-code", "warning", f"{where}: there is no check of that code", fix=fix))
    return left


def _raised(finding: Finding, severity: Severity | None) -> Finding:
    if severity is None or _WEIGHT[severity] <= _WEIGHT[finding.severity]:
        return finding
    return replace(finding, severity=severity)
