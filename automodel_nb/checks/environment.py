"""Variables and secrets in the recipe, which AutoModel resolves itself when it reads it."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from difflib import get_close_matches
from typing import TYPE_CHECKING

from automodel_nb.checks.rules import Problem, rule
from automodel_nb.checks.world import environment_is_known, environment_of, is_set, leaves, variables
from automodel_nb.findings import Fix
from automodel_nb.interpolation import literal_token, looks_secret

if TYPE_CHECKING:
    from automodel_nb.checks.facts import Facts
    from automodel_nb.planning.parts import Parts

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SHELL_DEFAULT = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*):?[-=](?P<default>.*)")


@rule("recipe-variable", "error")
def variables_are_set(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """Each environment variable that the recipe refers to without a default is one that the job has.

    The job starts from few variables of the notebook's environment; others are passed in `env_vars`. Silent where an image,
    `pre_commands` or a cloud's setup may set it.

    Source: AutoModel raises KeyError when it reads the recipe (`resolve_yaml_env_vars`), in whatever section.
    """
    if not _resolves(parts) or not environment_is_known(parts):
        return
    known = environment_of(parts)
    for field, text in _texts(parts):
        for written, name, default in variables(text):
            if default or is_set(name, known) or _SHELL_DEFAULT.fullmatch(name):
                continue
            place = f"{parts.sources.method}.env_vars.{name}"
            if name in parts.environ and _NAME.fullmatch(name):
                fix = Fix(f"pass it on: {name}: ${{{name}}} in env_vars", place, f"${{{name}}}")
                yield Problem(f"`{written}` is set in the notebook, but not in the job", field, fix)
            else:
                near = get_close_matches(name, known, 1, 0.8)
                fix = Fix(f"did you mean ${{{near[0]}}}?" if near else "set it in env_vars, or write ${NAME,default}")
                yield Problem(f"`{written}` is not set in the job, and AutoModel stops there", field, fix)


@rule("recipe-env-syntax", "error")
def defaults_are_automodels(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """A default in the recipe is written as AutoModel reads it, `${VAR,default}`, not as a shell does.

    Source: AutoModel takes `${VAR:-x}` for a variable named `VAR:-x` (KeyError when it reads the recipe).
    """
    if not _resolves(parts):
        return
    for field, text in _texts(parts):
        for written, name, default in variables(text):
            shell = _SHELL_DEFAULT.fullmatch(name)
            if shell and not default:
                right = f"${{{shell['name']},{shell['default']}}}"
                fix = Fix(f"write {right}", field, text.replace(written, right))
                yield Problem(f"AutoModel does not know the form `{written}`", field, fix)


@rule("secret-in-clear", "error")
def secrets_stay_text(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """A secret that the recipe refers to does not read as a number, a boolean or a list.

    Source: AutoModel saves and logs a resolved text as its `${VAR}`, but a value that parses (`12345678`) in clear.
    """
    if not _resolves(parts):
        return
    known = environment_of(parts)
    for field, text in _texts(parts):
        for written, name, _ in variables(text):
            value = known.get(name)
            if looks_secret(name) and value is not None and text.strip() == written and _parses(value):
                message = (
                    f"the value of `{written}` reads as a number or list, and AutoModel would write it into its log in clear"
                )
                yield Problem(message, field, Fix("leave it out here: libraries take it from the environment by themselves"))


@rule("secret-in-recipe", "error")
def no_token_in_the_recipe(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """No token (`hf_…`, a Weights & Biases key, …) is written into the recipe.

    Source: the recipe is saved with the job and with every checkpoint, and printed in the log.
    """
    for field, text in _texts(parts):
        if literal_token(text, field.rpartition(".")[2]):
            fix = Fix("take it out; pass it by name in env_vars, as ${VAR}")
            yield Problem(f"`{field}` holds a token itself", field, fix)


def _resolves(parts: Parts) -> bool:
    """AutoModel resolves variables since 0.3; before, a recipe's text stays as it is."""
    version = parts.facts.automodel or parts.config.automodel_version
    numbers = [int(part) for part in (version or "").split(".")[:2] if part.isdigit()]
    return parts.config.command is None and not (numbers and numbers < [0, 3])


def _texts(parts: Parts) -> Iterator[tuple[str, str]]:
    for field, value in leaves(parts.recipe.values):
        if isinstance(value, str):
            yield field, value


def _parses(text: str) -> bool:
    if text.lower() in ("true", "false", "none"):
        return True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python has something to say of `1if`
            ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


RULES = (variables_are_set, defaults_are_automodels, secrets_stay_text, no_token_in_the_recipe)
