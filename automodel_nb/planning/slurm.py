"""A launch through Slurm."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from dataclasses import replace

from automodel_nb import cpu
from automodel_nb.checks.time_limit import ENOUGH
from automodel_nb.checks.world import checkpoints
from automodel_nb.configs import SlurmConfig
from automodel_nb.findings import Finding, Fix
from automodel_nb.launchers.slurm import sbatch_argv
from automodel_nb.plan import JOB_DIR_PLACEHOLDER, EnvironmentValue, SetAtStart
from automodel_nb.planning.parts import Parts, Rendered
from automodel_nb.planning.training import preemption_signal
from automodel_nb.rendering import environment
from automodel_nb.rendering.command import FT_LAUNCHER, TORCHRUN, checkpoint_override, torchrun
from automodel_nb.rendering.nccl import NCCL
from automodel_nb.rendering.shell import Raw, in_job_dir
from automodel_nb.rendering.slurm import script, torchrun_options
from automodel_nb.rendering.slurm_task import Saving, fault_tolerant, profiler


def render(parts: Parts, name: str) -> Rendered:
    """The command, script and environment of a Slurm job of that name."""
    config: SlurmConfig = parts.config
    training = parts.training
    if config.array is not None:  # each task its own checkpoints: AutoModel resumes from what it finds
        own = Raw(f'{checkpoint_override()}/task"$SLURM_ARRAY_TASK_ID"')
        training = replace(training, overrides=[own if word == checkpoint_override() else word for word in training.overrides])
    module = FT_LAUNCHER if config.fault_tolerance else TORCHRUN
    options = [*torchrun_options(config), *fault_tolerant(config)]
    command = torchrun(training, options, module=module, before_worker=profiler(config))
    there = parts.facts.there
    files: dict[str, str] = {}
    if there and _on_cpu(config):  # our own files are not on that side
        files["sitecustomize.py"] = (cpu.PATH / "sitecustomize.py").read_text(encoding="utf-8")
        if config.command is None:
            command = f'env PYTHONPATH="$AUTOMODEL_JOB_DIR${{PYTHONPATH:+:$PYTHONPATH}}" {command}'
    values, ours = _environment(parts, config)
    saving = Saving(preemption_signal(parts.recipe), _signal_seconds(parts, config), _own_checkpoints(parts, config))
    text = script(config, command, name=name, chdir=parts.chdir, environment=ours, saving=saving)
    submit = sbatch_argv(JOB_DIR_PLACEHOLDER, parts.chdir, array=config.array is not None)
    return Rendered(
        command=command,
        submit=[*(["ssh", there.name] if there else []), *submit],
        files={"launch.sbatch": text, **files},
        environment=values,
        findings=list(_findings(parts, config, str(values["HF_HOME"]))),
    )


def _signal_seconds(parts: Parts, config: SlurmConfig) -> int:
    """How long before the time limit training is told to save; 0: not at all."""
    if config.signal is not None:
        return config.signal
    limit = config.time.seconds if config.time else 0
    return ENOUGH if config.command is None and checkpoints(parts) and limit > 2 * ENOUGH else 0


def _own_checkpoints(parts: Parts, config: SlurmConfig) -> str:
    """The checkpoint directory as a shell's word, where the recipe names a checkpoint to begin with; else empty.

    Source: AutoModel resumes from its own directory only where `checkpoint.restore_from` is absent or `LATEST`, so that a
    resumed job which is preempted would begin at the same checkpoint again.
    """
    begins = parts.recipe.get("checkpoint.restore_from")
    if config.command is not None or parts.training.generation == "old" or not isinstance(begins, str):
        return ""
    named = parts.recipe.get("checkpoint.checkpoint_dir")
    own = '/task"$SLURM_ARRAY_TASK_ID"' if config.array is not None else ""
    return shlex.quote(named) if isinstance(named, str) else in_job_dir("checkpoints") + own


def _on_cpu(config: SlurmConfig) -> bool:
    return config.gpus_per_node == "0" and config.runtime == "none"


def _environment(parts: Parts, config: SlurmConfig) -> tuple[dict[str, EnvironmentValue], list[str]]:
    """The job's environment, and the names of what is set in it on purpose (which wins over an image's)."""
    values: dict[str, EnvironmentValue] = {}
    values |= environment.base(parts.environ, same_node=False, inherit=config.inherit_env)
    ours: dict[str, EnvironmentValue] = {
        **environment.OURS,
        **NCCL,
        "HF_HOME": environment.hf_home(config.hf_home, parts.environ),
    }
    if _on_cpu(config):
        ours |= cpu.environment(config.ntasks_per_node)
    if _on_cpu(config) and not parts.facts.there:
        ours["PYTHONPATH"] = os.pathsep.join(filter(None, [str(cpu.PATH), str(values.get("PYTHONPATH", ""))]))
    ours |= parts.user_environment
    for name, what in {
        "MASTER_ADDR": "the first node's name",
        "MASTER_PORT": str(config.master_port or "13742, or the next port that is free on the first node"),
        "WORLD_SIZE": str(config.nodes * config.ntasks_per_node),
    }.items():
        ours.setdefault(name, SetAtStart(what))
    ours["AUTOMODEL_JOB_DIR"] = SetAtStart("the job's directory")
    return values | ours, list(ours)


def _findings(parts: Parts, config: SlurmConfig, hf_home: str) -> Iterator[Finding]:
    if parts.facts.there:
        yield from parts.facts.there.findings(parts, parts.sources.section)
    if config.chain_length > 1:
        message = f"{config.chain} jobs are submitted, each after the one before (--dependency=afterany:ID)"
        yield parts.finding("chain", "hint", f"{message}; those that are not needed are cancelled", "slurm.chain")
    if config.container_image is None:
        return
    if config.runtime == "none":
        message = "an image is given, and container_runtime none cannot run it"
        yield parts.finding("container-runtime", "error", message, "slurm.container_runtime", Fix("say `pyxis`"))
    for field, path in {"slurm.chdir": parts.chdir, "slurm.job_dir": config.job_dir, "slurm.hf_home": hf_home}.items():
        if "," in path or ":" in path:
            message = f"{path} is mounted in the container, and a mount has no way to write a comma or colon in a path"
            yield parts.finding("mount-path", "error", message, field, Fix("use another directory"))
