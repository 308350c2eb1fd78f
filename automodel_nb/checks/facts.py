"""What rules know of the world: gathered before they run, bounded in time. What could not be learned is left out."""

from __future__ import annotations

import contextlib
import os
import re
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from automodel_nb.checks.places import Place, local, places
from automodel_nb.checks.world import checkpoints
from automodel_nb.facts_automodel import Schema, schema
from automodel_nb.facts_files import PathFacts, bounded, look
from automodel_nb.facts_slurm import ClusterFacts, cluster_and_paths
from automodel_nb.paths import directory_name
from automodel_nb.watching.checkpoints import newest_checkpoint, step_of
from automodel_nb.watching.metrics import LogParser

if TYPE_CHECKING:
    from automodel_nb.planning.parts import Parts

SECONDS = 0.6  # for all file systems together
_PORT_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


@dataclass(frozen=True, slots=True)
class CheckpointFacts:
    """What a checkpoint directory holds.

    Attributes:
        name: of the newest complete checkpoint.
        step: the 0-based step after which it was made.
        model: what its own copy of the recipe says was trained; empty where it does not say.
    """

    name: str
    step: int | None = None
    model: str = ""


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast an earlier job of the same name went: seconds a step, and its directory's name."""

    seconds: float
    job: str


@dataclass(frozen=True)
class Facts:
    """What is known. Every rule is silent where what it needs is not here.

    Attributes:
        places: the paths that the launch speaks of.
        paths: by absolute path, those that answered.
        resumes: what the checkpoint directory that AutoModel would resume from by itself holds.
        busy_ports: of the ports that the job asks for on this node, those that something listens on.
        ephemeral: first and last port that this kind of machine gives to outgoing connections.
        schema: what the AutoModel reads that the job will run.
        cluster: what the Slurm cluster says.
        pace: of an earlier job of the same name.
    """

    places: tuple[Place, ...] = ()
    paths: Mapping[str, PathFacts] = field(default_factory=dict)
    resumes: CheckpointFacts | None = None
    busy_ports: frozenset[int] = frozenset()
    ephemeral: tuple[int, int] | None = None
    schema: Schema | None = None
    cluster: ClusterFacts | None = None
    pace: Pace | None = None

    def of(self, place: Place) -> PathFacts | None:
        """What is known of a place."""
        return self.paths.get(place.path) if place.path else None


def gather(parts: Parts) -> Facts:
    """Look at the world that a launch goes into."""
    found = tuple(places(parts))
    here, asked = local(parts), dict.fromkeys(place.path for place in found if place.path)
    cluster, paths = _cluster(parts, () if here else asked)
    if here:
        paths = look(asked, SECONDS)
    return Facts(
        places=found,
        paths=paths,
        resumes=_resumes(found) if here and checkpoints(parts) else None,
        busy_ports=frozenset(port for port in _asked_ports(parts) if _is_busy(port)),
        ephemeral=_ephemeral(),
        schema=_schema(parts),
        cluster=cluster,
        pace=_pace(parts) if here else None,
    )


def _cluster(parts: Parts, paths: Iterable[str]) -> tuple[ClusterFacts | None, dict[str, PathFacts]]:
    if parts.sources.method != "slurm" or (parts.facts.there and parts.facts.there.problem):
        return None, {}
    return cluster_and_paths(parts.facts.there.host if parts.facts.there else None, paths)


def _schema(parts: Parts) -> Schema | None:
    python = parts.facts.python
    if python is None or not python.root or parts.config.command is not None:
        return None
    return schema(python.root, python.automodel or "")


def _resumes(found: tuple[Place, ...]) -> CheckpointFacts | None:
    place = next((place for place in found if place.role == "checkpoints" and place.path), None)
    if place is None or place.path is None:
        return None
    directory = place.path
    question = f"checkpoints in {directory}"
    return bounded({question: lambda: checkpoint_facts(directory)}, SECONDS).get(question)


def checkpoint_facts(directory: str) -> CheckpointFacts | None:
    """The newest complete checkpoint in a directory, None where there is none."""
    newest = newest_checkpoint(directory)
    if newest is None:
        return None
    return CheckpointFacts(newest.name, step_of(newest), _trained_model(newest / "config.yaml"))


def _trained_model(config: Path) -> str:
    with contextlib.suppress(OSError, ValueError, yaml.YAMLError, AttributeError):
        model = (yaml.safe_load(config.read_text(encoding="utf-8")) or {}).get("model") or {}
        return str(model.get("pretrained_model_name_or_path") or "")
    return ""


def _asked_ports(parts: Parts) -> list[int]:
    """Ports of this node that an interactive job will listen on: torchrun takes a free one, the user's own command may not."""
    if parts.sources.method != "interactive" or parts.config.command is None:
        return []
    text = parts.user_environment.get("MASTER_PORT")
    given = [int(text)] if isinstance(text, str) and text.isdigit() and len(text) < 6 else []
    return given + ([parts.config.master_port] if parts.config.master_port else [])


def _is_busy(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a connection that has just ended is no conflict
        try:
            probe.bind(("", port))
        except (OSError, OverflowError):
            return True
    return False


def _ephemeral() -> tuple[int, int] | None:
    try:
        first, last = _PORT_RANGE.read_text().split()
        return int(first), int(last)
    except (OSError, ValueError):
        return None


_JOB_DIRECTORY = re.compile(r"-\d{8}T\d{6}Z-[a-z0-9]{8}")  # what follows the job's name
_TAIL = 1 << 18  # bytes of a log
_SURE = 5.0  # seconds: the log's times are whole seconds


def _pace(parts: Parts) -> Pace | None:
    """The newest earlier job of the same name whose log tells how fast it went."""
    name, parent = parts.config.job_name, os.path.join(parts.request.cwd, os.path.expanduser(parts.config.job_dir))
    if name is None or parts.sources.method != "slurm":
        return None
    question, known_as = f"jobs in {parent}", directory_name(name)
    return bounded({question: lambda: measured_pace(parent, known_as)}, SECONDS).get(question)


def measured_pace(parent: str, name: str) -> Pace | None:
    """Seconds a step of the newest job of that name under a directory; None where no log tells."""
    try:
        names = [entry for entry in os.listdir(parent) if entry.startswith(f"{name}-")]
    except OSError:
        return None
    for directory in sorted(names, reverse=True)[:5]:
        if _JOB_DIRECTORY.fullmatch(directory[len(name) :]) and (
            seconds := step_seconds(Path(parent, directory, "output.log"))
        ):
            return Pace(seconds, directory)
    return None


def step_seconds(log: Path) -> float | None:
    """Seconds between two training steps at the end of a log; None where it tells of too few."""
    try:
        return _step_seconds(log, log.stat().st_size)
    except OSError:
        return None


@lru_cache(maxsize=64)
def _step_seconds(log: Path, size: int) -> float | None:
    with open(log, "rb") as file:
        file.seek(max(0, size - _TAIL))
        points = LogParser().feed(file.read())
    timed = [(point.step, point.time) for point in points if point.split == "train" and point.time is not None]
    if len(timed) > 1 and timed[-1][0] > timed[0][0] and timed[-1][1] - timed[0][1] >= _SURE:
        return (timed[-1][1] - timed[0][1]) / (timed[-1][0] - timed[0][0])
    return None
