"""What a launcher field's text means. Each reader takes the text a user typed and gives a value, or says what to type.

YAML's own types are not asked: it would read ``10:00:00`` as 36000 and ``on`` as true. Numbers and booleans that are
already typed (from a profile's TOML, or from Python) are taken by their text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

_TRUE, _FALSE = {"true", "yes", "on"}, {"false", "no", "off"}
_REFERENCE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")


def refuse(why: str) -> PydanticCustomError:
    """The error of a value: `why` is what comes after ``field: ``. Braces in it are literal."""
    return PydanticCustomError("bad-value", "{why}", {"why": why})


def scalar(value: Any) -> str:
    """The text of one value. Raises the field's error for a list or a mapping."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise refuse("one value is expected" + (", not a list" if isinstance(value, list) else ", not a mapping"))


def shown(text: str) -> str:
    """A value as a message shows it: quoted, on one line, not longer than a line can bear."""
    flat = text if text.isprintable() else repr(text)[1:-1]
    return f"`{flat if len(flat) <= 60 else flat[:57] + '…'}`"


def one_line(value: Any) -> str:
    """Any text without a line break or another control character (it would end an ``#SBATCH`` line)."""
    text = scalar(value).strip()
    if not text:
        raise refuse("is empty; leave the field out instead")
    if bad := next((c for c in text if ord(c) < 32 or c in "\x7f\x85\u2028\u2029"), None):
        what = "a line break" if bad in "\n\r\x85\u2028\u2029" else f"a control character (U+{ord(bad):04X})"
        raise refuse(f"must be one line, and has {what}")
    return text


def shell_text(value: Any) -> str:
    """Shell code of one or several lines; kept as it is."""
    text = scalar(value)
    if "\0" in text:
        raise refuse("holds a NUL character, which no shell takes")
    if not text.strip():
        raise refuse("is empty; leave the field out instead")
    return text


def shell_lines(value: Any) -> tuple[str, ...]:
    """Shell commands: a list of them, or one text."""
    return tuple(shell_text(item) for item in (value if isinstance(value, list | tuple) else [value]))


def words(value: Any) -> tuple[str, ...]:
    """A list of words: a YAML list, or text with commas or spaces between them."""
    if isinstance(value, list | tuple):
        return tuple(one_line(item) for item in value)
    return tuple(re.split(r"[,\s]+", one_line(value).strip(",")))


def arguments(value: Any) -> tuple[str, ...]:
    """Arguments of a command: a YAML list, or text that is split as a shell would, without expanding anything."""
    import shlex

    if isinstance(value, list | tuple):
        return tuple(one_line(item) for item in value)
    try:
        return tuple(shlex.split(one_line(value)))
    except ValueError as error:
        raise refuse(f"cannot be split into arguments: {str(error).lower()}") from None


def flag(value: Any) -> bool:
    """true/yes/on or false/no/off, in any case."""
    text = scalar(value).strip().lower()
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    raise refuse(f"{shown(text)} is neither true nor false")


def whole(least: int, most: int | None = None) -> Callable[[Any], int]:
    """A reader of whole numbers in ASCII digits from `least` to `most`."""
    span = f"a whole number from {least} to {most}" if most is not None else f"a whole number of at least {least}"

    def read(value: Any) -> int:
        text = scalar(value).strip()
        if not re.fullmatch(r"[+-]?[0-9]{1,15}", text) or not (least <= int(text) and (most is None or int(text) <= most)):
            raise refuse(f"{shown(text)} is not {span}")
        return int(text)

    return read


def one_of(*choices: str) -> Callable[[Any], str]:
    """A reader of one of a few words, in any case."""

    def read(value: Any) -> str:
        text = scalar(value).strip().lower()
        if text not in choices:
            raise refuse(f"{shown(text)} is not one of {', '.join(choices)}")
        return text

    return read


def matching(pattern: str, what: str) -> Callable[[Any], str]:
    """A reader of one-line text of a form; `what` names the form with an example."""

    def read(value: Any) -> str:
        text = one_line(value)
        if not re.fullmatch(pattern, text):
            raise refuse(f"{shown(text)} is not {what}")
        return text

    return read


def mapping(example: str) -> Callable[[Any], Any]:
    """A reader of a mapping; the types of its keys and values are the field's."""

    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            raise refuse(f"a mapping is expected, such as `{example}`, one a line")
        return value

    return read


