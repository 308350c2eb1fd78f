"""SkyPilot's task: ``task.yaml``, as `sky launch task.yaml` reads it too."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from automodel_nb.configs import SkyPilotConfig
from automodel_nb.rendering.clouds import NO_AUTOSTOP, SHARED, STOPS
from automodel_nb.rendering.shell import Raw
from automodel_nb.rendering.slurm import FIRST_PORT, absolute

#: Where the job's files lie on each node.
REMOTE_DIR = "~/automodel_job"
#: The cluster of a job that ended is idle for so many minutes before it is stopped or removed.
AUTOSTOP_MINUTES = 10


def torchrun_options(config: SkyPilotConfig) -> list[str]:
    """The options of torchrun on each node; see `slurm.torchrun_options`."""
    return [
        f"--nnodes={config.num_nodes}",
        Raw('--nproc-per-node="$workers"') if processes(config) is None else f"--nproc-per-node={processes(config)}",
        "--rdzv-backend=c10d",
        # the same for every node and after a recovery, another one for another run
        Raw('--rdzv-id="$SKYPILOT_TASK_ID"'),
        Raw('--rdzv-endpoint="$MASTER_ADDR:$MASTER_PORT"'),
        Raw('--rdzv-conf=is_host="$((SKYPILOT_NODE_RANK == 0))"'),
        # what the other nodes know this one by; a host name is often not known to them
        Raw('--local-addr="${addresses[SKYPILOT_NODE_RANK]}"'),
    ]


def processes(config: SkyPilotConfig) -> int | None:
    """Training processes on each node: as configured, else one for each accelerator; None where only the node can say."""
    if config.gpus_per_node is not None:
        return config.gpus_per_node
    if config.accelerators is not None:
        return max(1, int(float(config.accelerators.partition(":")[2] or 1)))
    return None


def is_managed(config: SkyPilotConfig) -> bool:
    """Whether the job is a managed one, which SkyPilot starts again after a preemption: by default where spot is used."""
    return config.use_spot if config.managed is None else config.managed


def autostop(config: SkyPilotConfig) -> dict[str, Any] | None:
    """What becomes of an idle cluster; None for a managed job, whose cluster its controller removes, and where nothing can.

    It is stopped where that can be done, which keeps the checkpoints on its disks, and else removed.
    """
    if is_managed(config) or cloud(config) in NO_AUTOSTOP:
        return None
    minutes = AUTOSTOP_MINUTES if config.autostop_minutes is None else config.autostop_minutes
    down = config.down if config.down is not None else config.use_spot or cloud(config) not in STOPS
    return {"idle_minutes": minutes, "down": down}


def cloud(config: SkyPilotConfig) -> str | None:
    """The cloud's name in lower case, None where SkyPilot chooses."""
    name = (config.infra or config.cloud or "").partition("/")[0].strip().lower()
    return None if name in ("", "*") else name


def outlives_its_cluster(config: SkyPilotConfig, directory: object) -> bool:
    """Whether a directory of the job's is still there when its cluster is not: in a bucket, or on a shared file system."""
    if not isinstance(directory, str):
        return False
    for target, source in config.file_mounts.items():
        remote = "://" in source if isinstance(source, str) else True
        if remote and (directory == target or directory.startswith(target.rstrip("/") + "/")):
            return True
    if "://" in directory:
        return True
    return cloud(config) in SHARED and directory.startswith("/") and not directory.startswith(REMOTE_DIR)


def task_name(name: str) -> str:
    """A job's name as SkyPilot takes it for tasks and clusters: letters, digits and single dashes, a letter first."""
    word = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower()[:40].rstrip("-")
    return word if word[:1].isalpha() else f"job-{word}".rstrip("-")


def setup_text(config: SkyPilotConfig, python: str) -> str:
    """What runs once on each node before training."""
    if config.setup is not None:
        return config.setup
    version = f"=={config.automodel_version}" if config.automodel_version else ""
    return f"{python} -m pip install --quiet nemo-automodel{version}\n"


def run_text(config: SkyPilotConfig, command: str) -> str:
    """What runs on each node: bash.

    Args:
        config: the section.
        command: what trains, as a shell reads it; ``$AUTOMODEL_JOB_DIR`` is where the recipe lies.
    """
    workers = processes(config)
    world = config.num_nodes * workers if workers else f"$(({config.num_nodes} * workers))"
    lines = [
        "set -eo pipefail",
        f"export AUTOMODEL_JOB_DIR={REMOTE_DIR}",
        f'[ "${{HF_HOME:-}}" ] || export HF_HOME={_on_node(config.hf_home or "~/.cache/huggingface")}',
        'mkdir -p -- "$AUTOMODEL_JOB_DIR" "$HF_HOME"',
        "",
        "# Where the workers meet: at the first of the addresses, which SkyPilot gives one a line.",
        'mapfile -t addresses <<<"$SKYPILOT_NODE_IPS"',
        'export MASTER_ADDR="${MASTER_ADDR:-${addresses[0]}}"',
        *_port(config),
        *([] if workers else ["workers=$((SKYPILOT_NUM_GPUS_PER_NODE > 1 ? SKYPILOT_NUM_GPUS_PER_NODE : 1))"]),
        f'export WORLD_SIZE="${{WORLD_SIZE:-{world}}}"',
    ]
    if config.pre_commands:
        lines += ["", "# pre_commands", *config.pre_commands]
    lines += ["", command if config.command is not None else f"exec {command}"]
    return "\n".join(lines) + "\n"


