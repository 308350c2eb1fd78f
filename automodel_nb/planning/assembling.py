"""From a request to what the renderers and the checks are given, and on to the rendered files."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from automodel_nb import configs
from automodel_nb.errors import LaunchError
from automodel_nb.findings import Finding, in_order
from automodel_nb.interpolation import EnvTemplate
from automodel_nb.plan import Request
from automodel_nb.planning.expansion import expand_section
from automodel_nb.planning.parts import Parts, Rendered, TargetFacts
from automodel_nb.planning.sources import Sources, read
from automodel_nb.planning.there import there
from automodel_nb.planning.training import make_training, read_recipe
from automodel_nb.profiles import defaults, origins
from automodel_nb.rendering.command import generation


@dataclass(frozen=True, slots=True)
class Assembled:
    """A request, read and typed, with what was found on the way.

    Attributes:
        origins: the file (and named profile) of each value that comes out of a profile, by dotted path.
    """

    parts: Parts
    findings: tuple[Finding, ...]
    origins: Mapping[str, str]


def assemble(request: Request, environ: Mapping[str, str]) -> Assembled:
    """Read the texts, type the launcher section, look at where the job will run.

    Raises:
        LaunchError: there is nothing to plan.
    """
    sources = read(request, defaults(request.profile, Path(request.cwd or ".")))
    method = sources.method
    origin = origins(sources.section, method)
    login = there(method, sources.section)
    section, user_environment, findings = expand_section(method, sources.section, environ, login)
    config, found = configs.read(method, section)
    findings = [_with_origin(finding, origin) for finding in (*findings, *found)]
    if config is None:
        raise LaunchError(in_order(findings))
    request = replace(request, method=method, cwd=request.cwd or os.getcwd())
    facts = TargetFacts.gather(method, config, sys.executable, login)
    parts = parts_of(sources, config, request, facts, user_environment, environ)
    return Assembled(parts, (*findings, *parts.recipe.findings), origin)


def parts_of(
    sources: Sources,
    config: Any,
    request: Request,
    facts: TargetFacts,
    user_environment: Mapping[str, str | EnvTemplate],
    environ: Mapping[str, str],
) -> Parts:
    """What follows from the texts and a typed config; nothing is looked at."""
    if facts.there:
        config = facts.there.placed(config)
    kind = generation(config.automodel_version or facts.automodel)
    recipe = read_recipe(sources, kind, own_command=config.command is not None)
    training = make_training(recipe, config, kind, config.python or facts.default_python)
    chdir = os.path.abspath(os.path.join(request.cwd, os.path.expanduser(config.chdir or "")))
    inherited = facts.there.environ if facts.there else environ
    return Parts(sources, config, recipe, training, request, chdir, facts, user_environment, dict(inherited), dict(environ))


def render(parts: Parts) -> Rendered:
    """The command, the files and the environment."""
    # one method's renderer is imported, not all: a first preview is what a notebook waits for
    method = import_module(f"automodel_nb.planning.{parts.sources.method}")
    rendered: Rendered = method.render(parts, job_name(parts))
    return rendered


def job_name(parts: Parts) -> str:
    """The job's name; where the user gave none, the file's, as a directory and a scheduler can hold it."""
    if parts.config.job_name:
        return str(parts.config.job_name)
    stem = Path(parts.request.file).stem if parts.request.file else ""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-.")[:40] or "automodel"


def _with_origin(finding: Finding, origin: Mapping[str, str]) -> Finding:
    """A finding about a profile's value says which file it stands in: the cell has no such line."""
    file = origin.get(finding.field or "")
    return replace(finding, message=f"{finding.message} (from {file})") if file and finding.line is None else finding
