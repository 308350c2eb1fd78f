"""``${VAR}`` in the launcher section: expanded, kept as a name, or left to the shell, by what the field is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from automodel_nb.findings import Finding, Fix, place_of
from automodel_nb.interpolation import EnvTemplate, env_value, expand, literal_token
from automodel_nb.planning.there import There

#: Shell by design: what `$` means there, the job's shell decides.
SHELL_FIELDS = {"command", "pre_commands", "setup"}
#: Values that travel by name, and the variable that carries each.
SECRET_FIELDS = {"hf_token": "HF_TOKEN", "wandb_key": "WANDB_API_KEY"}
_SECRETS_GO = Fix("take it out; secrets go into env_vars, as ${VAR}, and the shell reads $VAR")


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
                environment[key], found = env_value(
                    key, text or "", environ, field=f"{method}.env_vars.{key}", **place_of(text)
                )
                findings += found
            fields[name] = value
        elif name in SECRET_FIELDS and isinstance(value, str):
            environment[SECRET_FIELDS[name]], found = env_value(
                name, value, environ, field=f"{method}.{name}", **place_of(value)
            )
            findings += found
            fields[name] = value
        elif name in SHELL_FIELDS:
            fields[name] = value
            findings += _typed_tokens(value, f"{method}.{name}")
        else:
            fields[name], found = _expanded(value, known, f"{method}.{name}")
            findings += found
    return fields, environment, findings


def _typed_tokens(value: Any, field: str) -> list[Finding]:
    """Shell text is left alone, but a token typed into it would stand in the script for all to read."""
    lines = value if isinstance(value, list) else [value]
    return [
        Finding("literal-secret", "error", "a token is written here itself", field, fix=_SECRETS_GO, **place_of(line))
        for line in lines
        if isinstance(line, str) and literal_token(line)
    ]


def _expanded(value: Any, environ: Mapping[str, str], field: str) -> tuple[Any, list[Finding]]:
    if isinstance(value, dict):
        pairs = {key: _expanded(item, environ, f"{field}.{key}") for key, item in value.items()}
        return {key: item for key, (item, _) in pairs.items()}, [found for _, all_ in pairs.values() for found in all_]
    if isinstance(value, list):
        items = [_expanded(item, environ, f"{field}.{index}") for index, item in enumerate(value)]
        return [item for item, _ in items], [found for _, all_ in items for found in all_]
    if not isinstance(value, str) or ("$" not in value and not literal_token(value)):
        return value, []
    text, findings = expand(value, environ, field=field, **place_of(value))
    replace = getattr(value, "replaced", None)  # a Scalar keeps its place
    return (replace(text) if replace else text), findings
