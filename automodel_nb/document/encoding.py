"""Python values as YAML text that PyYAML reads back equal."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

import yaml

from automodel_nb.document.nodes import NULL_TAG, STR_TAG, Scalar

_RESOLVER = yaml.SafeLoader("")
_ESCAPES = {
    "\0": "0",
    "\a": "a",
    "\b": "b",
    "\t": "t",
    "\n": "n",
    "\v": "v",
    "\f": "f",
    "\r": "r",
    "\x1b": "e",
    '"': '"',
    "\\": "\\",
}
_ESCAPED = re.compile('["\\\\\x85\u2028\u2029\ufeff]|[^\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]')
#: text that needs no quotes anywhere, in block or flow
_TAME = re.compile(r"[A-Za-z0-9_./~](?:[A-Za-z0-9_./~@%+=-]|:(?! )|[ ](?=[A-Za-z0-9_./~@%+=]))*(?<!:)")
#: text that can stand plain in block context
_PLAIN = re.compile(r"(?![-?:](?:\s|$)|\.\.\.|---)[^\s,\[\]{}#&*!|>'\"%@`](?:[^\s:#]|:(?=\S)|(?<=\S)#| +(?=[^\s#]))*")


def quote(text: str) -> str:
    """Double-quoted, on one line; good in every context."""
    return f'"{_ESCAPED.sub(_escape, text)}"'


def printable(text: str) -> bool:
    """Whether the text can be written as it is, on one line, in single quotes or a block scalar."""
    return not _ESCAPED.search(text.replace('"', "").replace("\\", ""))


def _escape(found: re.Match[str]) -> str:
    character = found.group()
    if character in _ESCAPES:
        return "\\" + _ESCAPES[character]
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def tag_of(text: str) -> str:
    """What PyYAML takes a plain scalar for."""
    return str(_RESOLVER.resolve(yaml.ScalarNode, text, (True, False)))  # type: ignore[no-untyped-call]


def scalar(value: object) -> str:
    """One scalar; text stays plain where it needs no quotes and YAML 1.1 reads it as text.

    Raises:
        TypeError: neither text, number, bool nor None.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return _float(float(value))
    if isinstance(value, Scalar) and not value.quoted and _TAME.fullmatch(value) and tag_of(value) != NULL_TAG:
        return str(value)
    if isinstance(value, str):
        return str(value) if _TAME.fullmatch(value) and tag_of(value) == STR_TAG else quote(value)
    raise TypeError(f"a YAML value is text, a number, true or false, a list or a mapping, not {type(value).__name__}")


def _float(value: float) -> str:
    if math.isnan(value):
        return ".nan"
    if math.isinf(value):
        return ".inf" if value > 0 else "-.inf"
    text = repr(value)
    if "e" in text and "." not in text:  # YAML 1.1 takes 1e-05 for text
        text = text.replace("e", ".0e")
    return text


def restyled(text: str, style: str | None) -> list[str]:
    """Ways to write text where a scalar of that style stood, the most alike first; a plain one may look like a number."""
    ways = []
    if style is None and _PLAIN.fullmatch(text) and tag_of(text) != NULL_TAG:
        ways.append(text)
    if style == "'" and printable(text):
        ways.append("'" + text.replace("'", "''") + "'")
    return [*ways, quote(text)]


def inline(value: object) -> str:
    """Any value in flow style, on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{scalar(key)}: {inline(item)}" for key, item in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return "[" + ", ".join(inline(item) for item in value) + "]"
    return scalar(value)


def literal(text: str, indent: int, newline: str) -> str | None:
    """Text of several lines after ``|``; None where only quotes can hold it exactly."""
    body, ending = (text[:-1], "|") if text.endswith("\n") else (text, "|-")
    lines = body.split("\n")
    if "\n" not in text or not lines[0] or lines[0][0] in " \t" or not lines[-1].strip():
        return None
    if not all(printable(line) and (not line or line.strip()) for line in lines):
        return None
    return newline.join([ending, *(" " * indent + line if line else "" for line in lines)])


def block(key: str, value: object, indent: int, step: int, newline: str) -> str:
    """An entry of a block mapping, without its first line's indentation and its last line's break."""
    head = f"{scalar(key)}:"
    deeper = indent + step
    between = newline + " " * deeper
    if isinstance(value, Mapping) and value:
        return head + between + between.join(block(str(name), item, deeper, step, newline) for name, item in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str) and value:
        return head + "".join(f"{between}- {inline(item)}" for item in value)
    lines = literal(value, deeper, newline) if isinstance(value, str) else None
    return f"{head} {lines or inline(value)}"
