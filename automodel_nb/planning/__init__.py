"""From a request to a plan: the way through the house, without a step outside it."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from automodel_nb import checks, configs
from automodel_nb.errors import LaunchError
from automodel_nb.findings import in_order
from automodel_nb.plan import JOB_DIR_PLACEHOLDER, Plan, Request
from automodel_nb.planning import interactive, skypilot, slurm
from automodel_nb.planning.expansion import expand_section
from automodel_nb.planning.parts import Parts, Rendered, TargetFacts
from automodel_nb.planning.sources import read
from automodel_nb.planning.training import make_training, preemption_signal, read_recipe
from automodel_nb.profiles import defaults, severities
from automodel_nb.rendering.command import generation

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
    sources = read(request, defaults(request.profile, Path(request.cwd or ".")))
    method = sources.method
    section, user_environment, findings = expand_section(method, sources.section, environ)
    config, found = configs.read(method, section)
    findings += found
    if config is None:
        raise LaunchError(in_order(findings))
    cwd = request.cwd or os.getcwd()
    chdir = os.path.abspath(os.path.join(cwd, os.path.expanduser(config.chdir or "")))
    request = replace(request, method=method, cwd=cwd)
    facts = TargetFacts.gather(method, config, sys.executable)
    kind = generation(config.automodel_version or facts.automodel)
    recipe = read_recipe(sources, kind, own_command=config.command is not None)
    findings += recipe.findings
    training = make_training(recipe, config, kind, config.python or facts.default_python)
    parts = Parts(sources, config, recipe, training, request, chdir, facts, user_environment, dict(environ))
    rendered = _render(method, parts)
    findings += rendered.findings
    findings = checks.kept([*findings, *checks.run(parts)], request.ignore, severities(Path(cwd)))
    return Plan(
        method=method,
        name=config.job_name or _name(request),
        command=rendered.command,
        submit=rendered.submit,
        files={"recipe.yaml": recipe.text, **rendered.files},
        environment=rendered.environment,
        findings=in_order(findings),
        yaml=yaml if yaml is not None else request.text or request.file_text or "",
        config=config,
        request=request,
        job_dir=Path(os.path.abspath(os.path.join(cwd, os.path.expanduser(config.job_dir)))),
        chdir=chdir,
        diff=recipe.diff,
        recipe_checkpoint_dir=_text(recipe.get("checkpoint.checkpoint_dir")),
        preemption_signal=preemption_signal(recipe),
    )


def _render(method: str, parts: Parts) -> Rendered:
    if method == "interactive":
        return interactive.render(parts)
    if method == "skypilot":
        return skypilot.render(parts, parts.config.job_name or _name(parts.request))
    if method == "slurm":
        return slurm.render(parts, parts.config.job_name or _name(parts.request))
    raise LaunchError(f"{method} is not built yet")


def _name(request: Request) -> str:
    """A job's name where the user gave none: the file's, as a directory and a scheduler can hold it."""
    stem = Path(request.file).stem if request.file else ""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-.")[:40] or "automodel"


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
