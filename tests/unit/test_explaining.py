"""Which field made which line: read off the renderers themselves."""

from __future__ import annotations

import pytest

import automodel_nb as am
from automodel_nb import configs
from automodel_nb.planning.explaining import explain

RECIPE = "recipe: TrainFinetuneRecipeForNextTokenPrediction\n"


@pytest.fixture(autouse=True)
def _token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "not-shown")


def made_by(text: str, method: str | None = None) -> dict[str, tuple[str, ...]]:
    """The fields of each line of the plan's script."""
    plan = am.preview(text, method)
    explained = explain(plan)
    name = next(name for name in plan.files if name != "recipe.yaml")
    lines = plan.files[name].splitlines()
    assert len(lines) == len(explained[name])
    return {line.strip(): fields for line, fields in zip(lines, explained[name], strict=True)}


def test_each_sbatch_option_has_its_field() -> None:
    text = """slurm:
  time: "10"
  account: mine
  env_vars: {HF_TOKEN: "${HF_TOKEN}", MODE: fast}
  extra_sbatch: {switches: 2}
  constraint: h100
"""
    lines = made_by(text + RECIPE)
    assert lines["#SBATCH --account=mine"] == ("slurm.account",)
    assert lines["#SBATCH --constraint=h100"] == ("slurm.constraint",)
    assert lines["#SBATCH --switches=2"] == ("slurm.extra_sbatch.switches",)
    assert lines["#SBATCH --nodes=1"] == ("slurm.nodes",)  # a default makes lines too
    assert set(lines["#SBATCH --gpus-per-node=8"]) >= {"slurm.ntasks_per_node"}
    fixed = {line for line, fields in lines.items() if line.startswith("#SBATCH") and not fields}
    assert fixed == {"#SBATCH --ntasks-per-node=1", "#SBATCH --open-mode=append"}


def test_rows_are_told_apart() -> None:
    text = 'slurm:\n  time: "10"\n  container_image: /i.sqsh\n  extra_mounts: ["/data", "/more:/in:ro"]\n'
    lines = made_by(text + RECIPE)
    assert lines["/data:/data"] == ("slurm.extra_mounts.0", "slurm.container_image")
    assert lines["/more:/in:ro"] == ("slurm.extra_mounts.1", "slurm.container_image")


def test_given_fields_come_before_defaults() -> None:
    lines = made_by("slurm:\n  ntasks_per_node: 8\n  time: '10'\n" + RECIPE)
    assert lines['export WORLD_SIZE="${WORLD_SIZE:-8}"'] == ("slurm.ntasks_per_node", "slurm.nodes")


def test_a_secret_is_explained_by_its_variable() -> None:
    lines = made_by(am.template("skypilot"))
    assert lines["HF_TOKEN: null"] == ("skypilot.env_vars.HF_TOKEN",)
    assert lines["accelerators: H100:8"] == ("skypilot.accelerators",)


@pytest.mark.parametrize("method", ["interactive", "slurm", "skypilot"])
def test_every_field_can_be_left_out(method: str) -> None:
    """Each field alone at its example: none of its variants stumbles."""
    for doc in configs.fields(method):
        if doc.kind in ("mapping", "list") or not (doc.example or doc.choices) or doc.name in ("hf_token", "wandb_key"):
            continue
        value = doc.example or doc.choices[-1]
        assert made_by(f'{method}:\n  {doc.name}: "{value}"\n' + RECIPE)
