"""Are the files there where the job will look for them, and is what it writes seen and kept?"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from automodel_nb.checks.places import Place, Role
from automodel_nb.checks.rules import Problem, rule
from automodel_nb.checks.world import checkpoints
from automodel_nb.facts_files import LOCAL, PathFacts
from automodel_nb.findings import Fix

if TYPE_CHECKING:
    from automodel_nb.checks.facts import Facts
    from automodel_nb.planning.parts import Parts

_GIB = 1 << 30
_OWN_TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm", "/run")
_WHAT: dict[Role, str] = {"checkpoints": "checkpoints", "job": "the job's log and exit code", "cache": "Hugging Face's cache"}


@rule("mount-missing", "error")
def mount_sources_exist(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """The source of each container mount exists on the login node.

    The nodes of the allocation are asked by the script itself, before the container starts.

    Source: the published pitfalls: each source must exist on every node.
    """
    for place in _missing(facts, "mount"):
        yield Problem(f"the mount source {place.path} does not exist", place.field, Fix("make it, or correct the path"))


@rule("mount-unseen", "warning")
def mount_sources_are_known(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """A mount source of which this machine knows not even the first directory is one that the nodes have.

    Source: the published pitfalls. It may be a disk that only the nodes have; the job's script asks each of them.
    """
    for place in facts.places:
        seen = facts.of(place)
        if place.role == "mount" and seen and seen.elsewhere:
            yield Problem(f"{place.path} does not exist {_here(parts)}; every node of the job must have it", place.field)


@rule("image-missing", "error")
def image_exists(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """A container image that is given as a path exists.

    Source: Pyxis and Apptainer fail on the node, when the job has waited for its turn.
    """
    for place in _missing(facts, "image"):
        yield Problem(f"there is no image {place.path}", place.field, Fix("correct the path, or name an image of a registry"))


@rule("source-missing", "error")
def repo_exists(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """The checkout that `repo_root` names exists.

    Source: a PYTHONPATH that leads nowhere is ignored by Python, and another AutoModel would train.
    """
    for place in _missing(facts, "source"):
        yield Problem(f"there is no directory {place.path}", place.field, Fix("correct the path"))


@rule("model-missing", "error")
def model_exists(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """A model that is given as a path exists.

    Source: transformers takes a directory that is not there for a name on the hub ("Repo id must be in the form …").
    """
    for place in _missing(facts, "model", everywhere=parts.sources.method == "interactive"):
        fix = Fix(f"relative paths are taken from {parts.chdir}" if not place.written.startswith("/") else "correct the path")
        yield Problem(f"there is no model {place.inside}", place.field, fix)


@rule("data-missing", "error")
def data_exists(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """A data file that is given as a path exists.

    Source: datasets takes a file that is not there for a name on the hub.
    """
    for place in _missing(facts, "data", everywhere=parts.sources.method == "interactive"):
        if any(sign in place.written for sign in "*?["):
            continue  # a pattern
        fix = Fix(f"relative paths are taken from {parts.chdir}" if not place.written.startswith("/") else "correct the path")
        yield Problem(f"there is no file {place.inside}", place.field, fix)


@rule("checkpoint-not-mounted", "warning")
def checkpoints_leave_the_container(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """A job in a container writes its checkpoints to a directory that is mounted.

    Source: what is written inside is gone with the container. (The site may mount more by itself.)
    """
    for place in facts.places:
        if place.role == "checkpoints" and place.hidden and checkpoints(parts):
            message = f"{place.inside} is in the container, and nothing is mounted there: checkpoints vanish with it"
            yield Problem(message, place.field, _mount(place))


@rule("not-mounted", "hint")
def files_are_in_the_container(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """Models, data and checkpoints to restore that a job in a container reads are mounted, or part of the image.

    Source: a container sees of the node what is mounted. (The site may mount more by itself.)
    """
    for place in facts.places:
        if place.role in ("model", "data", "restore") and place.hidden:
            message = f"{place.inside} is in the container, and nothing is mounted there: the image must have it"
            yield Problem(message, place.field, _mount(place))


@rule("node-local", "warning")
def nodes_see_it(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """Checkpoints, the job's directory and `HF_HOME` of a Slurm job are not in memory or in a directory for temporary files.

    Source: other nodes have a `/tmp` and a `/dev/shm` of their own.
    """
    for place, seen in _written_by_slurm(parts, facts):
        if _temporary(place, seen):
            what, field = _WHAT[place.role], place.field
            yield Problem(
                f"{place.path} exists on each machine for itself: {what} would not be seen elsewhere", field, _share()
            )


@rule("maybe-node-local", "hint")
def nodes_may_see_it(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """Checkpoints, the job's directory and `HF_HOME` of a Slurm job lie on a file system that other nodes see.

    Source: the mount table says `ext4`, `xfs`, … for a disk of this machine. (It may be exported to the nodes under the same
    path.) Silent on a cluster of one node.
    """
    if parts.sources.method != "slurm":
        return
    partitions = (facts.cluster.of(parts.config.partition) if facts.cluster else None) or []
    if partitions and all(partition.total_nodes == 1 for partition in partitions):
        return
    for place, seen in _written_by_slurm(parts, facts):
        if not _temporary(place, seen) and seen.filesystem in LOCAL:
            message = (
                f"{place.path} is on a disk of this machine ({seen.filesystem}): do the nodes see {_WHAT[place.role]} there?"
            )
            yield Problem(message, place.field, _share())


@rule("disk-space", "warning")
def there_is_room(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """There is room for a checkpoint: 1 GiB, or three times a local model (weights, and two states of an optimizer).

    Source: a disk that fills up while a checkpoint is written loses it, and ends the training.
    """
    if not checkpoints(parts):
        return
    model = max((seen.size for place in facts.places if place.role == "model" and (seen := facts.of(place))), default=0)
    share = 1 if parts.recipe.get("peft") else 3
    for place in facts.places:
        seen = facts.of(place)
        is_target = place.role == ("job" if parts.recipe.get("checkpoint.checkpoint_dir") is None else "checkpoints")
        needed = max(_GIB, share * model)
        if is_target and seen and seen.free is not None and seen.free < needed:
            message = f"{seen.nearest} has {seen.free / _GIB:.1f} GiB left for checkpoints of {needed / _GIB:.1f} GiB each"
            yield Problem(message, place.field, Fix("make room, or give another checkpoint.checkpoint_dir"))


def _here(parts: Parts) -> str:
    return f"on {parts.facts.there.name}" if parts.facts.there else "on this machine"


def _missing(facts: Facts, role: Role, *, everywhere: bool = False) -> Iterator[Place]:
    """Places of a role that are surely not there: a path of which nothing is known here may exist on the nodes."""
    for place in facts.places:
        seen = facts.of(place)
        if place.role == role and seen and not seen.exists and (everywhere or not seen.elsewhere):
            yield place


def _written_by_slurm(parts: Parts, facts: Facts) -> Iterator[tuple[Place, PathFacts]]:
    if parts.sources.method == "slurm":
        for place in facts.places:
            seen = facts.of(place)
            if seen and place.role in _WHAT and (place.role != "cache" or parts.config.nodes > 1):
                yield place, seen


def _temporary(place: Place, seen: PathFacts) -> bool:
    return seen.filesystem in ("tmpfs", "ramfs") or any(_under(place.path or "", path) for path in _OWN_TEMPORARY)


def _under(path: str, directory: str) -> bool:
    return path == directory or re.match(re.escape(directory.rstrip("/")) + "/", path) is not None


def _share() -> Fix:
    return Fix("give a directory that all nodes see")


def _mount(place: Place) -> Fix:
    above = os.path.dirname(place.inside)
    return Fix(f"mount it: extra_mounts: [{above}]")


RULES = (
    mount_sources_exist,
    mount_sources_are_known,
    image_exists,
    repo_exists,
    model_exists,
    data_exists,
    checkpoints_leave_the_container,
    files_are_in_the_container,
    nodes_see_it,
    nodes_may_see_it,
    there_is_room,
)
