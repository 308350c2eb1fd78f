"""A SkyPilot launch: the task, what SkyPilot itself says of it, and what it costs."""

from __future__ import annotations

from automodel_nb.errors import MissingDependencyError
from automodel_nb.findings import Finding, Fix
from automodel_nb.interpolation import EnvTemplate
from automodel_nb.launchers import skypilot_client as client
from automodel_nb.launchers import skypilot_prices as prices
from automodel_nb.launchers import skypilot_validation as validation
from automodel_nb.plan import JOB_DIR_PLACEHOLDER, EnvironmentValue, SetAtStart
from automodel_nb.planning.parts import Parts, Rendered
from automodel_nb.rendering import environment
from automodel_nb.rendering import skypilot as rendering
from automodel_nb.rendering.command import torchrun
from automodel_nb.rendering.nccl import NCCL
from automodel_nb.rendering.slurm import FIRST_PORT


def render(parts: Parts, name: str) -> Rendered:
    """The command, task and environment of a job in the cloud.

    Args:
        parts: the request, read and typed.
        name: the job's name.
    """
    config = parts.config
    command = torchrun(parts.training, rendering.torchrun_options(config))
    defaults = environment.OURS | (NCCL if config.num_nodes > 1 else {})
    values: dict[str, EnvironmentValue] = {**defaults, **parts.user_environment}
    secrets = sorted(key for key, value in values.items() if isinstance(value, EnvTemplate))
    text = rendering.task_yaml(
        config,
        name=name,
        setup=rendering.setup_text(config, parts.training.python),
        run=rendering.run_text(config, command),
        chdir=parts.chdir,
        envs={key: str(value) for key, value in values.items() if key not in secrets},
        secrets=secrets,
    )
    return Rendered(
        command=command,
        submit=rendering.by_hand(config, secrets, f"{JOB_DIR_PLACEHOLDER}/task.yaml"),
        files={"task.yaml": text},
        environment={**_at_start(parts), **values},
        findings=[*_validated(parts, text), *_costs(parts)],
    )


def _at_start(parts: Parts) -> dict[str, EnvironmentValue]:
    port = parts.config.master_port
    return {
        "AUTOMODEL_JOB_DIR": SetAtStart(f"{rendering.REMOTE_DIR} on each node"),
        "HF_HOME": SetAtStart(parts.config.hf_home or "~/.cache/huggingface on each node"),
        "MASTER_ADDR": SetAtStart("the first node's address"),
        "MASTER_PORT": str(port) if port is not None else SetAtStart(f"{FIRST_PORT}, or the next free one"),
        "WORLD_SIZE": SetAtStart("nodes times processes on each"),
    }


def _validated(parts: Parts, text: str) -> list[Finding]:
    try:
        found = validation.problems(text)
    except MissingDependencyError as error:
        return [parts.finding("no-skypilot", "error", str(error), "skypilot")]
    return [
        parts.finding(
            "skypilot-refuses",
            "error",
            problem.message,
            f"skypilot.{problem.field}" if problem.field else "skypilot",
            Fix(problem.fix) if problem.fix else None,
        )
        for problem in found
    ]


def _costs(parts: Parts) -> list[Finding]:
    config = parts.config
    findings = []
    if client.installed() and (price := prices.price_of(config)) is not None:
        hourly = price.hourly(use_spot=config.use_spot)
        day = f"; {hourly * 24:.0f} $ a day" if hourly else ""
        findings.append(parts.finding("price", "hint", f"{price}{day}", "skypilot.accelerators"))
    if rendering.is_managed(config):
        findings.append(parts.finding("controller", "hint", prices.CONTROLLER, "skypilot.managed"))
    return findings
