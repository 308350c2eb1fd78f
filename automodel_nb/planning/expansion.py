"""``${VAR}`` in the launcher section: expanded, kept as a name, or left to the shell, by what the field is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from automodel_nb.findings import Finding
from automodel_nb.interpolation import EnvTemplate, env_value, expand
from automodel_nb.planning.there import There

#: Shell by design: what `$` means there, the job's shell decides.
SHELL_FIELDS = {"command", "pre_commands", "setup"}
#: Values that travel by name, and the variable that carries each.
SECRET_FIELDS = {"hf_token": "HF_TOKEN", "wandb_key": "WANDB_API_KEY"}


def expand_section(
    method: str, section: Mapping[str, Any], environ: Mapping[str, str], there: There | None = None
) -> tuple[dict[str, Any], dict[str, str | EnvTemplate], list[Finding]]:
    """Expand a launcher section.

    Args:
        method: the launch method.
        section: its fields, as written.
        environ: the notebook's environment.
        there: the login node that the launch goes through, whose variables the fields mean then. ``env_vars`` carries the
            notebook's values, but for who and where the user is there.

    Returns:
        The fields with ``${VAR}`` expanded where that is done; the environment that ``env_vars`` and the secret fields
        ask for; what is wrong or doubtful.
    """
    fields: dict[str, Any] = {}
    environment: dict[str, str | EnvTemplate] = {}
    findings: list[Finding] = []
    known = there.variables(environ) if there else environ
    for name, value in section.items():
        if name == "env_vars" and isinstance(value, dict):
            for key, text in value.items():
                if isinstance(text, dict | list):
                    continue  # the configuration says what is wrong with it
                text = there.login(text) if there and isinstance(text, str) else text
                environment[key], found = env_value(key, text or "", environ, field=f"{method}.env_vars.{key}", **_place(text))
                findings += found
            fields[name] = value
        elif name in SECRET_FIELDS and isinstance(value, str):
            environment[SECRET_FIELDS[name]], found = env_value(name, value, environ, field=f"{method}.{name}", **_place(value))
            findings += found
            fields[name] = value
        elif name in SHELL_FIELDS:
            fields[name] = value
        else:
            fields[name], found = _expanded(value, known, f"{method}.{name}")
            findings += found
    return fields, environment, findings


def _expanded(value: Any, environ: Mapping[str, str], field: str) -> tuple[Any, list[Finding]]:
    if isinstance(value, dict):
        pairs = {key: _expanded(item, environ, f"{field}.{key}") for key, item in value.items()}
        return {key: item for key, (item, _) in pairs.items()}, [found for _, all_ in pairs.values() for found in all_]
    if isinstance(value, list):
        items = [_expanded(item, environ, f"{field}.{index}") for index, item in enumerate(value)]
        return [item for item, _ in items], [found for _, all_ in items for found in all_]
    if not isinstance(value, str) or "$" not in value:
        return value, []
    text, findings = expand(value, environ, field=field, **_place(value))
    replace = getattr(value, "replaced", None)  # a Scalar keeps its place
    return (replace(text) if replace else text), findings


def _place(value: object) -> dict[str, Any]:
    return {"line": getattr(value, "line", None), "column": getattr(value, "column", None)}
