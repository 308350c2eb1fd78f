"""The training command: AutoModel of either generation, alone or under torchrun. Words, not text, until the end."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from automodel_nb.rendering.shell import Raw, in_job_dir, join

Generation = Literal["old", "new"]
_RECIPE = in_job_dir("recipe.yaml")
TORCHRUN = "torch.distributed.run"
FT_LAUNCHER = "nvidia_resiliency_ext.fault_tolerance.launcher"  # the script `ft_launcher`
_ONE = ("--nproc-per-node", "1")


@dataclass(frozen=True, slots=True)
class Training:
    """What is trained, and by which AutoModel.

    Attributes:
        generation: ``new`` is 0.4 and later (``automodel config.yaml``), ``old`` is before.
        python: the interpreter, or a prefix that ends in one (``uv run --no-sync python``), as a shell reads it.
        command, domain: the older generation's words (``finetune``, ``llm``).
        overrides: AutoModel's own ``--a.b=value`` arguments, and words of ours such as the checkpoint directory.
        shell: the user's own command instead of AutoModel's; the other fields are then without meaning.
    """

    generation: Generation = "new"
    python: str = "python"
    command: str = "finetune"
    domain: str = "llm"
    overrides: Sequence[str] = ()
    shell: str | None = None


def generation(version: str | None) -> Generation:
    """The command line that a version of AutoModel has; the newer one where the version is not known."""
    if version is None:
        return "new"
    numbers = [int(part) for part in version.split(".")[:2] if part.isdigit()]
    return "old" if numbers and numbers < [0, 4] else "new"


def alone(training: Training) -> str:
    """One process on one device, without torchrun: its exit code and its signals are the training's own."""
    if training.shell is not None:
        return training.shell
    # On a node with more devices either generation's command line would start torchrun on all of them.
    return join([*_python(training), *_automodel(training, _ONE), *training.overrides])


def torchrun(training: Training, options: Sequence[str], *, module: str = TORCHRUN, before_worker: Sequence[str] = ()) -> str:
    """Several processes.

    Args:
        training: what they run.
        options: torchrun's own (``--standalone``, ``--nproc-per-node=8``, rendezvous).
        module: torchrun's, or one that takes its place.
        before_worker: words in front of each worker's own command, such as a profiler's.
    """
    if training.shell is not None:
        return training.shell
    # AutoModel before 0.4 does not see that it is torchrun's worker: each would start torchrun again, on all devices.
    worker = _automodel(training, _ONE if training.generation == "old" else ())
    if before_worker:
        worker = ["--no-python", *before_worker, *_python(training), *worker]
    # not the `torchrun` on PATH: that one may belong to another Python
    return join([*_python(training), "-m", module, *options, *worker, *training.overrides])


def checkpoint_override() -> Raw:
    """AutoModel's checkpoint directory, in the job's own one."""
    return Raw(f"--checkpoint.checkpoint_dir={in_job_dir('checkpoints')}")


def _python(training: Training) -> list[str]:
    return shlex.split(training.python)


def _automodel(training: Training, options: Sequence[str]) -> list[str]:
    if training.generation == "old":
        return ["-m", "nemo_automodel._cli.app", training.command, training.domain, "-c", _RECIPE, *options]
    return ["-m", "nemo_automodel.cli.app", _RECIPE, *options]
