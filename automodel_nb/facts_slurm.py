"""What a Slurm cluster says of itself: partitions with limits and GPUs, accounts of this user, Pyxis.

Three to four short commands, each bounded in time, asked once in a while: a form plans at every keystroke.
"""

from __future__ import annotations

import getpass
import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from automodel_nb import hosts
from automodel_nb.errors import UnreachableError
from automodel_nb.facts_files import PathFacts
from automodel_nb.hosts import Completed

FRESH = 120.0  # seconds for which an answer is taken
TIMEOUT = 3.0  # seconds for each command
_PARTITIONS = ("scontrol", "show", "partition", "-o")
_NODES = ("sinfo", "-h", "-e", "-o", "%R|%D|%c|%m|%G|%f")
_IDLE = ("sinfo", "-h", "-o", "%R|%A")
_SRUN = ("srun", "--help")
#: Of each path a line: what it is, and the nearest directory that exists.
_LOOK = r"""
for path; do
  kind=absent nearest=$path
  if [ -d "$path" ]; then kind=directory; elif [ -e "$path" ]; then kind=file; fi
  while [ ! -d "$nearest" ]; do nearest=${nearest%/*}; nearest=${nearest:-/}; done
  printf '%s %s\n' "$kind" "$nearest"
done
"""


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """Nodes of a partition that are alike.

    Attributes:
        nodes: how many.
        cpus: CPUs of each.
        memory_mib: memory of each.
        gpus: number of each by type; a GPU without a type has the empty one.
        features: what ``--constraint`` can ask for.
    """

    nodes: int
    cpus: int
    memory_mib: int
    gpus: Mapping[str, int] = field(default_factory=dict)
    features: frozenset[str] = frozenset()

    @property
    def gpu_count(self) -> int:
        """All GPUs of one node."""
        return sum(self.gpus.values())


