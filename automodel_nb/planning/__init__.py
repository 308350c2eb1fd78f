"""From a request to a plan: the way through the house, without a step outside it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from automodel_nb import checks
from automodel_nb.findings import in_order
from automodel_nb.plan import JOB_DIR_PLACEHOLDER, Plan, Request
from automodel_nb.planning.assembling import assemble, job_name, render
from automodel_nb.planning.parts import Parts
from automodel_nb.planning.training import preemption_signal
from automodel_nb.profiles import severities

__all__ = ["JOB_DIR_PLACEHOLDER", "make_plan"]


def make_plan(request: Request, *, yaml: str | None = None, environ: Mapping[str, str] = os.environ) -> Plan:
    """Plan a launch; no side effect.

    Args:
        request: what the user asked for.
        yaml: the document as typed, where the request's text has names filled in.
        environ: where ``${VAR}`` takes its values from, and what the job's environment is chosen from.

    Returns:
        The plan; its findings may hold errors, and then it cannot be launched.

    Raises:
        LaunchError: there is nothing to plan: a text that cannot be read, no method, a field with a bad value.
    """
    assembled = assemble(request, environ)
    parts, findings = assembled.parts, list(assembled.findings)
    config, recipe, request = parts.config, parts.recipe, parts.request
    rendered = render(parts)
    findings += rendered.findings
    findings = checks.kept([*findings, *checks.run(parts)], request.ignore, severities(Path(request.cwd)))
    return Plan(
        method=parts.sources.method,
        name=job_name(parts),
        command=rendered.command,
        submit=rendered.submit,
        files={"recipe.yaml": recipe.text, **rendered.files},
        environment=rendered.environment,
        findings=in_order(findings),
        yaml=yaml if yaml is not None else request.text or request.file_text or "",
        config=config,
        request=request,
        job_dir=Path(os.path.abspath(os.path.join(request.cwd, os.path.expanduser(config.job_dir)))),
        chdir=parts.chdir,
        diff=recipe.diff,
        recipe_checkpoint_dir=_checkpoint_dir(parts),
        preemption_signal=preemption_signal(recipe),
        host=parts.facts.there.name if parts.facts.there else "",
        origins=assembled.origins,
    )


def _checkpoint_dir(parts: Parts) -> str | None:
    value = parts.recipe.get("checkpoint.checkpoint_dir")
    if not isinstance(value, str):
        return None
    return parts.facts.there.path(os.path.join(parts.chdir, value)) if parts.facts.there else value
