"""An interactive launch: this node."""

from __future__ import annotations

from dataclasses import replace

from automodel_nb import cpu
from automodel_nb.findings import Finding, Fix
from automodel_nb.plan import JOB_DIR_PLACEHOLDER, EnvironmentValue, SetAtStart
from automodel_nb.planning.parts import Parts, Rendered
from automodel_nb.planning.training import preemption_signal
from automodel_nb.rendering import environment
from automodel_nb.rendering.command import alone, torchrun
from automodel_nb.rendering.interactive import script, supervisor_argv


def render(parts: Parts, name: str) -> Rendered:
    """The command, script and environment of a job on this node; none of them holds its name."""
    config, node = parts.config, parts.facts.node
    assert node is not None
    findings: list[Finding] = []
    device = config.device
    if device is None:
        device = "cuda" if node.gpus or config.gpus else "cpu"
        if device == "cpu" and config.command is None:
            message = "this node has no GPU that the notebook can see: it trains on the CPU, which is for trying out only"
            findings.append(parts.finding("no-gpu", "warning", message, "interactive.device", Fix("say `device: cpu`")))
    training = parts.training
    if device == "cpu" and config.command is None and parts.recipe.get("dist_env.backend") is None:
        # AutoModel's default, nccl, needs GPUs; the argument stands in the command for all to see
        training = replace(training, overrides=[*training.overrides, "--dist_env.backend=gloo"])
    processes = config.nproc_per_node or (len(config.gpus) if config.gpus else node.gpus if device == "cuda" else 1) or 1
    # --standalone takes a free port by itself; two such trainings on one node do not meet
    several = ["--standalone", f"--nproc-per-node={processes}"]
    command = alone(training) if processes == 1 else torchrun(training, several)
    if config.master_port is not None and config.command is None:
        message = f"master_port {config.master_port} is not used: torchrun --standalone takes a free port by itself"
        findings.append(parts.finding("port-not-used", "warning", message, "interactive.master_port", Fix("take it out")))
    return Rendered(
        command=command,
        submit=_submit(parts),
        files={"launch.sh": script(command, config.pre_commands, own_command=config.command is not None)},
        environment=_environment(parts, device, processes),
        findings=findings,
    )


def _environment(parts: Parts, device: str, processes: int) -> dict[str, EnvironmentValue]:
    config = parts.config
    values: dict[str, EnvironmentValue] = {}
    values |= environment.base(parts.environ, same_node=True, inherit=config.inherit_env)
    values |= environment.OURS | {"HF_HOME": environment.hf_home(config.hf_home, parts.environ)}
    if device == "cpu":
        values |= cpu.environment(processes)
    elif config.gpus:
        values["CUDA_VISIBLE_DEVICES"] = ",".join(config.gpus)
    values |= parts.user_environment
    if device == "cpu":  # before what the user has there, which the shim's own start-up hook then runs
        values["PYTHONPATH"] = cpu.path_before(values.get("PYTHONPATH"))
    values["AUTOMODEL_JOB_DIR"] = SetAtStart("the job's directory")
    return values


def _submit(parts: Parts) -> list[str]:
    return supervisor_argv(JOB_DIR_PLACEHOLDER, parts.chdir, preemption_signal(parts.recipe))
