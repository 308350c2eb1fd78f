"""What sbatch says when it refuses a job, as the field to change and what to put there.

The texts are those of Slurm 22.05, each seen from a real sbatch (tests/slurm/test_submission.py); later releases kept them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Refusal:
    """One refusal.

    Attributes:
        message: what Slurm said, in one line.
        field: dotted path of the field to change; None where no single field is to blame.
        fix: what to do; empty where Slurm's own words say it.
    """

    message: str
    field: str | None = None
    fix: str = ""


#: (what Slurm says, field, fix); the first that matches counts. Of several fields the first that was given is meant.
_KNOWN: tuple[tuple[str, str | None, str], ...] = (
    ("invalid partition", "partition", "`sinfo -s` lists the partitions"),
    ("group not permitted to use this partition", "partition", "`scontrol show partition` lists who may use each"),
    ("Invalid account", "account", "`sacctmgr show assoc user=$USER format=account,partition` lists yours"),
    ("Invalid qos", "qos", "`sacctmgr show assoc user=$USER format=qos` lists yours"),
    ("accounting/QOS policy", "qos", "a limit of your QOS or account: fewer jobs, nodes or time, or another qos"),
    ("Invalid generic resource", "gres", "`sinfo -o '%N %G'` lists what nodes have; `gpu_request: none` asks for no GPU"),
    ("Memory specification can not be satisfied", "mem", "`sinfo -o '%N %m'` lists each node's memory in MB"),
    ("Invalid feature specification", "constraint", "`sinfo -o '%N %f'` lists each node's features"),
    ("Invalid node name", "nodelist", "`sinfo -N` lists the nodes"),
    ("reservation is invalid", "reservation", "`scontrol show reservation` lists them"),
    ("time limit is invalid", "time", "`sinfo -o '%P %l'` lists each partition's limit"),
    ("Node count specification invalid", "nodes", "`sinfo -o '%P %D'` lists how many nodes each partition has"),
    (
        "node configuration is not available",
        "mem gres constraint gpus_per_node cpus_per_task ntasks_per_node nodes",
        "no node has the GPUs, CPUs and memory asked for: `sinfo -o '%N %G %c %m'`",
    ),
    ("Job dependency problem", "dependency", "a job it names does not exist, or the form is not afterok:ID"),
    ("Invalid job array", "array", "such as 0-7 or 0-15%4"),
    ("unrecognized option '--container", "container_image", "this Slurm has no Pyxis: ask the site, or leave the image out"),
    ("Invalid --time", "time", "such as 04:00:00"),
)


def refusal(stderr: str, fields: Callable[[str], bool] = lambda _: True) -> Refusal:
    """What a refusal means.

    Args:
        stderr: sbatch's whole standard error.
        fields: whether the user gave a field; one that was not given is not blamed.
    """
    said = [_bare(line) for line in stderr.splitlines() if line.startswith("sbatch: ") or "error:" in line]
    said = list(dict.fromkeys(line for line in said if line)) or [line for line in stderr.splitlines() if line.strip()][:2]
    message = "Slurm refused the job: " + ("; ".join(said[:3]) or "it gave no reason")
    for pattern, field, fix in _KNOWN:
        if re.search(re.escape(pattern), stderr, re.IGNORECASE):
            given = next((name for name in (field or "").split() if fields(name)), None)
            return Refusal(message, given and f"slurm.{given}", fix)
    if option := re.search(r"unrecognized option '--([a-z-]+)", stderr):
        return Refusal(message, "slurm.extra_sbatch", f"this Slurm's sbatch has no --{option[1]}")
    return Refusal(message)


def unreachable(stderr: str) -> bool:
    """Whether a command failed because the controller did not answer."""
    return bool(
        re.search(r"Unable to contact slurm controller|[Tt]imed out|Zero Bytes were transmitted|Transport endpoint", stderr)
    )


def perhaps_taken(stderr: str) -> bool:
    """Whether the controller may have taken a job although sbatch was not told: all but a connection that never was."""
    return unreachable(stderr) and "connect failure" not in stderr


def _bare(line: str) -> str:
    return re.sub(r"^(sbatch: )?(error: )?(Batch job submission failed: )?", "", line).strip()
