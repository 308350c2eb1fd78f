"""Which control a field needs, read off what reads its text; and what a value means in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal, get_args

from pydantic import BeforeValidator

from automodel_nb.configs import CONFIGS, FieldDoc, values
from automodel_nb.configs.values import memory, wall_time
from automodel_nb.errors import LaunchError

Control = Literal[
    "text",  # one line
    "number",
    "switch",  # true or false, false by default
    "choice",  # one of a few words, or nothing
    "time",
    "memory",
    "shell",  # several lines
    "secret",  # the name of a variable
    "lines",  # a list of shell commands
    "mounts",
    "environment",
    "pairs",  # a mapping of text to text
    "restarts",  # fault tolerance: on, and its options
]

_BY_NAME: dict[str, Control] = {"env_vars": "environment", "extra_mounts": "mounts", "fault_tolerance": "restarts"}
_BY_READER: dict[Callable[..., Any], Control] = {
    values.wall_time: "time",
    values.memory: "memory",
    values.shell_text: "shell",
    values.shell_lines: "lines",
    values.secret_reference: "secret",
}
#: What a two-way choice says of true and false.
YES_NO = ("true", "false")


def control(method: str, doc: FieldDoc) -> Control:
    """The control for a field."""
    if doc.name in _BY_NAME:
        return _BY_NAME[doc.name]
    info = CONFIGS[method].model_fields[doc.name]
    found = (_BY_READER[reader] for reader in _readers([info.annotation, *info.metadata]) if reader in _BY_READER)
    if (special := next(found, None)) is not None:
        return special
    if doc.kind == "flag":
        return "switch" if doc.default == "false" else "choice"
    if doc.kind == "mapping":
        return "pairs"
    if doc.kind == "number":
        return "number"
    return "choice" if doc.choices else "text"


def choices(doc: FieldDoc) -> tuple[str, ...]:
    """The words of a `choice`."""
    return doc.choices or YES_NO


def _readers(found: list[Any]) -> Iterator[Callable[..., Any]]:
    """The functions that read a field's text, out of ``Annotated`` in any depth."""
    for item in found:
        if isinstance(item, BeforeValidator):
            yield item.func
        else:
            yield from _readers(list(get_args(item)))


def native(doc: FieldDoc | None, value: object) -> object:
    """A value as YAML writes it where a key is new: a number without quotes, since that is how people write it."""
    if doc is None or not isinstance(value, str):
        return value
    if doc.kind == "number" and value.isascii() and value.isdigit() and str(int(value)) == value:
        return int(value)
    if value in YES_NO and (doc.kind == "flag" or doc.name in ("exclusive", "fault_tolerance")):
        return value == "true"
    return value


def in_words(kind: Control, text: object) -> str:
    """A time or a memory size in words; empty where there is nothing to say, or the text is wrong."""
    if not isinstance(text, str) or "{{" in text or "$" in text:
        return ""
    try:
        if kind == "time":
            return span(wall_time(text).seconds)
        if kind == "memory" and (size := memory(text)):
            return "all of it" if int(size.rstrip("KMGTkmgt")) == 0 else _size(size)
    except (ValueError, LaunchError):
        return ""
    return ""


def span(seconds: int) -> str:
    """``1 day 4 hours``."""
    units = {"day": seconds // 86400, "hour": seconds // 3600 % 24, "minute": seconds // 60 % 60, "second": seconds % 60}
    return " ".join(f"{number} {unit}{'s' if number != 1 else ''}" for unit, number in units.items() if number)


def _size(text: str) -> str:
    number, unit = int(text.rstrip("KMGTkmgt")), text[-1].upper() if text[-1].isalpha() else "M"
    order = "KMGT"
    while number >= 1024 and number % 1024 == 0 and unit != "T":
        number, unit = number // 1024, order[order.index(unit) + 1]
    return f"{number:,} {unit}iB on each node"
