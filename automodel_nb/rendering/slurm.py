"""The SBATCH script: each value quoted for where it stands."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from automodel_nb.configs import SlurmConfig, VolumeMapping
from automodel_nb.rendering.shell import Raw

if TYPE_CHECKING:
    from jinja2 import Template

#: AutoModel's published rendezvous port.
FIRST_PORT = 13742


#: What of a node's task tells the training to save. Slurm signals the task (some sites: every process below it); torchrun
#: must not have it: it would give its workers 30 s and then kill them. One worker is enough, AutoModel asks all of them.
_SAVING = r"""
# USR1 comes before the time limit, TERM with a preemption or scancel: the workers are told to save and stop, not torchrun.
attempt=${1-} told=0
save() {
  local process parent
  told=$((told + 1))
  [ "$SLURM_NODEID" != 0 ] || echo "automodel_nb: $1: the training is told to save and stop"
  for process in /proc/[0-9]*; do
    if grep -qzsx "SLURM_JOB_ID=$SLURM_JOB_ID" "$process/environ" && grep -qzs ^LOCAL_RANK= "$process/environ"; then
      parent=$(sed -n 's/^PPid:[^0-9]*//p' "$process/status")
      # a worker's own children, its data loaders, have its LOCAL_RANK
      grep -qzs ^LOCAL_RANK= "/proc/$parent/environ" || kill -s SIGNAL "${process#/proc/}"
    fi
  done 2>/dev/null
}
trap 'save "the time limit is near"; [ "$SLURM_NODEID" != 0 ] || true >"$AUTOMODEL_JOB_DIR/limit$attempt"' USR1
trap 'save "Slurm ends this attempt"' TERM
set -m # a process group of its own
(trap '' USR1; exec COMMAND) &
set +m
training=$! seen=
# a signal ends the wait and not the training
until [ "$seen" = "$told" ]; do
  seen=$told
  wait "$training" && code=0 || code=$?
done
exit "$code"
""".strip()


@dataclass(frozen=True, slots=True)
class Saving:
    """How training is told to save before Slurm ends it.

    Attributes:
        signal: what AutoModel saves and stops on (``SIGTERM``).
        seconds: before the time limit; 0: never.
    """

    signal: str = "SIGTERM"
    seconds: int = 0


def torchrun_options(config: SlurmConfig) -> list[str]:
    """The options of torchrun on each node of a job; the shell of the node's task fills in what is known there only."""
    return [
        f"--nnodes={config.nodes}",
        f"--nproc-per-node={config.ntasks_per_node}",
        "--rdzv-backend=c10d",
        Raw('--rdzv-id="$SLURM_JOB_ID"'),
        Raw('--rdzv-endpoint="$MASTER_ADDR:$MASTER_PORT"'),
        # Without it torchrun guesses from host names, and where the port is taken joins whoever listens there.
        Raw('--rdzv-conf=is_host="$((SLURM_NODEID == 0))"'),
        # Empty where node names resolve: torchrun then takes its host name.
        Raw('--local-addr="${addresses[SLURM_NODEID]:-}"'),
    ]


def script(config: SlurmConfig, command: str, *, name: str, chdir: str, environment: Iterable[str], saving: Saving) -> str:
    """``launch.sbatch``.

    Args:
        config: the section.
        command: what trains, as the shell of each node's task reads it; ``$AUTOMODEL_JOB_DIR`` is the job's directory.
        name: the job's name.
        chdir: directory that relative paths in `config` mean, absolute.
        environment: names of the variables that the job is given; in a container they win over the image's.
        saving: how training is told to save before it is ended.
    """
    container = config.runtime == "pyxis"
    text = task(config, command, saving)
    delimiter = "TASK"
    while re.search(rf"^{delimiter}$", text, re.MULTILINE):
        delimiter += "_"
    values: dict[str, object] = {
        "options": list(sbatch_options(config, name, saving)),
        "master_port": config.master_port,
        "first_port": FIRST_PORT,
        "world_size": config.nodes * config.ntasks_per_node,
        "container": container,
        "task": text,
        "delimiter": delimiter,
        "srun_options": "".join(f" {shlex.quote(option)}" for option in srun_options(config)),
    }
    if container:
        values |= {
            "image": shlex.quote(pyxis_image(config.container_image or "", chdir)),
            "mounts": list(mounts(config, chdir)),
            "workdir": shlex.quote(config.container_workdir) if config.container_workdir else '"$PWD"',
            "container_flags": list(container_flags(config)),
            "container_env": ",".join(sorted({*environment, "MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE"})),
        }
    return _template().render(values)


def sbatch_options(config: SlurmConfig, name: str, saving: Saving) -> Iterator[str]:
    """The options of the ``#SBATCH`` lines, each as sbatch reads it there."""
    given: list[tuple[str, object]] = [
        ("job-name", name),
        ("nodes", config.nodes),
        ("ntasks-per-node", 1),
        ("cpus-per-task", _cpus(config)),
        ("gpus-per-node", _gpus(config) if config.gpu_request == "gpus-per-node" else None),
        ("gres", _gres(config)),
        ("time", config.time),
        ("signal", f"USR1@{saving.seconds}" if saving.seconds else None),
        ("account", config.account),
        ("partition", config.partition),
        *((field, getattr(config, field)) for field in ("qos", "constraint", "reservation", "nodelist", "exclude", "mem")),
        *((field, getattr(config, field)) for field in ("exclusive", "dependency", "array")),
        ("requeue", "" if config.requeue else None),
        ("no-requeue", "" if config.requeue is False else None),
        ("mail-type", config.mail_type),
        ("mail-user", config.mail_user),
        ("comment", config.comment),
        ("open-mode", "append"),
        *((name, "" if text == "true" else text) for name, text in config.extra_sbatch.items() if text != "false"),
    ]
    for option, value in given:
        if value is not None:
            yield f"--{option}" + (f"={sbatch_word(str(value))}" if value != "" else "")


