"""What every launch method's section has in common."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from automodel_nb.configs.values import (
    Environment,
    Flag,
    Port,
    SecretReference,
    Shell,
    ShellLines,
    Text,
    matching,
    one_of,
)

#: Where the form puts a field.
Group = Literal["most needed", "resources", "scheduling", "container", "environment", "training", "profiling", "advanced"]


def setting(
    default: Any,
    description: str,
    group: Group = "advanced",
    *,
    unit: str = "",
    example: str = "",
    choices: tuple[str, ...] = (),
) -> Any:
    """A field of a launcher section.

    Args:
        default: the value where the user gives none; None for a field that then has no effect.
        description: one sentence or two, for the form's help and the documentation.
        group: where the form puts it.
        unit: what a number counts.
        example: what a user would type.
        choices: the words it takes, where there are few.
    """
    extra: dict[str, Any] = {"group": group, "unit": unit, "example": example, "choices": list(choices)}
    return Field(default, description=description, json_schema_extra=extra)


AutoModelVersion = Annotated[str, BeforeValidator(matching(r"\d+(\.\d+)+[\w.+]*", "a release of AutoModel, such as 0.7.0"))]


class LauncherConfig(BaseModel):
    """The fields that `interactive`, `slurm` and `skypilot` share."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    job_name: Text | None = setting(
        None, "Name of the job, in the queue and in its directory's name.", "most needed", example="llm_finetune"
    )
    job_dir: Text = setting(
        "./automodel_jobs",
        "Directory under which each job gets a directory of its own.",
        "environment",
        example="./automodel_jobs",
    )
    chdir: Text | None = setting(
        None,
        "Directory that relative paths in the recipe mean; the notebook's own by default.",
        "environment",
        example="~/project",
    )
    env_vars: Environment = setting(
        {},
        "Environment variables of the job, each exactly as written; ${NAME} takes the value from the notebook's environment.",
        "environment",
        example='HF_TOKEN: "${HF_TOKEN}"',
    )
    inherit_env: Flag = setting(
        False,
        "Pass the notebook's whole environment to the job, without the variables of a job it runs in itself.",
        "environment",
    )
    python: Text | None = setting(
        None,
        "The job's Python interpreter, or a command in front of it; the notebook's own by default, in a container the image's.",
        "environment",
        example="uv run --no-sync python",
    )
    pre_commands: ShellLines = setting(
        (),
        "Shell commands run in each node's task right before training, inside the container where there is one.",
        "environment",
        example="source ~/venv/bin/activate",
    )
    hf_home: Text | None = setting(
        None,
        "Hugging Face's cache: created, exported as HF_HOME and mounted; $HF_HOME or ~/.cache/huggingface by default.",
        "environment",
        example="~/.cache/huggingface",
    )
    hf_token: SecretReference | None = setting(
        None, "Hugging Face's token, by the name of the variable that holds it.", "environment", example="${HF_TOKEN}"
    )
    wandb_key: SecretReference | None = setting(
        None, "Weights & Biases' key, by the name of the variable that holds it.", "environment", example="${WANDB_API_KEY}"
    )
    command: Shell | None = setting(
        None, "Your own shell command in place of AutoModel's; it runs once a node.", "training", example="python train.py"
    )
    automodel_version: AutoModelVersion | None = setting(
        None, "Release of AutoModel where the job runs, if that cannot be seen from here.", "training", example="0.7.0"
    )
    automodel_command: Annotated[str, BeforeValidator(one_of("finetune", "pretrain", "kd", "benchmark"))] | None = setting(
        None,
        "Command of AutoModel before 0.4, whose recipes do not name it.",
        "training",
        example="finetune",
        choices=("finetune", "pretrain", "kd", "benchmark"),
    )
    automodel_domain: Annotated[str, BeforeValidator(one_of("llm", "vlm"))] | None = setting(
        None, "Domain of AutoModel before 0.4.", "training", example="llm", choices=("llm", "vlm")
    )
    master_port: Port | None = setting(
        None, "Rendezvous port; by default 13742 if it is free on the first node, else the next free one.", example="13742"
    )
