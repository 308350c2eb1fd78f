"""What the tests of rules share: parts of a launch out of a text, and the rules on chosen facts."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from automodel_nb import checks, configs
from automodel_nb.checks.facts import Facts, gather
from automodel_nb.checks.places import places
from automodel_nb.facts import NodeFacts, PythonFacts, python_facts
from automodel_nb.facts_files import PathFacts
from automodel_nb.facts_slurm import ClusterFacts, parse_partitions
from automodel_nb.findings import Finding
from automodel_nb.plan import Request
from automodel_nb.planning.expansion import expand_section
from automodel_nb.planning.parts import Parts, TargetFacts
from automodel_nb.planning.sources import read
from automodel_nb.planning.training import make_training, read_recipe
from automodel_nb.rendering.command import generation

LOGIN = {"HOME": "/home/me", "USER": "me", "PATH": "/usr/bin"}
EIGHT_GPUS = TargetFacts(PythonFacts("0.7.0", True), NodeFacts(8, 64), sys.executable)

#: As a real cluster answers (the lab's, with a third partition of typed GPUs).
SCONTROL = """\
PartitionName=batch AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL AllocNodes=ALL Default=YES QoS=N/A DefaultTime=01:00:00 \
MaxNodes=UNLIMITED MaxTime=2-00:00:00 MinNodes=0 Nodes=n[1-4] State=UP TotalCPUs=256 TotalNodes=4 TRES=cpu=256
PartitionName=debug AllowGroups=ALL AllowAccounts=lab,physics AllowQos=normal Default=NO DefaultTime=00:10:00 MaxNodes=2 \
MaxTime=00:30:00 Nodes=n[1-2] State=DOWN TotalCPUs=128 TotalNodes=2
PartitionName=cpu AllowAccounts=ALL AllowQos=ALL Default=NO DefaultTime=NONE MaxNodes=UNLIMITED MaxTime=UNLIMITED State=UP \
TotalNodes=1 GraceTime=30 PreemptMode=REQUEUE
"""
SINFO = """\
batch|4|64|512000|gpu:h100:8(S:0-1)|h100,ib
debug|2|64|512000|gpu:h100:8(S:0-1)|h100,ib
cpu|1|32|64000|(null)|(null)
"""
CLUSTER = ClusterFacts(parse_partitions(SCONTROL, SINFO), frozenset({"lab", "physics"}), pyxis=True)


def installed() -> PythonFacts:
    """The AutoModel that the tests run with."""
    return python_facts(None)


def parts_of(
    text: str,
    *,
    cwd: Path | str = "/work",
    environ: Mapping[str, str] = LOGIN,
    target: TargetFacts | None = None,
    file_text: str | None = None,
    method: str | None = None,
) -> Parts:
    """A launch, read and typed as `make_plan` does it."""
    request = Request(
        text=text, file="/work/recipe.yaml" if file_text else None, file_text=file_text, method=method, cwd=str(cwd)
    )
    sources = read(request, {})
    section, user_environment, _ = expand_section(sources.method, sources.section, environ)
    config, found = configs.read(sources.method, section)
    assert config is not None, found
    remote = sources.method == "skypilot" or getattr(config, "container_image", None) or getattr(config, "host", None)
    facts = TargetFacts(None, None, "python") if remote else target or EIGHT_GPUS
    if sources.method != "interactive":
        facts = replace(facts, node=None)
    kind = generation(config.automodel_version or facts.automodel)
    recipe = read_recipe(sources, kind, own_command=config.command is not None)
    training = make_training(recipe, config, kind, facts.default_python)
    chdir = config.chdir or str(cwd)
    return Parts(sources, config, recipe, training, request, chdir, facts, user_environment, dict(environ))


def found(text: str, facts: Facts | None = None, **options: Any) -> list[Finding]:
    """What the rules find on facts that are given; places are the launch's own."""
    parts = parts_of(text, **options)
    facts = facts or Facts()
    return checks.run(parts, replace(facts, places=facts.places or tuple(places(parts))))


def found_here(text: str, **options: Any) -> list[Finding]:
    """What the rules find on this machine."""
    parts = parts_of(text, **options)
    return checks.run(parts, gather(parts))


def codes(findings: list[Finding]) -> set[str]:
    return {finding.code for finding in findings}


def one(findings: list[Finding], code: str) -> Finding:
    """The one finding of a code."""
    (only,) = [finding for finding in findings if finding.code == code]
    return only


def missing(path: str, nearest: str = "/home/me") -> dict[str, PathFacts]:
    return {path: PathFacts(path, False, False, nearest, "nfs4", 1 << 40)}


def there(path: str, filesystem: str = "nfs4", free: int = 1 << 40, size: int = 0) -> dict[str, PathFacts]:
    return {path: PathFacts(path, True, True, path, filesystem, free, size)}
