"""The `slurm:` section. A field that is not given leaves no line in the script."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict

from automodel_nb.configs.base import LauncherConfig, setting
from automodel_nb.configs.mounts import Mount, Mounts
from automodel_nb.configs.values import (
    Arguments,
    Count,
    Flag,
    Memory,
    Text,
    Time,
    flag,
    mapping,
    matching,
    one_line,
    one_of,
    refuse,
    shown,
    whole,
)

GPU_REQUESTS = ("gpus-per-node", "gres", "none")
RUNTIMES = ("pyxis", "apptainer", "none")

Gpus = Annotated[
    str, BeforeValidator(matching(r"([A-Za-z0-9_.-]+:)?[0-9]{1,4}", "a number of GPUs, or type:number such as h100:8"))
]
Tasks = Annotated[
    str, BeforeValidator(matching(r"[0-9]+([-,:0-9]*[0-9])?(%[1-9][0-9]*)?", "a job array, such as 0-7 or 0-15%4"))
]
Seconds = Annotated[int, BeforeValidator(whole(1))]
SignalSeconds = Annotated[int, BeforeValidator(whole(0, 65535))]  # Slurm's own bound for --signal


class FaultTolerance(BaseModel):
    """Options of `ft_launcher` (nvidia-resiliency-ext)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_restarts: Annotated[int, BeforeValidator(whole(0))] = setting(
        3, "How often the workers are started again after a failure.", unit="restarts", example="3"
    )
    initial_rank_heartbeat_timeout: Seconds | None = setting(
        None, "How long a worker may take to its first sign of life.", unit="seconds", example="600"
    )
    rank_heartbeat_timeout: Seconds | None = setting(
        None, "How long a worker may be silent later on.", unit="seconds", example="300"
    )


def _fault_tolerance(value: Any) -> Any:
    if isinstance(value, dict | FaultTolerance):
        return value
    return FaultTolerance() if flag(value) else None


def _exclusive(value: Any) -> str | None:
    text = one_line(value).lower()
    if text in ("user", "mcs", "topo"):
        return text
    return "" if flag(value) else None


#: Options whose value the launcher decides, with the field (or the reason) to name instead.
OWN_OPTIONS = {
    "output": "the log lies in the job's own directory",
    "error": "the log lies in the job's own directory",
    "open-mode": "the log is appended to, so that a requeue keeps it",
    "export": "use env_vars",
    "export-file": "use env_vars",
    "get-user-env": "use env_vars or pre_commands",
    "chdir": "use chdir",
    "parsable": "the launcher reads sbatch's answer",
    "wait": "use --wait of the magic",
    "wrap": "use command",
    "test-only": "use --dry-run of the magic",
    "ntasks": "one task a node is what torchrun needs; ntasks_per_node is the number of its workers",
    "container-image": "use container_image",
    "container-mounts": "use extra_mounts",
    "container-env": "use env_vars",
}


def _options(value: Any) -> Any:
    """``name: value`` (true for a bare flag), or a list of ``--name=value`` and ``--flag``."""
    if isinstance(value, list | tuple):
        pairs = [one_line(item).partition("=")[::2] for item in value]
        return {name: text or "true" for name, text in pairs}
    return mapping("switches: 1")(value)


def _option_name(value: Any) -> str:
    name = str(value).removeprefix("--")
    if not re.fullmatch(r"[a-z][a-z0-9-]+", name):
        raise refuse(f"{shown(name)} is not a long option of sbatch, such as `switches`")
    field = name.replace("-", "_")
    if instead := OWN_OPTIONS.get(name) or (f"use the field {field}" if field in SlurmConfig.model_fields else ""):
        raise refuse(f"--{name} cannot stand here: {instead}")
    return name


OptionName = Annotated[str, BeforeValidator(_option_name)]
OptionValue = Annotated[str, BeforeValidator(lambda value: one_line("true" if value is None else value))]


