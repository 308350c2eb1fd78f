"""Will it start from where it should, and not from somebody else's checkpoint?"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from automodel_nb.checks.places import paths_in_recipe
from automodel_nb.checks.rules import Problem, rule
from automodel_nb.checks.world import checkpoints, number
from automodel_nb.findings import Fix

if TYPE_CHECKING:
    from automodel_nb.checks.facts import CheckpointFacts, Facts
    from automodel_nb.planning.parts import Parts

_DIR = "checkpoint.checkpoint_dir"
_RESTORE = "checkpoint.restore_from"


@rule("restore-missing", "error")
def restored_checkpoint_exists(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """The checkpoint that `checkpoint.restore_from` names exists.

    Source: AutoModel raises FileNotFoundError for one that does not, once the model has loaded.
    """
    for place in facts.places:
        seen = facts.of(place)
        if place.role == "restore" and seen and not seen.exists and not seen.elsewhere:
            fix = Fix("write LATEST for the newest one of the checkpoint directory", place.field, "LATEST")
            yield Problem(f"there is no checkpoint {place.inside}", place.field, fix)


@rule("restore-format", "error")
def restored_checkpoint_is_a_path(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """`checkpoint.restore_from` is a path or a name, no mapping.

    Source: AutoModel raises TypeError for the mapping `restore_from: {path: ...}`.
    """
    value = parts.recipe.get(_RESTORE)
    if value is not None and not isinstance(value, str) and parts.config.command is None:
        path = value.get("path") if isinstance(value, dict) else None
        fix = Fix(f"write {path}", _RESTORE, path) if isinstance(path, str) else Fix("write the path of a checkpoint")
        yield Problem("checkpoint.restore_from must be a path", _RESTORE, fix)


@rule("nothing-to-train", "warning")
def there_is_something_to_train(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """The checkpoint directory does not hold the end of this very training.

    Source: AutoModel resumes by itself from the newest checkpoint in `checkpoint.checkpoint_dir`; at the last step it trains
    nothing and ends with success.
    """
    found, last = _resumes(parts, facts), number(parts, "step_scheduler.max_steps")
    if found and found.step is not None and last and found.step + 1 >= last:
        message = f"{_DIR} holds {found.name}, the last of {last} steps already: AutoModel would train nothing and say success"
        yield Problem(message, _DIR, Fix("give another directory, or more max_steps"))


@rule("other-model", "warning")
def checkpoints_are_of_this_model(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """The checkpoint directory holds no other model's checkpoints.

    Source: AutoModel does not resume from a checkpoint of another model by itself, and saves its own beside it.
    """
    found, model = _resumes(parts, facts), parts.recipe.get("model.pretrained_model_name_or_path")
    if found and found.model and isinstance(model, str) and model != found.model and "$" not in found.model + model:
        message = f"{_DIR} holds checkpoints of {found.model}, and this trains {model}"
        yield Problem(message, _DIR, Fix("give another directory"))


@rule("resumes", "hint")
def resuming_is_meant(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """A checkpoint directory that is not empty is one to go on from.

    Source: AutoModel resumes by itself from the newest checkpoint in `checkpoint.checkpoint_dir`.
    """
    found, last = _resumes(parts, facts), number(parts, "step_scheduler.max_steps")
    if found and not (found.step is not None and last and found.step + 1 >= last):
        message = f"training goes on from {found.name}, which is in {_DIR}"
        yield Problem(message, _DIR, Fix("give another directory to begin anew"))


@rule("tilde", "warning")
def tilde_is_not_expanded(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """Paths of models and checkpoints in the recipe do not begin with `~`.

    Source: AutoModel and transformers take `~` as the name of a directory (in the launcher section it is the home directory).
    """
    for role, field, text in paths_in_recipe(parts):
        if role != "data" and re.match(r"~(/|$)", text):
            path = parts.facts.there.path(text) if parts.facts.there else os.path.expanduser(text)
            yield Problem(f"AutoModel does not expand `~` in {text}", field, Fix(f"write {path}", field, path))


def _resumes(parts: Parts, facts: Facts) -> CheckpointFacts | None:
    """What AutoModel would resume from by itself."""
    return facts.resumes if checkpoints(parts) and parts.recipe.get(_RESTORE) is None else None


RULES = (
    restored_checkpoint_exists,
    restored_checkpoint_is_a_path,
    there_is_something_to_train,
    checkpoints_are_of_this_model,
    resuming_is_meant,
    tilde_is_not_expanded,
)
