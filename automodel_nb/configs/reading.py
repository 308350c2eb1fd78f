"""From a launcher section's text to a typed config, or to every mistake in it at once, each with its place."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from automodel_nb.configs.base import LauncherConfig
from automodel_nb.configs.interactive import InteractiveConfig
from automodel_nb.configs.mounts import VolumeMapping
from automodel_nb.configs.skypilot import SkyPilotConfig
from automodel_nb.configs.slurm import FaultTolerance, SlurmConfig
from automodel_nb.configs.values import shown
from automodel_nb.findings import Finding, Fix, place_of

#: The config of each launch method.
CONFIGS: dict[str, type[LauncherConfig]] = {"interactive": InteractiveConfig, "slurm": SlurmConfig, "skypilot": SkyPilotConfig}

Where = tuple[str | int, ...]


def read(method: str, raw: Mapping[str, Any] | None) -> tuple[LauncherConfig | None, list[Finding]]:
    """Read one launcher section.

    Args:
        method: ``interactive``, ``slurm`` or ``skypilot``.
        raw: the section as nested dict, list and text (`document.Scalar`, which knows its place; plain text has none).
            A key whose value is None counts as not given.

    Returns:
        The config, or None where there is an error; and the findings: ``unknown-key`` and ``bad-value``, all of them at once.
    """
    model = CONFIGS[method]
    if raw is not None and not isinstance(raw, Mapping):
        message = f"`{method}:` must hold fields, such as `job_name: llm_finetune`, one a line"
        return None, [Finding("bad-value", "error", message, method, **_place(raw))]
    given = {name: value for name, value in (raw or {}).items() if value is not None}
    given_names = {str(name) for name in given}
    try:
        return model.model_validate({str(name): value for name, value in given.items()}), []
    except ValidationError as error:
        findings = []
        for problem in error.errors(include_url=False, include_input=False):
            where, why = problem["loc"], problem["msg"]
            if problem["type"] == "extra_forbidden":
                findings.append(_unknown(method, model, where, given, given_names))
            else:
                if problem["type"] == "missing":
                    why = "is missing"
                findings.append(_bad(method, model, where, why, given))
        return None, findings


def _bad(method: str, model: type[BaseModel], where: Where, why: str, raw: Mapping[str, Any]) -> Finding:
    of_key = where[-1] == "[key]"  # pydantic's mark of a mapping's key
    where = where[:-1] if of_key else where
    name = _dotted((method, *where))
    info = model.model_fields.get(str(where[0]))
    extra = info.json_schema_extra if info else None
    example = extra.get("example") if isinstance(extra, dict) else None
    fix = Fix(f"for example `{where[0]}: {example}`") if example and len(where) == 1 else None
    at = _key(_innermost(raw, where[:-1]), where[-1]) if of_key else _innermost(raw, where)
    return Finding("bad-value", "error", f"{name}: {why}", name, fix=fix, **_place(at))


def _unknown(method: str, model: type[BaseModel], where: Where, raw: Mapping[str, Any], given: set[str]) -> Finding:
    key = str(where[-1])
    inner: type[BaseModel] = {1: model}.get(len(where)) or (FaultTolerance if where[0] == "fault_tolerance" else VolumeMapping)
    others = [other for other, config in CONFIGS.items() if other != method and key in config.model_fields]
    parent = _innermost(raw, where[:-1]) if len(where) > 1 else raw
    place = _place(_key(parent, key))
    name = _dotted((method, *where))
    section = _dotted((method, *where[:-1]))
    if len(where) == 1 and others:
        what = "works with Slurm only" if key == "fault_tolerance" else f"is a field of {' and '.join(others)}, not of {method}"
        return Finding("unknown-key", "error", f"`{key}` {what}", name, fix=Fix("remove it"), **place)
    near = difflib.get_close_matches(key.lower().replace("-", "_"), inner.model_fields, 1, 0.6)
    fix = Fix(f"did you mean `{near[0]}`?") if near and near[0] not in given else None
    return Finding("unknown-key", "error", f"{section} has no field {shown(key)}", name, fix=fix, **place)


def _innermost(raw: Any, where: Where) -> Any:
    """The value that `where` leads to, or the last one on the way that the user wrote."""
    value = raw
    for step in where:
        if isinstance(value, Mapping):
            key = _key(value, step)
            if key is None:
                return value
            value = value[key] if value[key] is not None and value[key] not in ({}, []) else key  # what has no place itself
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return value
    return value


def _key(mapping: Any, name: object) -> Any:
    """The key of that text as the user wrote it, which knows its place; None where there is none."""
    return next((key for key in mapping if str(key) == str(name)), None) if isinstance(mapping, Mapping) else None


def _place(value: Any) -> dict[str, Any]:
    """Line and column of a value; of a list or mapping, those of the first thing in it."""
    while isinstance(value, Mapping | list) and value:
        value = next(iter(value))
    return place_of(value)


def _dotted(where: Where) -> str:
    text = ""
    for step in where:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text
