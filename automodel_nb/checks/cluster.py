"""Does the Slurm cluster have what is asked for? Many a cluster accepts what it can never start, and lets it wait for ever."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import TYPE_CHECKING

from automodel_nb.checks.rules import Problem, rule
from automodel_nb.checks.time_limit import in_words
from automodel_nb.facts_slurm import NodeGroup, Partition
from automodel_nb.findings import Fix

if TYPE_CHECKING:
    from automodel_nb.checks.facts import Facts
    from automodel_nb.planning.parts import Parts

_UNITS = {"K": 1 / 1024, "M": 1, "G": 1024, "T": 1024 * 1024, "": 1}


@rule("no-partition", "error")
def partition_exists(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """The cluster has the partition.

    Source: `scontrol show partition`. Like all rules on the cluster, silent where it does not answer.
    """
    if parts.sources.method != "slurm" or facts.cluster is None or parts.config.partition is None:
        return
    known = list(facts.cluster.partitions)
    for name in parts.config.partition.split(","):
        if name not in known:
            near = get_close_matches(name, known, 1, 0.5)
            fix = Fix(f"did you mean {near[0]}?", "slurm.partition", near[0]) if near else Fix(f"there is {', '.join(known)}")
            yield Problem(f"this cluster has no partition `{name}`", "slurm.partition", fix)


@rule("partition-down", "warning")
def partition_is_up(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """The partition takes and starts jobs.

    Source: `State` of `scontrol show partition`.
    """
    for partition in _partitions(parts, facts):
        if not partition.up:
            yield Problem(f"partition {partition.name} is not up", "slurm.partition")


@rule("partition-time", "error")
def time_is_allowed(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """The time limit is not longer than that of the partition.

    Source: `MaxTime` of `scontrol show partition`; with EnforcePartLimits=NO, Slurm's default, such a job waits for ever
    (PartitionTimeLimit). Silent where a `qos` is given, which may allow more.
    """
    partitions, time = _partitions(parts, facts), parts.sources.method == "slurm" and parts.config.time
    longest = max((part.max_seconds or 0 for part in partitions), default=0)
    if not partitions or not time or parts.config.qos or any(part.max_seconds is None for part in partitions):
        return
    if time.seconds > longest:
        message = f"the time limit of {in_words(time.seconds)} is longer than {_name(partitions)} allows, {in_words(longest)}"
        text = _slurm_time(longest)
        yield Problem(message, "slurm.time", Fix(f"write {text}", "slurm.time", text))


@rule("partition-nodes", "error")
def nodes_are_there(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """The partition has, and gives to one job, as many nodes.

    Source: `TotalNodes` and `MaxNodes` of `scontrol show partition`; such a job waits for ever (PartitionNodeLimit).
    """
    partitions = _partitions(parts, facts)
    most = max((min(part.total_nodes, part.max_nodes or part.total_nodes) for part in partitions), default=0)
    if partitions and most and parts.config.nodes > most and not parts.config.qos:
        message = f"{parts.config.nodes} nodes are asked for, and {_name(partitions)} gives {most} at most"
        yield Problem(message, "slurm.nodes", Fix(f"write {most}", "slurm.nodes", str(most)))


@rule("no-gres", "error")
def gpus_can_be_asked_for(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """GPUs are asked for only where the cluster counts them (GRES).

    Source: `sinfo`; sbatch says "Invalid generic resource (gres) specification".
    """
    groups = _groups(parts, facts)
    if groups and _asked_gpus(parts)[1] and not any(group.gpus for group in groups):
        fix = Fix("write gpu_request: none", "slurm.gpu_request", "none")
        yield Problem(f"{_name(_partitions(parts, facts))} knows of no GPUs (no GRES)", "slurm.gpu_request", fix)


@rule("node-too-small", "error")
def a_node_has_it(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """Some node of the partition has as many GPUs (of that type), CPUs and as much memory as each is asked for.

    Source: `sinfo`; sbatch says "Requested node configuration is not available".
    """
    groups, config = _groups(parts, facts), parts.config
    if not groups:
        return
    where = _name(_partitions(parts, facts))
    kind, gpus = _asked_gpus(parts)
    field = "slurm.gpus_per_node" if config.gpus_per_node else "slurm.ntasks_per_node"
    kinds = {name.lower(): name for group in groups for name in group.gpus}
    if kind and any(kinds) and kind.lower() not in kinds:
        have = ", ".join(sorted(filter(None, kinds.values())))
        yield Problem(f"{where} has no GPU of type {kind}", field, Fix(f"there is {have}") if have else None)
    elif gpus and any(group.gpus for group in groups):
        most = max(_gpus_of(group, kind) for group in groups)
        if gpus > most:
            yield Problem(f"no node of {where} has {gpus} GPUs: {most} at most", field, Fix(f"write {most}", field, str(most)))
    if config.cpus_per_task:
        cpus, most = config.cpus_per_task * config.ntasks_per_node, max(group.cpus for group in groups)
        if cpus > most:
            less = str(max(1, most // config.ntasks_per_node))
            fix = Fix(f"write {less}", "slurm.cpus_per_task", less)
            asked_for = f"{config.ntasks_per_node} workers x {config.cpus_per_task} CPUs = {cpus}"
            message = f"{asked_for}, and no node of {where} has more than {most}"
            yield Problem(message, "slurm.cpus_per_task", fix)
    if config.mem and (asked := _mebibytes(config.mem)) > (most := max(group.memory_mib for group in groups)):
        message = f"no node of {where} has {config.mem} of memory: {most // 1024} GiB at most ({asked // 1024} asked for)"
        yield Problem(message, "slurm.mem", Fix(f"write {most // 1024}G, or 0 for all of it", "slurm.mem", "0"))


@rule("no-feature", "error")
def a_node_has_the_feature(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """Some node of the partition has each feature that `constraint` names.

    Source: `sinfo`; sbatch says "Invalid feature specification".
    """
    groups = _groups(parts, facts)
    wanted = parts.config.constraint if groups else None
    if wanted is None:
        return
    known = frozenset().union(*(group.features for group in groups))
    for name in re.findall(r"[A-Za-z_][\w.:-]*", wanted):
        if name not in known and not name.startswith("count"):
            have = ", ".join(sorted(known)) or "no features at all"
            yield Problem(
                f"no node of {_name(_partitions(parts, facts))} has the feature `{name}`",
                "slurm.constraint",
                Fix(f"there is {have}"),
            )


@rule("account", "error")
def account_may_use_it(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """The account is one of this user's, and one that the partition allows.

    Source: `sacctmgr show assoc` and `AllowAccounts`; sbatch says "Invalid account or account/partition combination specified".
    """
    if parts.sources.method != "slurm" or facts.cluster is None or parts.config.account is None:
        return
    account, own = parts.config.account, facts.cluster.accounts
    partitions = _partitions(parts, facts)
    if own is not None and account.lower() not in {name.lower() for name in own}:
        near = get_close_matches(account, own, 1, 0.5)
        fix = Fix(f"did you mean {near[0]}?", "slurm.account", near[0]) if near else Fix(f"yours: {', '.join(sorted(own))}")
        yield Problem(f"`{account}` is no account of yours on this cluster", "slurm.account", fix)
    elif partitions and all(part.accounts is not None and account not in part.accounts for part in partitions):
        allowed = sorted(frozenset().union(*(part.accounts or () for part in partitions)))
        fix = Fix(f"it allows {', '.join(allowed[:5])}")
        yield Problem(f"{_name(partitions)} does not take the account `{account}`", "slurm.account", fix)


@rule("qos", "error")
def qos_may_use_it(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """The quality of service is one that the partition allows.

    Source: `AllowQos` of `scontrol show partition`; sbatch says "Invalid qos specification".
    """
    partitions = _partitions(parts, facts)
    qos = parts.config.qos if partitions else None
    if qos and all(part.qos is not None and qos not in part.qos for part in partitions):
        allowed = sorted(frozenset().union(*(part.qos or () for part in partitions)))
        yield Problem(
            f"{_name(partitions)} does not take the QOS `{qos}`", "slurm.qos", Fix(f"it allows {', '.join(allowed[:5])}")
        )


@rule("no-pyxis", "error")
def pyxis_is_there(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """Containers by Pyxis are asked for only where srun knows them.

    Source: `srun --help`; without the plugin: "srun: unrecognized option '--container-image'".
    """
    if parts.sources.method == "slurm" and facts.cluster and facts.cluster.pyxis is False and parts.config.runtime == "pyxis":
        fix = Fix("write container_runtime: apptainer", "slurm.container_runtime", "apptainer")
        yield Problem("this cluster's srun knows no containers (Pyxis is not installed)", "slurm.container_image", fix)


def _partitions(parts: Parts, facts: Facts) -> list[Partition]:
    if parts.sources.method != "slurm" or facts.cluster is None:
        return []
    return facts.cluster.of(parts.config.partition) or []


def _groups(parts: Parts, facts: Facts) -> list[NodeGroup]:
    return [group for partition in _partitions(parts, facts) for group in partition.groups]


def _name(partitions: list[Partition]) -> str:
    names = " or ".join(partition.name for partition in partitions)
    return f"partition {names}"


def _asked_gpus(parts: Parts) -> tuple[str, int]:
    """(type or empty, number) of the GPUs that each node is asked for."""
    config = parts.config
    if config.gpu_request == "none":
        return "", 0
    kind, _, number = (config.gpus_per_node or str(config.ntasks_per_node)).rpartition(":")
    return kind, int(number)


def _gpus_of(group: NodeGroup, kind: str) -> int:
    return sum(count for name, count in group.gpus.items() if not kind or not name or name.lower() == kind.lower())


def _mebibytes(text: str) -> int:
    return int(int(text.rstrip("KMGTkmgt")) * _UNITS[text[-1].upper() if text[-1].isalpha() else ""])


def _slurm_time(seconds: int) -> str:
    days, rest = divmod(seconds, 86400)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{days}-{clock}" if days else clock


RULES = (
    partition_exists,
    partition_is_up,
    time_is_allowed,
    nodes_are_there,
    gpus_can_be_asked_for,
    a_node_has_it,
    a_node_has_the_feature,
    account_may_use_it,
    qos_may_use_it,
    pyxis_is_there,
)
