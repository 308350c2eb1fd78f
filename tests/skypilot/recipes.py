"""Cells of the tests: a `skypilot:` section over the tiny recipe."""

from __future__ import annotations

from pathlib import Path

from automodel_nb import cpu
from tests.automodel.real import AIDS, recipe_text
from tests.skypilot.conftest import AUTOMODEL_PYTHON


def automodel_cell(
    tiny: Path, fields: str, *, gpus: int, checkpoint_dir: Path | None = None, sleep: float = 0, **values: object
) -> str:
    """A document that trains the tiny model on the lab's nodes, which have no GPU but in name."""
    variables = {**cpu.environment(gpus), "PYTHONPATH": f"{cpu.PATH}:{AIDS}", "AM_STEP_SLEEP": str(sleep)}
    env = "\n".join(f'    {name}: "{value}"' for name, value in variables.items())
    recipe = recipe_text(tiny, **values)
    if checkpoint_dir is not None:
        recipe = recipe.replace("\ncheckpoint:\n", f"\ncheckpoint:\n  checkpoint_dir: {checkpoint_dir}\n")
    return (
        f"skypilot:\n  infra: slurm/lab\n  python: {AUTOMODEL_PYTHON}\n  setup: 'true'\n"
        f'  accelerators: "H100:{gpus}"\n{fields}  env_vars:\n{env}\n{recipe}'
    )
