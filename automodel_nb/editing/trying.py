"""Which choices can work: each is tried on the plan, by the rules that a launch is checked with."""

from __future__ import annotations

from collections.abc import Iterable

from automodel_nb.checks import cluster as cluster_rules
from automodel_nb.checks.facts import Facts
from automodel_nb.editing.choices import Choice
from automodel_nb.facts_slurm import ClusterFacts
from automodel_nb.plan import Plan
from automodel_nb.planning.explaining import trials

#: Fields that the cluster limits, so that one choice of them can work and another cannot.
LIMITED = ("partition", "account", "qos", "constraint")


def with_problems(found: Iterable[Choice], field: str, plan: Plan | None, facts: ClusterFacts | None) -> tuple[Choice, ...]:
    """The choices of a field, with what cannot work marked."""
    found = tuple(found)
    if plan is None or facts is None or plan.method != "slurm" or not found:
        return found
    known = Facts(cluster=facts)
    problems: dict[str, str] = {}
    for value, parts in trials(plan, field, [choice.value for choice in found]):
        rules = (rule for rule in cluster_rules.RULES if rule.severity == "error")
        problems[value] = next((problem.message for rule in rules for problem in rule.find(parts, known)), "")
    return tuple(Choice(choice.value, choice.note, problems.get(choice.value, "")) for choice in found)