def env_name(value: Any) -> str:
    """The name of an environment variable, as a shell can set it."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", str(value), re.ASCII):
        raise refuse(f"{shown(str(value))} is not a variable's name (letters, digits and _, no digit first)")
    return str(value)


def env_value(value: Any) -> str:
    """Any text, exactly as typed: ``0123``, ``yes`` and ``1e-5`` are text. A message does not repeat it: it may be a secret."""
    if value is None:
        raise refuse('has no value; write "" for an empty one')
    text = scalar(value)
    if "\0" in text:
        raise refuse("holds a NUL character, which no environment takes")
    return text


def secret_reference(value: Any) -> str:
    """``${VAR}`` and nothing else: a secret travels by name. The message never repeats what was typed."""
    text = scalar(value).strip()
    if not _REFERENCE.fullmatch(text):
        raise refuse("a secret is never written into the document: put it into the environment and write ${NAME}")
    return text


@dataclass(frozen=True, slots=True)
class WallTime:
    """A time limit in Slurm's meaning, with the text that the user wrote (which is what the script says)."""

    text: str
    seconds: int

    @property
    def minutes(self) -> float:
        """The limit in minutes."""
        return self.seconds / 60

    def __str__(self) -> str:
        return self.text


_TIME = re.compile(
    r"(?P<minutes>\d+)(:(?P<s1>\d+))?"  # MM, MM:SS
    r"|(?P<hours>\d+):(?P<m2>\d+):(?P<s2>\d+)"  # HH:MM:SS
    r"|(?P<days>\d+)-(?P<h3>\d+)(:(?P<m3>\d+)(:(?P<s3>\d+))?)?"  # D-HH, D-HH:MM, D-HH:MM:SS
)
TIME_FORMS = "MM, MM:SS, HH:MM:SS, D-HH, D-HH:MM or D-HH:MM:SS"


def wall_time(value: Any) -> WallTime:
    """Slurm's forms, https://slurm.schedmd.com/sbatch.html#OPT_time (``90`` is minutes, ``15:30`` minutes and seconds).

    Slurm would also take minutes and seconds above 59 (``0:240:0``); here that is an error, since it more often is a slip.
    """
    text = scalar(value).strip()
    found = _TIME.fullmatch(text) if text.isascii() else None
    if not found:
        raise refuse(f"{shown(text)} is not a time limit: the forms are {TIME_FORMS}")
    part = {name: int(digits) for name, digits in found.groupdict().items() if digits}
    for name, below in {"s1": 60, "m2": 60, "s2": 60, "h3": 24, "m3": 60, "s3": 60}.items():
        if part.get(name, 0) >= below:
            unit = {"s": "seconds", "m": "minutes", "h": "hours"}[name[0]]
            raise refuse(f"{shown(text)} has {part[name]} {unit}: the forms are {TIME_FORMS}")
    seconds = (
        86400 * part.get("days", 0)
        + 3600 * (part.get("hours", 0) + part.get("h3", 0))
        + 60 * (part.get("minutes", 0) + part.get("m2", 0) + part.get("m3", 0))
        + sum(part.get(name, 0) for name in ("s1", "s2", "s3"))
    )
    if not seconds:
        raise refuse(f"{shown(text)} is no time at all; leave the field out for the partition's own limit")
    return WallTime(text, seconds)


_MEMORY = re.compile(r"([0-9]{1,12})([KMGT]?)", re.IGNORECASE)


def memory(value: Any) -> str:
    """Slurm's memory size: a number with K, M (the default), G or T; 0 is all of the node's."""
    text = scalar(value).strip()
    if not _MEMORY.fullmatch(text):
        hint = re.fullmatch(r"([0-9]+)\s*([KMGT])i?B", text, re.IGNORECASE)
        wanted = f"write {hint[1]}{hint[2].upper()}" if hint else "a whole number with K, M, G or T, such as 64G"
        raise refuse(f"{shown(text)} is not a memory size: {wanted}")
    return text


Text = Annotated[str, BeforeValidator(one_line)]
Shell = Annotated[str, BeforeValidator(shell_text)]
ShellLines = Annotated[tuple[str, ...], BeforeValidator(shell_lines)]
Words = Annotated[tuple[str, ...], BeforeValidator(words)]
Arguments = Annotated[tuple[str, ...], BeforeValidator(arguments)]
Flag = Annotated[bool, BeforeValidator(flag)]
Count = Annotated[int, BeforeValidator(whole(1))]
Port = Annotated[int, BeforeValidator(whole(1024, 65535))]
EnvName = Annotated[str, BeforeValidator(env_name)]
EnvValue = Annotated[str, BeforeValidator(env_value)]
Environment = Annotated[dict[EnvName, EnvValue], BeforeValidator(mapping("HF_HUB_OFFLINE: 1"))]
SecretReference = Annotated[str, BeforeValidator(secret_reference)]
Time = Annotated[WallTime, BeforeValidator(wall_time)]
Memory = Annotated[str, BeforeValidator(memory)]
