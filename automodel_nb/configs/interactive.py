"""The `interactive:` section: this node."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator

from automodel_nb.configs.base import LauncherConfig, setting
from automodel_nb.configs.values import Count, Words, one_of


class InteractiveConfig(LauncherConfig):
    """torchrun on the node where the kernel runs."""

    nproc_per_node: Count | None = setting(
        None,
        "Training processes; one for each GPU of the node by default, else 1.",
        "most needed",
        unit="processes",
        example="8",
    )
    gpus: Words | None = setting(
        None, "Which GPUs, by number or UUID; all that the notebook sees by default.", "most needed", example="0,1"
    )
    device: Annotated[str, BeforeValidator(one_of("cuda", "cpu"))] | None = setting(
        None, "Where it trains; cuda where there is a GPU by default.", "most needed", example="cuda", choices=("cuda", "cpu")
    )
