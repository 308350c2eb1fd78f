"""Does AutoModel read what the recipe says? A typo costs minutes of model loading, or is ignored in silence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING

from automodel_nb.checks.rules import Problem, rule
from automodel_nb.checks.world import leaves
from automodel_nb.findings import Fix

if TYPE_CHECKING:
    from automodel_nb.checks.facts import Facts
    from automodel_nb.planning.parts import Parts

#: Top-level names that recipes of AutoModel 0.3 to 0.7 read: what a typo is compared with.
SECTIONS = (
    "recipe", "seed", "rng", "step_scheduler", "dist_env", "model", "teacher_model", "checkpoint", "distributed", "loss_fn",
    "dataset", "validation_dataset", "packed_sequence", "dataloader", "validation_dataloader", "optimizer", "lr_scheduler",
    "peft", "wandb", "mlflow", "comet", "quantization", "compile", "fp8", "qat", "freeze_config", "clip_grad_norm", "processor",
    "kd_ratio", "kd_loss_fn", "benchmark", "tool_call_eval", "moe_metrics", "neftune", "prewarm", "mfu", "domain_mixture",
    "embedding_row_repair", "sdpa_method", "autopipeline", "parallelizer", "nvtx", "tokenizer",
)  # fmt: skip
_USUAL = "TrainFinetuneRecipeForNextTokenPrediction"
#: Sections of other launchers that current AutoModel does not have.
_OTHER_LAUNCHERS = ("k8s", "kubernetes", "nemo_run", "lepton")


@rule("recipe-key", "error", at_key=True)
def keys_are_known(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """AutoModel reads each key of `step_scheduler`, `checkpoint`, `distributed`, `optimizer`, `lr_scheduler`, `dataloader`,
    `mlflow` and `comet`.

    Source: the fields of the installed AutoModel's own config classes (`StepSchedulerConfig`, `CheckpointingConfig`, …), and
    what the constructor of a `torch.optim` class takes; any other key raises TypeError, mostly once the model has loaded.
    Silent where no AutoModel is installed, for recipes that are not its own, and for other optimizers.
    """
    schema = facts.schema
    recipe = recipe_name(parts)
    if schema is None or not schema.reads_typed(recipe):
        return
    for section, values in parts.recipe.values.items():
        if not isinstance(values, Mapping):
            continue
        if section == "distributed":
            known = schema.distributed_keys(str(values.get("strategy") or "fsdp2").lower())
        elif section == "optimizer":
            known = schema.optimizer_keys(recipe, str(values.get("_target_")))
        elif section in ("dataloader", "validation_dataloader"):
            known = schema.dataloader_keys(recipe)
        else:
            known = schema.keys(section)
        for key in values if known is not None else ():
            if known is not None and key not in known:
                yield Problem(f"AutoModel has no `{section}.{key}`", f"{section}.{key}", _near(str(key), known, values))


@rule("unknown-section", "warning", at_key=True)
def sections_are_spelled_right(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """No top-level name is a near miss of one that recipes read.

    Source: AutoModel ignores a top-level section that it does not know, and trains with its defaults.
    """
    for name in _unread(parts, facts):
        near = get_close_matches(name, SECTIONS, 1, 0.8)
        if near and near[0] not in parts.recipe.values and not name.startswith("validation_dataset"):
            yield Problem(f"AutoModel ignores `{name}`", name, Fix(f"did you mean `{near[0]}`?"))


@rule("ignored-section", "hint", at_key=True)
def sections_are_read(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """Each top-level section is one that some recipe of the installed AutoModel reads.

    Source: the text of the installed AutoModel's recipes. Silent where none is installed, for recipes that are not its own,
    and for names that begin with `_`, `.` or `x-`, which hold anchors.
    """
    if facts.schema is None:
        return
    for name in _unread(parts, facts):
        if not get_close_matches(name, SECTIONS, 1, 0.8) and name not in _OTHER_LAUNCHERS:
            yield Problem(f"AutoModel does not read `{name}`", name)


@rule("other-launcher", "error", at_key=True)
def no_other_launcher(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """The recipe has no section of another launcher (`nemo_run`, `k8s`, `kubernetes`, `lepton`).

    Source: AutoModel's CLI, in which every worker would start that launcher (`nemo_run`), or which ignores the section.
    """
    for name in _OTHER_LAUNCHERS:
        if parts.recipe.values.get(name) and parts.config.command is None:
            message = f"`{name}` is a section of another launcher, and this is a launch by {parts.sources.method}"
            yield Problem(message, name, Fix("take it out"))


@rule("unknown-recipe", "error")
def recipe_exists(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """`recipe` names a recipe that the installed AutoModel has.

    Source: AutoModel's CLI finds recipes by the names of their classes, as is done here.
    """
    name, schema = recipe_name(parts), facts.schema
    if schema is None or not name or not schema.recipes:
        return
    field = "recipe._target_" if isinstance(parts.recipe.get("recipe"), Mapping) else "recipe"
    if "." not in name and name not in schema.recipes:
        near = get_close_matches(name, schema.recipes, 1, 0.5)
        fix = Fix(f"did you mean {near[0]}?", field, near[0]) if near else Fix(f"the usual one is {_USUAL}", field, _USUAL)
        yield Problem(f"AutoModel has no recipe `{name}`", field, fix)
    elif not schema.has(name):
        short = name.rpartition(".")[2]
        better = Fix(f"write {short}", field, short) if short in schema.recipes else None
        yield Problem(f"`{name}` does not exist in the installed AutoModel", field, better)


@rule("unknown-target", "error")
def targets_exist(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """Each `_target_` and function name that begins with `nemo_automodel.` exists in the installed AutoModel.

    Source: AutoModel imports them (`ImportError: Cannot resolve target`), after all that imports of PyTorch take.
    """
    if facts.schema is None:
        return
    for field, value in leaves(parts.recipe.values):
        key = field.rpartition(".")[2]
        ours = isinstance(value, str) and value.startswith("nemo_automodel.") and not field.startswith("recipe.")
        if ours and (key == "_target_" or key.endswith("_fn")) and not facts.schema.has(value):
            yield Problem(f"`{value}` does not exist in the installed AutoModel", field)


@rule("old-resume-key", "error", at_key=True)
def resume_keys_of_old_automodel(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """A recipe for AutoModel before 0.4 says `step_scheduler.ckpt_every_steps` and `checkpoint.restore_from`, too.

    Source: no release has `step_scheduler.checkpoint_interval` or a top-level `restore_from`, which published guidance uses.
    (For current AutoModel they are replaced in the recipe, which `published-key` tells.)
    """
    if parts.training.generation != "old" or parts.config.command is not None:
        return
    for field, instead in (
        ("step_scheduler.checkpoint_interval", "step_scheduler.ckpt_every_steps"),
        ("restore_from", "checkpoint.restore_from"),
    ):
        if parts.recipe.get(field) is not None:
            yield Problem(f"`{field}` is read by no release of AutoModel", field, Fix(f"write `{instead}`"))


def recipe_name(parts: Parts) -> str:
    """What `recipe` says: a short name or a dotted path; empty where it says nothing."""
    value = parts.recipe.get("recipe")
    if isinstance(value, Mapping):
        value = value.get("_target_")
    return value.strip() if isinstance(value, str) else ""


def _unread(parts: Parts, facts: Facts) -> Iterator[str]:
    """Top-level names that no recipe of AutoModel reads, where the recipe is one of AutoModel's own."""
    name = recipe_name(parts)
    if parts.config.command is not None or ("." in name and not name.startswith("nemo_automodel.")):
        return
    for section in parts.recipe.values:
        if (
            section in SECTIONS
            or section.startswith(("_", ".", "x-", "validation_dataset_"))
            or section in ("fault_tolerance", "ft")
        ):
            continue
        if facts.schema is None or not facts.schema.reads(section):
            yield section


def _near(key: str, known: frozenset[str], present: Mapping[str, object]) -> Fix | None:
    near = [name for name in get_close_matches(key, known, 3, 0.6) if not name.startswith("_")]
    if not near:
        return None
    return Fix(f"did you mean `{near[0]}`?" + (", which is given too: take one out" if near[0] in present else ""))


RULES = (
    keys_are_known,
    sections_are_spelled_right,
    sections_are_read,
    no_other_launcher,
    recipe_exists,
    targets_exist,
    resume_keys_of_old_automodel,
)
