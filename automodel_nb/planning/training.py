"""The recipe and the command that trains it."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from automodel_nb.document.published import published_keys
from automodel_nb.findings import Finding, Fix
from automodel_nb.planning.sources import Sources
from automodel_nb.rendering.command import Generation, Training, checkpoint_override
from automodel_nb.rendering.overrides import override_argument, reads_back, scalar_override

_RECIPE_EXAMPLE = "recipe: TrainFinetuneRecipeForNextTokenPrediction"


@dataclass(frozen=True)
class Recipe:
    """What AutoModel will read.

    Attributes:
        text: of ``recipe.yaml``.
        diff: of the edits made to the user's text, empty where there are none.
        values: the recipe as AutoModel sees it, what travels as arguments included; for checks.
        arguments: AutoModel's own ``--a.b=value`` arguments.
        findings: what is wrong or was edited.
    """

    text: str
    diff: str
    values: Mapping[str, Any]
    arguments: tuple[str, ...]
    findings: tuple[Finding, ...]

    def get(self, path: str) -> Any:
        """A value by its dotted path, None where there is none."""
        value: Any = self.values
        for key in path.split("."):
            value = value.get(key) if isinstance(value, Mapping) else None
        return value


def read_recipe(sources: Sources, generation: Generation, *, own_command: bool) -> Recipe:
    """Take the recipe out of a request's texts.

    Args:
        sources: the texts.
        generation: of the AutoModel that will read it.
        own_command: the user's own command trains, AutoModel reads nothing.
    """
    findings: list[Finding] = list(sources.base.recipe_findings)
    text, diff = sources.base.recipe_text, ""
    values: dict[str, Any] = dict(sources.base.recipe())
    if generation == "new" and not own_command:
        edited = published_keys(sources.base)
        text, diff = edited.text, edited.diff
        values = edited.values
        findings += edited.findings
    arguments: list[str] = []
    if sources.cell is not None:
        for path, value in _leaves(sources.cell.recipe()):
            try:
                arguments.append(override_argument(path, value))
                _put(values, path, value)
            except ValueError as error:
                line, column = sources.cell.place(path) or (None, None)
                findings.append(Finding("cannot-travel", "error", str(error), path, line, column))
    for path, given in sources.recipe_overrides.items():
        try:
            arguments.append(scalar_override(path, given))
            _put(values, path, reads_back(given, path.rpartition(".")[2]))
        except ValueError as error:
            findings.append(Finding("bad-override", "error", f"--set {path}: {error}", path))
    if not own_command:
        findings += _without_recipe(sources, values, generation)
    return Recipe(text, diff, values, tuple(arguments), tuple(findings))


def make_training(recipe: Recipe, config: Any, generation: Generation, python: str) -> Training:
    """The training command's parts."""
    overrides: list[str] = list(recipe.arguments)
    if recipe.get("checkpoint.checkpoint_dir") is None:
        # AutoModel's default, checkpoints/ under the working directory, would silently resume another job
        overrides.append(checkpoint_override())
    return Training(
        generation=generation,
        python=python,
        command=config.automodel_command or "finetune",
        domain=config.automodel_domain or "llm",
        overrides=overrides,
        shell=config.command,
    )


def preemption_signal(recipe: Recipe) -> str:
    """The signal on which AutoModel saves and stops: ``step_scheduler.preemption_signal`` (0.6 and later), else SIGTERM."""
    value = recipe.get("step_scheduler.preemption_signal")
    if isinstance(value, list) and value:
        value = value[0]
    try:
        if isinstance(value, int) and not isinstance(value, bool):
            return signal.Signals(value).name
        if isinstance(value, str):
            return signal.Signals[value.upper()].name
    except (ValueError, KeyError):
        pass
    return "SIGTERM"


def _without_recipe(sources: Sources, values: Mapping[str, Any], generation: Generation) -> list[Finding]:
    if generation == "old" or _names_a_recipe(values.get("recipe")):
        return []
    message = "the recipe does not say which one it is: current AutoModel needs `recipe:`"
    place = sources.base.place("recipe") or (None, None)
    fix = Fix(f"add {_RECIPE_EXAMPLE}")
    return [Finding("no-recipe", "error", message, "recipe", place[0], place[1], fix, sources.base.source)]


def _names_a_recipe(value: object) -> bool:
    if isinstance(value, Mapping):
        value = value.get("_target_")
    return isinstance(value, str) and bool(value.strip())


def _leaves(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        path = f"{prefix}{key}"
        if isinstance(value, Mapping) and value and all(isinstance(name, str) and "." not in name for name in value):
            yield from _leaves(value, f"{path}.")
        else:
            yield path, value


def _put(values: Any, path: str, value: object) -> None:
    *parents, last = path.split(".")
    for key in parents:
        below = values.get(key)
        if not isinstance(below, dict):
            below = values[key] = {}
        values = below
    values[last] = value
