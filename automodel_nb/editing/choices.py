"""What a field could be: words that are known, and what the real cluster has. Only proposals: any text can be typed."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from automodel_nb import facts_slurm, hosts
from automodel_nb.editing.controls import span
from automodel_nb.errors import AutomodelError
from automodel_nb.facts_slurm import ClusterFacts, Partition
from automodel_nb.interpolation.environment import looks_secret

CLOUDS = ("aws", "gcp", "azure", "lambda", "kubernetes", "nebius", "oci", "runpod")
ACCELERATORS = ("H100:8", "H200:8", "B200:8", "A100-80GB:8", "A100:8", "L40S:8", "L4:1")
#: Words for fields that take any text.
KNOWN: dict[str, tuple[str, ...]] = {
    "cloud": CLOUDS,
    "accelerators": ACCELERATORS,
    "container_image": ("nvcr.io/nvidia/nemo:dev",),
    "exclusive": ("true", "user"),
    "mail_type": ("END,FAIL", "BEGIN,END,FAIL", "ALL"),
    "mpi": ("pmix", "pmi2", "none"),
    "time": ("00:30:00", "04:00:00", "1-00:00:00"),
    "mem": ("0",),
}
VARIABLES = ("HF_TOKEN", "WANDB_API_KEY", "HF_HUB_OFFLINE", "NCCL_DEBUG", "NCCL_SOCKET_IFNAME", "NCCL_IB_HCA")


@dataclass(frozen=True, slots=True)
class Choice:
    """One thing that a field could be.

    Attributes:
        note: what is known of it.
        problem: why it cannot work as the rest of the launch stands; empty where it can.
    """

    value: str
    note: str = ""
    problem: str = ""


def choices(name: str, facts: ClusterFacts | None, environ: Mapping[str, str] = os.environ) -> tuple[Choice, ...]:
    """What is known for a field; nothing is asked here.

    Args:
        name: of the field, or ``variables`` for names to set and ``secrets`` for names to take a value from.
        facts: of the cluster, where they are known.
    """
    if name == "variables":
        return tuple(Choice(variable) for variable in VARIABLES)
    if name in ("secrets", "hf_token", "wandb_key"):
        return tuple(Choice(variable, "set in this kernel") for variable in sorted(environ) if looks_secret(variable))
    of_cluster = _of_cluster(name, facts) if facts else []
    return (*of_cluster, *(Choice(word) for word in KNOWN.get(name, ())))


def _of_cluster(name: str, facts: ClusterFacts) -> list[Choice]:
    partitions = list(facts.partitions.values())
    if name == "partition":
        return [Choice(partition.name, _about(partition)) for partition in sorted(partitions, key=lambda p: not p.default)]
    if name == "account":
        return [Choice(account) for account in sorted(facts.accounts or _all(partition.accounts for partition in partitions))]
    if name == "qos":
        return [Choice(qos) for qos in sorted(facts.qos or _all(partition.qos for partition in partitions))]
    groups = [group for partition in partitions for group in partition.groups]
    if name == "constraint":
        return [Choice(feature) for feature in sorted(_all(group.features for group in groups))]
    if name == "gpus_per_node":
        kinds = sorted({(kind, count) for group in groups for kind, count in group.gpus.items()})
        return [Choice(f"{kind}:{count}" if kind else str(count)) for kind, count in kinds]
    return []


def _all(names: Iterable[frozenset[str] | None]) -> frozenset[str]:
    return frozenset().union(*(given or () for given in names))


def _about(partition: Partition) -> str:
    free = f", {partition.idle_nodes} free" if partition.idle_nodes is not None else ""
    parts = [f"{partition.total_nodes} node{'s' if partition.total_nodes != 1 else ''}{free}"]
    if partition.max_nodes is not None:
        parts.append(f"{partition.max_nodes} a job")
    if partition.max_seconds is not None:
        parts.append(f"up to {span(partition.max_seconds)}")
    gpus = max((group.gpu_count for group in partition.groups), default=0)
    if gpus:
        parts.append(f"{gpus} GPUs a node")
    return ", ".join([*(["the default"] if partition.default else []), *parts, *([] if partition.up else ["not up"])])


class Cluster:
    """What this machine's cluster says, asked for in a thread: whoever looks gets what is known at once.

    Args:
        ask: asks the cluster, for as long as that takes.
    """

    def __init__(self, ask: Callable[[], ClusterFacts | None]) -> None:
        self._ask = ask
        self._lock = threading.Lock()
        self._asking = False
        self._waiting: list[Callable[[], None]] = []
        self.facts: ClusterFacts | None = None

    def look(self, arrived: Callable[[], None] | None = None) -> ClusterFacts | None:
        """What is known now; `arrived` is called once what is asked for now is there."""
        with self._lock:
            if arrived is not None:
                self._waiting.append(arrived)
            if not self._asking:
                self._asking = True
                threading.Thread(target=self._run, name="automodel_nb cluster", daemon=True).start()
        return self.facts

    def _run(self) -> None:
        try:
            facts = self._ask()  # answers from memory while that is fresh
        except AutomodelError:
            facts = None
        with self._lock:
            changed, self.facts, self._asking = facts != self.facts, facts, False
            waiting, self._waiting = self._waiting, []
        for arrived in waiting if changed else ():
            arrived()


_clusters: dict[str, Cluster] = {}


def cluster(host: str = "") -> Cluster:
    """The cluster that is launched on from here, or from a login node."""
    return _clusters.setdefault(host, Cluster(lambda: facts_slurm.cluster_facts(hosts.host(host))))
