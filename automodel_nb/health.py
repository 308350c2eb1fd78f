"""What is here, and what each launch method still lacks: `automodel_nb.doctor()` and ``%automodel_doctor``.

Nothing is started, installed or changed. Every look is bounded in time; what did not answer is said to be silent.
"""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooLate
from dataclasses import dataclass, field

from automodel_nb import hosts
from automodel_nb.errors import JobError, MissingDependencyError, UnreachableError
from automodel_nb.facts import node_facts, python_facts
from automodel_nb.facts_slurm import ClusterFacts, Partition, cluster_facts
from automodel_nb.paths import state_home
from automodel_nb.planning.there import There

SECONDS = 8.0  # for each look; they run side by side
CONNECT = 30.0  # more, where a login node is looked at


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that was looked at.

    Attributes:
        method: the launch method that it belongs to, or ``notebook``.
        name: what it is.
        found: what is there, in words.
        lacks: what is missing for a launch; empty where nothing is.
        fix: the command or line that mends it.
    """

    method: str
    name: str
    found: str
    lacks: str = ""
    fix: str = ""


@dataclass(frozen=True)
class Report:
    """All that was looked at; prints as a table, shows as one in a notebook."""

    items: tuple[Item, ...] = field(default=())

    def lacking(self, method: str) -> list[Item]:
        """What a launch method still lacks."""
        return [item for item in self.items if item.method == method and item.lacks]

    def __str__(self) -> str:
        from automodel_nb.views.health import health_text

        return health_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from automodel_nb.views.health import health_html

        return health_html(self)


Look = Callable[[], list[Item]]


def examine(host: str | None = None) -> Report:
    """Look at this machine, its Slurm (or that of a login node, by ssh) and its SkyPilot."""
    looks: dict[str, Look] = {"notebook": _notebook, "interactive": _interactive, "slurm": _slurm, "skypilot": _skypilot}
    if host:
        looks["slurm"] = lambda: _slurm_by(host)
    seconds = SECONDS + (CONNECT if host else 0)
    pool = ThreadPoolExecutor(len(looks), thread_name_prefix="automodel_nb doctor")
    asked = {method: pool.submit(look) for method, look in looks.items()}
    items: list[Item] = []
    for method, answer in asked.items():
        try:
            items += answer.result(seconds)
        except TooLate:
            items.append(Item(method, method, f"no answer within {seconds:g} s", "an answer", "look again later"))
    pool.shutdown(wait=False, cancel_futures=True)
    return Report(tuple(items))


def _notebook() -> list[Item]:
    widgets = [name for name in ("ipywidgets", "anywidget") if _version(name) is None]
    home = state_home()
    nearest = next(path for path in (home, *home.parents) if path.exists())
    writable = os.access(nearest, os.W_OK)
    return [
        Item("notebook", "Python", f"{'.'.join(map(str, sys.version_info[:3]))}, {sys.executable}"),
        Item(
            "notebook",
            "live panels",
            "ipywidgets and anywidget" if not widgets else f"without {' and '.join(widgets)}: cards and text",
            "" if not widgets else " and ".join(widgets),
            "" if not widgets else f"{sys.executable} -m pip install 'automodel_nb[widgets]'",
        ),
        Item(
            "notebook",
            "records of jobs",
            str(home),
            "" if writable else f"the right to write in {nearest}",
            "" if writable else "set AUTOMODEL_NB_HOME to a directory of yours",
        ),
    ]


def _interactive() -> list[Item]:
    node, python = node_facts(), python_facts(None)
    gpus = f"{node.gpus} GPU{'s' if node.gpus != 1 else ''}" if node.gpus else "no GPU: `device: cpu` trains, for trying out"
    pip = f"{sys.executable} -m pip install"
    return [
        Item("interactive", "this node", f"{gpus}; {node.cpus} CPUs"),
        Item(
            "interactive",
            "AutoModel",
            "not installed" if python.automodel is None else python.automodel or "a source tree",
            "AutoModel" if python.automodel is None else "",
            f"{pip} nemo-automodel" if python.automodel is None else "",
        ),
        Item(
            "interactive",
            "torchrun",
            f"PyTorch {_version('torch')}" if python.torch else "not installed",
            "" if python.torch else "PyTorch",
            "" if python.torch else f"{pip} torch",
        ),
    ]


def _slurm() -> list[Item]:
    if shutil.which("sbatch") is None:
        fix = "name a login node: `slurm: {host: NAME}`, NAME as in ~/.ssh/config"
        return [Item("slurm", "sbatch", "not on this machine", "Slurm's commands", fix)]
    cluster = cluster_facts()
    if cluster is None:
        fix = "`sinfo` says why; SLURM_CONF may have to be set before Jupyter starts"
        return [Item("slurm", "controller", "does not answer", "an answering slurmctld", fix)]
    return _cluster(cluster, hosts.LOCAL)


def _slurm_by(name: str) -> list[Item]:
    """Slurm by way of a login node: the connection, its commands, the Python there."""
    try:
        host = hosts.host(name)
        home, answers = host.home, host.run_all([("sh", "-c", "command -v sbatch")])
    except UnreachableError as error:
        words, _, fix = str(error).partition(": ")
        return [Item("slurm", f"login node {name}", words, "a connection", fix or words)]
    items = [Item("slurm", f"login node {name}", f"ssh works, home {home}")]
    if not (answers[0] and answers[0].stdout.strip()):
        fix = f"`ssh {name} command -v sbatch` finds it where PATH is right; another login node may have it"
        return [*items, Item("slurm", "sbatch", f"not on {name}", "Slurm's commands", fix)]
    cluster = cluster_facts(host)
    if cluster is None:
        return [
            *items,
            Item("slurm", "controller", "does not answer", "an answering slurmctld", f"`ssh {name} sinfo` says why"),
        ]
    python, program = There(host, home, host.environ).python(None)
    automodel = python.automodel if python and not python.problem else None
    words = "no AutoModel: an image has its own, else say `python:`" if automodel is None else f"AutoModel {automodel}"
    return [*items, Item("slurm", f"{program} there", words), *_cluster(cluster, host)]


def _cluster(cluster: ClusterFacts, host: hosts.Host) -> list[Item]:
    items = [Item("slurm", f"partition {part.name}", _partition(part)) for part in cluster.partitions.values()]
    return [*items, _accounting(host), _pyxis(cluster)]


def _partition(part: Partition) -> str:
    limit = "no time limit" if part.max_seconds is None else f"at most {_hours(part.max_seconds)}"
    nodes = f"{part.total_nodes} nodes" + (f", {part.max_nodes} a job" if part.max_nodes else "")
    gpus = max((group.gpu_count for group in part.groups), default=0)
    words = [nodes, f"{gpus} GPUs each" if gpus else "no GPUs by GRES", limit]
    return ", ".join([*words, *(["the default"] if part.default else []), *([] if part.up else ["DOWN"])])


def _hours(seconds: int) -> str:
    days, rest = divmod(seconds, 86400)
    hours, rest = divmod(rest, 3600)
    parts = [(days, "d"), (hours, "h"), (rest // 60, "min")]
    return " ".join(f"{number} {unit}" for number, unit in parts if number) or "0 min"


def _accounting(host: hosts.Host) -> Item:
    try:
        done = host.run(["sacct", "-n", "-X", "-P", "-o", "jobid", "-S", "now"], timeout=5)
    except (OSError, UnreachableError):
        return Item("slurm", "accounting", "does not answer: ends are read from each job's own files")
    words = "on" if done.returncode == 0 else "off: ends are read from slurmctld, then from each job's own files"
    return Item("slurm", "accounting", words)


def _pyxis(cluster: ClusterFacts) -> Item:
    if cluster.pyxis:
        return Item("slurm", "containers", "Pyxis")
    return Item("slurm", "containers", "no Pyxis: `container_image` needs it (or `container_runtime: apptainer`)")


def _skypilot() -> list[Item]:
    from automodel_nb.launchers import skypilot_client as client

    version = _version("skypilot")
    if version is None:
        return [Item("skypilot", "SkyPilot", "not installed", "SkyPilot", f"{sys.executable} -m {client.INSTALL}")]
    items = [Item("skypilot", "SkyPilot", version)]
    try:
        clouds = client.call(lambda sky: sky.get(sky.client.sdk.enabled_clouds()), timeout=SECONDS - 2)
    except (JobError, MissingDependencyError) as error:
        message, _, fix = str(error).partition(" (")
        return [*items, Item("skypilot", "API server", message, "an API server", fix.rstrip(")") or "!sky api start")]
    names = ", ".join(sorted(str(cloud) for cloud in clouds))
    return [
        *items,
        Item("skypilot", "clouds", names or "none is enabled", "" if names else "a cloud", "" if names else "!sky check"),
    ]


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
