"""The SBATCH script: each value quoted for where it stands."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from automodel_nb.configs import SlurmConfig, VolumeMapping
from automodel_nb.rendering.shell import Raw
from automodel_nb.rendering.slurm_task import Saving, task

if TYPE_CHECKING:
    from jinja2 import Template

#: AutoModel's published rendezvous port.
FIRST_PORT = 13742


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
    text = task(config, command, saving)
    delimiter = "TASK"
    while re.search(rf"^{delimiter}$", text, re.MULTILINE):
        delimiter += "_"
    values: dict[str, object] = {
        "options": list(sbatch_options(config, name, saving)),
        "master_port": config.master_port,
        "first_port": FIRST_PORT,
        "world_size": config.nodes * config.ntasks_per_node,
        "runtime": config.runtime,
        "chain": config.chain_length > 1,
        "task": text,
        "delimiter": delimiter,
        "srun_options": "".join(f" {shlex.quote(option)}" for option in srun_options(config)),
    }
    if config.runtime != "none":
        image = pyxis_image if config.runtime == "pyxis" else apptainer_image
        values |= {
            "image": shlex.quote(image(config.container_image or "", chdir)),
            "mounts": list(mounts(config, chdir)),
            "workdir": shlex.quote(config.container_workdir) if config.container_workdir else '"$PWD"',
            "container_flags": list(container_flags(config)),
            "container_env": sorted({*environment, "MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE"}),
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


def apptainer_image(image: str, chdir: str) -> str:
    """The image in Apptainer's spelling: ``docker://registry/name:tag``, or an absolute path."""
    if re.match(r"[/.~]", image) or re.search(r"\.(sif|img|simg)$", image):
        return absolute(image, chdir)
    return image if "://" in image else f"docker://{image.replace('#', '/')}"


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
    """The container runtime's flags that come from the section."""
    if config.runtime == "apptainer":
        yield from ["--nv"] if _gpus(config) else []
        yield from {True: ['--home="$HOME"'], False: ["--no-home"], None: []}[config.container_mount_home]
    elif config.container_mount_home is not None:
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