class SlurmConfig(LauncherConfig):
    """An SBATCH script is rendered and submitted."""

    nodes: Count = setting(1, "Nodes to request.", "most needed", unit="nodes", example="2")
    ntasks_per_node: Count = setting(
        8, "Training processes on each node, one for each GPU.", "most needed", unit="processes", example="8"
    )
    time: Time | None = setting(
        None, "Wall time limit; without it the partition's own, which may be short.", "most needed", example="04:00:00"
    )
    account: Text | None = setting(None, "Account to charge.", "most needed", example="my_account")
    partition: Text | None = setting(None, "Partition (or several, with commas) to run in.", "most needed", example="batch")

    gpus_per_node: Gpus | None = setting(
        None,
        "GPUs to request on each node, or type:number; as many as processes by default. 0: trains on the CPU.",
        "resources",
        example="h100:8",
    )
    gpu_request: Annotated[str, BeforeValidator(one_of(*GPU_REQUESTS))] = setting(
        "gpus-per-node",
        "How GPUs are asked for: --gpus-per-node, --gres=gpu:N, or none where the site has no GRES.",
        "resources",
        choices=GPU_REQUESTS,
    )
    cpus_per_task: Count | None = setting(
        None,
        "CPUs for each training process; 1 by default, or all of the node with `exclusive`.",
        "resources",
        unit="CPUs",
        example="8",
    )
    mem: Memory | None = setting(None, "Memory of each node; 0 is all of it.", "resources", example="512G")
    gres: Text | None = setting(None, "Further generic resources.", "resources", example="nvme:1")
    exclusive: Annotated[str | None, BeforeValidator(_exclusive)] = setting(
        None, "Whole nodes for this job alone (or `user`: shared with your own jobs only).", "resources", example="true"
    )
    constraint: Text | None = setting(None, "Features that each node must have.", "resources", example="h100&ib")
    nodelist: Text | None = setting(None, "Nodes that must be among those of the job.", "resources", example="n[1-4]")
    exclude: Text | None = setting(None, "Nodes that must not be used.", "resources", example="n7,n9")

    qos: Text | None = setting(None, "Quality of service.", "scheduling", example="high")
    reservation: Text | None = setting(None, "Reservation to run in.", "scheduling", example="course")
    dependency: Text | None = setting(None, "Jobs that this one waits for.", "scheduling", example="afterok:1234")
    array: Tasks | None = setting(None, "A job array: one training for each index.", "scheduling", example="0-7%2")
    chain: Count | None = setting(
        None,
        "Up to so many jobs after each other, each resuming where the last stopped.",
        "scheduling",
        unit="jobs",
        example="4",
    )
    requeue: Flag | None = setting(
        None,
        "Whether Slurm may start the job again after a preemption or a lost node; the site's rule by default.",
        "scheduling",
    )
    signal: SignalSeconds | None = setting(
        None,
        "When training is told to save, before the time limit; 600 where checkpointing is on and the limit allows, 0: never.",
        "scheduling",
        unit="seconds",
        example="600",
    )
    mail_type: Text | None = setting(None, "Events to send a mail for.", "scheduling", example="END,FAIL")
    mail_user: Text | None = setting(None, "Whom to mail.", "scheduling", example="me@example.org")
    comment: Text | None = setting(None, "A comment kept with the job.", "scheduling", example="ablation 3")
    host: Text | None = setting(
        None,
        "A login node, as ssh knows it, where sbatch is run; this machine by default.",
        "scheduling",
        example="login.cluster",
    )
    extra_sbatch: Annotated[dict[OptionName, OptionValue], BeforeValidator(_options)] = setting(
        {}, "Any other option of sbatch, by its long name.", "advanced", example="switches: 1"
    )

    container_image: Text | None = setting(
        None,
        "Container image: a registry's, or a path to a .sqsh or .sif file.",
        "container",
        example="nvcr.io/nvidia/nemo:dev",
    )
    container_runtime: Annotated[str, BeforeValidator(one_of(*RUNTIMES))] | None = setting(
        None, "What runs the container: Pyxis by default where an image is given.", "container", choices=RUNTIMES
    )
    container_workdir: Text | None = setting(
        None, "Working directory in the container; the job's own by default, mounted there.", "container", example="/workspace"
    )
    container_mount_home: Flag | None = setting(
        None, "Whether the home directory is mounted; the site's setting by default.", "container"
    )
    nemo_mount: Mount | None = setting(
        None, "AutoModel's source, mounted and first on PYTHONPATH.", "container", example="~/Automodel:/opt/Automodel"
    )
    extra_mounts: Mounts = setting(
        (), "Further mounts: src:dst, src:dst:ro, or one path for both.", "container", example="/data:/data:ro"
    )
    repo_root: Text | None = setting(
        None, "A checkout of AutoModel, first on PYTHONPATH, where there is no container.", "environment", example="~/Automodel"
    )

    fault_tolerance: Annotated[FaultTolerance | None, BeforeValidator(_fault_tolerance)] = setting(
        None,
        "Start workers with ft_launcher of nvidia-resiliency-ext, which restarts them: true, or its options.",
        "training",
        example="true",
    )
    mpi: Text | None = setting(None, "srun's --mpi.", "advanced", example="pmix")

    nsys_enabled: Flag = setting(
        False, "Profile with Nsight Systems: slower, large files; for short diagnostic runs only.", "profiling"
    )
    nsys_output: Text | None = setting(
        None, "Where the reports go; the job's own directory by default.", "profiling", example="/scratch/profiles"
    )
    nsys_args: Arguments = setting((), "Further options of nsys profile.", "profiling", example="--trace=cuda,nvtx --delay=60")

    @property
    def chain_length(self) -> int:
        """How many jobs are submitted, each after the one before: 1 where there is no chain."""
        return self.chain or 1

    @property
    def runtime(self) -> str:
        """The container runtime that is in effect: `none` without an image."""
        if self.container_image is None:
            return "none"
        return self.container_runtime or "pyxis"
