"""What the form knows of a launch as it stands: the plan, or why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from automodel_nb.api import plan_of
from automodel_nb.configs import InteractiveConfig, SkyPilotConfig, SlurmConfig
from automodel_nb.editing.controls import span
from automodel_nb.editing.state import State
from automodel_nb.errors import LaunchError
from automodel_nb.findings import Finding, in_order
from automodel_nb.plan import Plan


@dataclass(frozen=True)
class Planned:
    """A state, planned.

    Attributes:
        plan: None where there is nothing to plan.
        findings: errors first.
    """

    plan: Plan | None
    findings: tuple[Finding, ...]

    @property
    def errors(self) -> tuple[Finding, ...]:
        """Those that stop a launch."""
        return tuple(finding for finding in self.findings if finding.severity == "error")

    @property
    def blocked(self) -> str:
        """Why it cannot be launched; empty where it can."""
        if not self.errors:
            return ""
        first, more = self.errors[0], len(self.errors) - 1
        where = f"line {first.line}: " if first.field is None and first.line else ""
        return where + first.message + (f" (and {more} more error{'s' if more > 1 else ''})" if more else "")


def plan_state(state: State, namespace: Mapping[str, Any] | None) -> Planned:
    """Plan what the form holds; looks at the world, and may take as long as that takes."""
    refused = [why.finding for why in state.refused.values()]
    if state.problem is not None:
        return Planned(None, in_order([state.problem, *refused]))
    options = state.options
    try:
        plan = plan_of(
            state.text,
            state.method,
            file=Path(options.file) if options.file else None,
            overrides=options.overrides,
            profile=options.profile,
            host=options.host,
            name=options.name,
            ignore=options.ignore,
            namespace=namespace,
        )
    except LaunchError as error:
        return Planned(None, in_order([*refused, *error.findings]))
    return Planned(plan, in_order([*refused, *plan.findings]))


def summary(plan: Plan) -> str:
    """What is asked for, in one line."""
    config = plan.config
    if isinstance(config, SlurmConfig):
        size = _size(config.nodes, config.ntasks_per_node)
        return f"{size}, {span(config.time.seconds)} at most" if config.time else size
    if isinstance(config, SkyPilotConfig):
        gpus = f" with {config.accelerators}" if config.accelerators else ""
        kind = "spot node" if config.use_spot else "node"
        return f"{config.num_nodes} {kind}{'s' if config.num_nodes > 1 else ''}{gpus}"
    if isinstance(config, InteractiveConfig) and config.nproc_per_node:
        return _size(1, config.nproc_per_node)
    return "this node"


def _size(nodes: int, processes: int) -> str:
    total = f" = {nodes * processes} workers" if nodes > 1 else ""
    return f"{nodes} node{'s' if nodes > 1 else ''} × {processes} process{'es' if processes > 1 else ''}{total}"


def cost(plan: Plan) -> str:
    """What it costs an hour, where SkyPilot's catalog on this machine knows; empty elsewhere. Loads SkyPilot."""
    if not isinstance(plan.config, SkyPilotConfig):
        return ""
    from automodel_nb.launchers.skypilot_prices import catalogs, price_of

    price = price_of(plan.config) if catalogs() else None
    hourly = price.hourly(use_spot=plan.config.use_spot) if price else None
    return f"{hourly:.2f} $ an hour" if hourly is not None else ""