def task_yaml(
    config: SkyPilotConfig,
    *,
    name: str,
    setup: str,
    run: str,
    chdir: str,
    envs: Mapping[str, str],
    secrets: Sequence[str],
) -> str:
    """``task.yaml``.

    Args:
        config: the section.
        name: the job's name.
        setup, run: shell texts.
        chdir: directory that relative local paths in `config` mean, absolute.
        envs: environment variables of setup and run.
        secrets: names of the variables whose values come at the launch, and never from this file.
    """
    task: dict[str, Any] = {"name": task_name(name), "num_nodes": config.num_nodes, "resources": _resources(config)}
    if config.workdir is not None:
        task["workdir"] = absolute(config.workdir, chdir)
    # relative, so that the file holds no job's directory: SkyPilot takes it from where it is called
    task["file_mounts"] = {f"{REMOTE_DIR}/recipe.yaml": "recipe.yaml", **_file_mounts(config, chdir)}
    if envs:
        task["envs"] = dict(envs)
    if secrets:
        task["secrets"] = dict.fromkeys(sorted(secrets))
    task |= {"setup": setup, "run": run}
    return _head(config, secrets) + yaml.dump(task, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000)


def by_hand(config: SkyPilotConfig, secrets: Sequence[str], file: str = "task.yaml", cluster: str = "") -> list[str]:
    """The command of SkyPilot's own that does the same."""
    managed = is_managed(config)
    return [
        *(["sky", "jobs", "launch"] if managed else ["sky", "launch"]),
        "--detach-run",
        *([("--name" if managed else "--cluster"), cluster] if cluster else []),
        *(word for name in sorted(secrets) for word in ("--secret", name)),
        file,
    ]


def _head(config: SkyPilotConfig, secrets: Sequence[str]) -> str:
    values = f", with {', '.join(sorted(secrets))} in the environment" if secrets else ""
    return (
        "# Written by automodel_nb. It holds no time, no id and no secret: the same document gives the same task.\n"
        f"# To launch it again by hand, in the job's directory{values}:\n"
        f"#   {' '.join(by_hand(config, secrets))}\n"
    )


def _resources(config: SkyPilotConfig) -> dict[str, Any]:
    fields = ("infra", "cloud", "region", "zone", "instance_type", "accelerators")
    resources: dict[str, Any] = {name: value for name in fields if (value := getattr(config, name)) is not None}
    if config.use_spot:
        resources["use_spot"] = True
    if config.disk_size is not None:
        resources["disk_size"] = config.disk_size
    if (idle := autostop(config)) is not None:
        resources["autostop"] = idle
    return resources


def _file_mounts(config: SkyPilotConfig, chdir: str) -> dict[str, Any]:
    mounts: dict[str, Any] = {}
    for path, source in config.file_mounts.items():
        if isinstance(source, str):
            mounts[path] = source if "://" in source else absolute(source, chdir)
        else:
            local = source.get("source")
            mounts[path] = source | ({"source": absolute(local, chdir)} if local and "://" not in local else {})
    return mounts


def _on_node(path: str) -> str:
    """A path of a node as a word of its shell; ``~`` is the home there."""
    return f"~/{shlex.quote(path[2:])}" if path.startswith("~/") else shlex.quote(path)


def _port(config: SkyPilotConfig) -> list[str]:
    """The rendezvous port. The other nodes cannot be told of another one, so that only a job of one node may look for it."""
    used = [
        "used() { # true where something on this node listens there, or has just done so",
        '  grep -qs "^ *[0-9]*: [0-9A-F]*:$(printf \'%04X\' "$1") [0-9A-F:]* 0[1-57-9A-F] " /proc/net/tcp /proc/net/tcp6',
        "}",
    ]
    if config.num_nodes == 1 and config.master_port is None:
        return [
            *used,
            'if [ -z "${MASTER_PORT:-}" ]; then',
            f'  for MASTER_PORT in {{{FIRST_PORT}..{FIRST_PORT + 255}}}; do used "$MASTER_PORT" || break; done',
            "fi",
            "export MASTER_PORT",
        ]
    return [
        *used,
        f'export MASTER_PORT="${{MASTER_PORT:-{config.master_port or FIRST_PORT}}}"',
        'if [ "$SKYPILOT_NODE_RANK" = 0 ] && used "$MASTER_PORT"; then',
        '  echo "automodel_nb: port $MASTER_PORT is in use on $MASTER_ADDR; give another master_port" >&2; exit 1',
        "fi",
    ]


class _Dumper(yaml.SafeDumper):
    """Shell texts as blocks, as a person writes them."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)
_Dumper.add_multi_representer(str, _text)  # text that knows its place in the document
