"""Which field made which line of a script: a field is left out (or given another value), and the lines that change are its.

So there is no table of lines and fields that could grow apart from the renderers: they themselves are asked.
"""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from automodel_nb import configs
from automodel_nb.plan import Plan
from automodel_nb.planning.assembling import assemble, parts_of, render
from automodel_nb.planning.expansion import SECRET_FIELDS
from automodel_nb.planning.parts import Parts, elsewhere

#: Fields without a default of their own, for which planning works one out that shows in the script.
WORKED_OUT = frozenset(
    {
        "job_name",
        "python",
        "hf_home",
        "master_port",
        "gpus_per_node",
        "nproc_per_node",
        "signal",
        "device",
        "setup",
        "container_workdir",
    }
)
Explained = dict[str, list[tuple[str, ...]]]


def explain(plan: Plan, environ: Mapping[str, str] = os.environ) -> Explained:
    """For each rendered file of a plan, for each of its lines: the dotted fields that made it.

    Given ones come before defaults, those that make few lines before those that make many. A line without a field is the
    same for every launch by this method.
    """
    parts = assemble(plan.request, environ).parts
    before = {name: text.splitlines() for name, text in render(parts).files.items()}
    made: dict[str, set[tuple[str, int]]] = {}
    for field, variant in _variants(parts):
        after = render(variant).files
        made[field] = {
            (name, number) for name, lines in before.items() for number in _changed(lines, after.get(name, "").splitlines())
        }
    given = {f"{parts.sources.method}.{name}" for name in parts.sources.section}
    order = sorted(made, key=lambda field: (".".join(field.split(".")[:2]) not in given, len(made[field])))
    return {
        name: [tuple(field for field in order if (name, number) in made[field]) for number in range(len(lines))]
        for name, lines in before.items()
    }


def trials(
    plan: Plan, field: str, texts: Iterable[str], environ: Mapping[str, str] = os.environ
) -> Iterator[tuple[str, Parts]]:
    """The launch with each of these texts in one field; those that the field does not take are left out."""
    parts = assemble(plan.request, environ).parts
    for text in texts:
        config, _ = configs.read(plan.method, {field: text})
        if config is not None:
            yield text, _variant(parts, field, getattr(config, field))


def _changed(before: list[str], after: list[str]) -> Iterator[int]:
    if before != after:
        for tag, start, end, *_ in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
            if tag in ("replace", "delete"):
                yield from range(start, end)


def _variants(parts: Parts) -> Iterator[tuple[str, Parts]]:
    """The launch with one value changed, for each value."""
    method, config = parts.sources.method, parts.config
    others = _examples(method)
    for name, info in type(config).model_fields.items():
        value, default, field = getattr(config, name), info.default, f"{method}.{name}"
        if isinstance(value, dict):
            for key in value:
                left = {other: item for other, item in value.items() if other != key}
                yield f"{field}.{key}", _variant(parts, name, left, without=key if name == "env_vars" else None)
        elif isinstance(value, tuple):
            for index in range(len(value)):
                yield f"{field}.{index}", _variant(parts, name, value[:index] + value[index + 1 :])
        elif value != default:
            yield field, _variant(parts, name, default, without=SECRET_FIELDS.get(name))
        elif name in others:
            yield field, _variant(parts, name, others[name])


def _variant(parts: Parts, name: str, value: Any, without: str | None = None) -> Parts:
    config = parts.config.model_copy(update={name: value})
    python = "python" if elsewhere(parts.sources.method, config) else sys.executable
    python = parts.facts.default_python if parts.facts.there else python
    facts = replace(parts.facts, default_python=python)
    variables = {key: item for key, item in parts.user_environment.items() if key != without}
    return parts_of(parts.sources, config, parts.request, facts, variables, parts.environ)


@lru_cache
def _examples(method: str) -> Mapping[str, Any]:
    """Another value, typed, for each field that makes lines although nobody gave it: it has a default, or one is worked out."""
    found = {}
    for doc in configs.fields(method):
        if doc.kind in ("mapping", "list") or not (doc.default or doc.name in WORKED_OUT):
            continue
        if doc.kind == "number":
            text = str(int(doc.example or doc.default) + 1)
        else:
            texts = [doc.example, *doc.choices, "true" if doc.default == "false" else "false"]
            text = next(text for text in texts if text and text != doc.default)
        config, _ = configs.read(method, {doc.name: text})
        found[doc.name] = getattr(config, doc.name)
    return found
