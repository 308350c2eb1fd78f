"""What the form and the documentation say of each field: read off the configs, so that there is one text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from automodel_nb.configs.reading import CONFIGS


@dataclass(frozen=True, slots=True)
class FieldDoc:
    """One field of a launcher section.

    Attributes:
        name: as in the YAML.
        description: one sentence or two.
        group: where the form puts it (`base.Group`).
        unit: what a number counts; empty for none.
        example: what a user would type; empty where the default says it.
        default: as a user would type it; empty where the field is unset by default.
        choices: the words it takes; empty where it takes other text.
        kind: ``flag``, ``number``, ``list``, ``mapping`` or ``text``.
    """

    name: str
    description: str
    group: str
    unit: str
    example: str
    default: str
    choices: tuple[str, ...]
    kind: str


def fields(method: str) -> tuple[FieldDoc, ...]:
    """The fields of a method's section, the method's own first."""
    model = CONFIGS[method]
    common = [name for base in model.__mro__[1:] for name in getattr(base, "model_fields", {})]
    own = [name for name in model.model_fields if name not in common]
    return tuple(_doc(method, name) for name in (*own, *(n for n in model.model_fields if n in common)))


def _doc(method: str, name: str) -> FieldDoc:
    info = CONFIGS[method].model_fields[name]
    extra: Any = info.json_schema_extra
    default = info.default
    return FieldDoc(
        name=name,
        description=info.description or "",
        group=extra["group"],
        unit=extra["unit"],
        example=extra["example"],
        default="" if default in (None, (), {}) else str(default).lower() if isinstance(default, bool) else str(default),
        choices=tuple(extra["choices"]),
        kind=_kind(str(info.annotation)),
    )


def _kind(annotation: str) -> str:
    """The kind of a field by its annotation's text, such as ``int | None``."""
    for kind, marks in {
        "mapping": ("dict", "FaultTolerance"),
        "list": ("tuple",),
        "flag": ("bool",),
        "number": ("int",),
    }.items():
        if any(mark in annotation for mark in marks):
            return kind
    return "text"