@dataclass(frozen=True, slots=True)
class Partition:
    """One partition.

    Attributes:
        max_seconds: longest time limit, default_seconds: that of a job without one; None for no limit (or none set).
        max_nodes: most nodes of one job; None for no limit.
        grace_seconds: what a job has between being told of its preemption and its end; None where none is preempted.
        total_nodes: nodes it has.
        idle_nodes: of them, those that nothing runs on; None where that is not known.
        accounts, qos: that may use it; None for all.
        up: whether it takes and starts jobs.
        groups: its nodes.
    """

    name: str
    default: bool = False
    up: bool = True
    max_seconds: int | None = None
    default_seconds: int | None = None
    max_nodes: int | None = None
    grace_seconds: int | None = None
    total_nodes: int = 0
    idle_nodes: int | None = None
    accounts: frozenset[str] | None = None
    qos: frozenset[str] | None = None
    groups: tuple[NodeGroup, ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """What a cluster has.

    Attributes:
        partitions: by name.
        accounts: of this user; None where there is no accounting, or it does not say.
        pyxis: whether srun knows container images; None where that is not known.
        qos: that this user may ask for; None where it is not known.
    """

    partitions: Mapping[str, Partition]
    accounts: frozenset[str] | None = None
    pyxis: bool | None = None
    qos: frozenset[str] | None = None

    def of(self, names: str | None) -> list[Partition] | None:
        """The partitions that a job would go to: those named, else the default one; None where one is not known."""
        if names is None:
            return [part for part in self.partitions.values() if part.default] or None
        wanted = names.split(",")
        return [self.partitions[name] for name in wanted] if all(name in self.partitions for name in wanted) else None


def cluster_facts(host: hosts.Host | None = None) -> ClusterFacts | None:
    """Ask the cluster; None where there is none, or it does not answer.

    Args:
        host: a login node of it; None asks from this machine.
    """
    return cluster_and_paths(host, ())[0]


def cluster_and_paths(host: hosts.Host | None, paths: Iterable[str]) -> tuple[ClusterFacts | None, dict[str, PathFacts]]:
    """What the cluster says, and what its login node's file systems say of absolute paths, in one trip.

    Args:
        host: the login node; None for this machine.
        paths: to look at there. One that does not answer in time is left out, and so is one with a line break.
    """
    host = host or hosts.LOCAL
    key = host.name or os.environ.get("SLURM_CONF", "")
    kept = _kept.get(key)
    fresh = kept is not None and time.monotonic() - kept[0] < FRESH
    asked = [path for path in paths if "\n" not in path]
    look = [("sh", "-c", _LOOK, "-", *asked)] if asked else []
    try:
        answers = host.run_all([*(() if fresh else _questions(host)), *look], timeout=TIMEOUT) if look or not fresh else []
    except UnreachableError:
        return (kept[1] if kept and fresh else None), {}
    seen = _paths(asked, answers.pop()) if look else {}
    if kept and fresh:
        return kept[1], seen
    facts = _read(answers)
    if facts or not host.name:  # a login node may answer a moment later, once the user has logged in
        _kept[key] = (time.monotonic(), facts)
    return facts, seen


_kept: dict[str, tuple[float, ClusterFacts | None]] = {}


def forget() -> None:
    """Ask anew at the next look."""
    _kept.clear()


def _questions(host: hosts.Host) -> list[tuple[str, ...]]:
    user = host.environ.get("USER") or getpass.getuser()
    return [_PARTITIONS, _NODES, ("sacctmgr", "-nP", "show", "assoc", f"user={user}", "format=account,qos"), _SRUN, _IDLE]


def _paths(asked: Sequence[str], answer: Completed | None) -> dict[str, PathFacts]:
    lines = answer.stdout.splitlines() if answer else []
    found = {}
    for path, line in zip(asked, lines, strict=False):
        kind, _, nearest = line.partition(" ")
        found[path] = PathFacts(path, exists=kind != "absent", is_dir=kind == "directory", nearest=nearest)
    return found


def _read(answers: Sequence[Completed | None]) -> ClusterFacts | None:
    partitions, nodes, associations, srun, idle = (done.stdout if done and not done.returncode else None for done in answers)
    if partitions is None:
        return None
    accounts, qos = parse_associations(associations or "")
    pyxis = None if srun is None else "--container-image" in srun
    return ClusterFacts(parse_partitions(partitions, nodes or "", idle or ""), accounts or None, pyxis, qos or None)


def parse_associations(sacctmgr: str) -> tuple[frozenset[str], frozenset[str]]:
    """Accounts, and QOS, of ``sacctmgr -nP show assoc format=account,qos``: ``lab|normal,high`` on each line."""
    rows = [line.strip().partition("|") for line in sacctmgr.splitlines()]
    return frozenset(row[0] for row in rows if row[0]), frozenset(name for row in rows for name in row[2].split(",") if name)


def parse_partitions(scontrol: str, sinfo: str, idle: str = "") -> dict[str, Partition]:
    """Out of ``scontrol show partition -o``, ``sinfo -h -e -o '%R|%D|%c|%m|%G|%f'`` (Slurm 20.02 and later), and for the idle
    nodes ``sinfo -h -o '%R|%A'``.
    """
    free: dict[str, int] = {}
    for line in idle.splitlines():
        partition, _, counts = line.strip().partition("|")
        free[partition] = free.get(partition, 0) + _number(counts.partition("/")[2])
    groups: dict[str, list[NodeGroup]] = {}
    for line in sinfo.splitlines():
        fields = line.strip().split("|")
        if len(fields) == 6:
            partition, nodes, cpus, memory, gres, features = fields
            known = frozenset() if features == "(null)" else frozenset(features.split(","))
            groups.setdefault(partition, []).append(
                NodeGroup(_number(nodes), _number(cpus), _number(memory), gpus(gres), known)
            )
    found = {}
    for line in scontrol.splitlines():
        values = dict(pair.partition("=")[::2] for pair in line.split())
        name = values.get("PartitionName")
        if not name:
            continue
        found[name] = Partition(
            name,
            default=values.get("Default") == "YES",
            up=values.get("State", "UP") == "UP",
            max_seconds=_seconds(values.get("MaxTime", "")),
            default_seconds=_seconds(values.get("DefaultTime", "")),
            max_nodes=_number(values["MaxNodes"]) if values.get("MaxNodes", "").isdigit() else None,
            grace_seconds=_number(values.get("GraceTime", "0")) if values.get("PreemptMode", "OFF") != "OFF" else None,
            total_nodes=_number(values.get("TotalNodes", "0")),
            idle_nodes=free.get(name),
            accounts=_names(values.get("AllowAccounts", "ALL")),
            qos=_names(values.get("AllowQos", "ALL")),
            groups=tuple(groups.get(name, ())),
        )
    return found


def gpus(gres: str) -> dict[str, int]:
    """GPUs by type in a GRES text: ``gpu:h100:8(S:0-1),nvme:1`` has eight of type ``h100``."""
    found: dict[str, int] = {}
    for item in re.sub(r"\([^)]*\)", "", gres).split(","):
        match = re.fullmatch(r"gpu(?::([^:]+))??(?::(\d+))?", item.strip())
        if match:
            found[match[1] or ""] = found.get(match[1] or "", 0) + int(match[2] or 1)
    return found


def _names(text: str) -> frozenset[str] | None:
    return None if text in ("ALL", "", "(null)") else frozenset(text.split(","))


def _number(text: str) -> int:
    digits = re.match(r"\d+", text)
    return int(digits.group()) if digits else 0


def _seconds(text: str) -> int | None:
    """Seconds of ``D-HH:MM:SS``; None for UNLIMITED, NONE and what is not there."""
    match = re.fullmatch(r"(?:(\d+)-)?(\d+):(\d+):(\d+)", text)
    if not match:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