def sbatch_word(text: str) -> str:
    """A value on an ``#SBATCH`` line.

    sbatch cuts an unquoted one at a blank or ``#``. Its quotes are not a shell's: a backslash escapes inside either kind.
    """
    if re.fullmatch(r"[\w@%+=:,./-]+", text, re.ASCII):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def srun_options(config: SlurmConfig) -> list[str]:
    """The options of srun that come from the section."""
    options = []
    if config.cpus_per_task is not None:
        # srun does not take it from the job since 22.05
        options.append(f"--cpus-per-task={config.cpus_per_task * config.ntasks_per_node}")
    if config.mpi is not None:
        options.append(f"--mpi={config.mpi}")
    return options


def task(config: SlurmConfig, command: str, saving: Saving) -> str:
    """The shell text that each node runs."""
    lines = ["set -eo pipefail", 'read -ra addresses <<<"${NODE_ADDRESSES:-}"']
    if config.runtime == "none":
        lines.append('mkdir -p -- "$HF_HOME" || true')  # who needs the cache says so
    source = config.nemo_mount.dest if config.nemo_mount and config.runtime != "none" else config.repo_root
    if source:
        path = shlex.quote(os.path.expanduser(source))
        lines.append(f'export PYTHONPATH={path}"${{PYTHONPATH:+:$PYTHONPATH}}"')
    if config.pre_commands:
        lines += ["# pre_commands", *config.pre_commands]
    if config.command is None:
        lines.append(_SAVING.replace("SIGNAL", saving.signal.removeprefix("SIG")).replace("COMMAND", command))
    else:
        lines += [*(["trap : USR1  # meant for the command, whose processes get it too"] if saving.seconds else []), command]
    return "\n".join(lines)


def pyxis_image(image: str, chdir: str) -> str:
    """The image in Enroot's spelling: ``registry#name:tag``, or an absolute path.

    Enroot 3 looks ``nvcr.io/nvidia/nemo:dev`` up on Docker Hub; ``nvcr.io#nvidia/nemo:dev`` is right with every release.
    Pyxis takes for a path only what begins with ``/`` or ``.``.
    """
    if re.match(r"[/.~]", image) or re.search(r"\.(sqsh|squashfs|sqfs)$", image):
        return absolute(image, chdir)
    scheme, separator, rest = image.rpartition("://")
    if "#" in rest or "/" not in rest:
        return image
    registry, _, name = rest.partition("/")
    host = registry.rpartition("@")[2]
    is_registry = "." in host or ":" in host or host == "localhost"
    return f"{scheme}{separator}{registry}#{name}" if is_registry else image


def mounts(config: SlurmConfig, chdir: str) -> Iterator[str]:
    """The mounts as words of the script: the job's and the working directory, the cache, then the user's."""
    for variable in ("AUTOMODEL_JOB_DIR", "PWD", "HF_HOME"):
        yield f'"${variable}:${variable}"'
    for mount in [*([config.nemo_mount] if config.nemo_mount else []), *config.extra_mounts]:
        yield shlex.quote(mount_text(mount, chdir))


def mount_text(mount: VolumeMapping, chdir: str) -> str:
    """``source:dest[:ro]``, the source absolute."""
    return f"{absolute(mount.source, chdir)}:{mount.dest}" + (":ro" if mount.read_only else "")


def container_flags(config: SlurmConfig) -> Iterator[str]:
    """Pyxis's flags that come from the section."""
    if config.container_mount_home is not None:
        yield "--container-mount-home" if config.container_mount_home else "--no-container-mount-home"


def absolute(path: str, chdir: str) -> str:
    """A path of the user's: ``~`` is who launches, a relative one is in the working directory."""
    return os.path.normpath(os.path.join(chdir, os.path.expanduser(path)))


def _cpus(config: SlurmConfig) -> int | None:
    """CPUs of a node's one task: Slurm would give it one, and on many sites the memory of one, for all workers together."""
    if config.cpus_per_task is None and config.exclusive is not None:
        return None  # all of the node's
    return (config.cpus_per_task or 1) * config.ntasks_per_node


def _gpus(config: SlurmConfig) -> str | None:
    gpus = config.gpus_per_node or str(config.ntasks_per_node)
    return None if gpus == "0" else gpus


def _gres(config: SlurmConfig) -> str | None:
    gpus = _gpus(config) if config.gpu_request == "gres" else None
    parts: Sequence[str] = [part for part in (gpus and f"gpu:{gpus}", config.gres) if part]
    return ",".join(parts) or None


@cache
def _template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # a launch on this node need not wait for it

    environment = Environment(
        loader=PackageLoader("automodel_nb", "rendering"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    return environment.get_template("launch.sbatch.j2")
