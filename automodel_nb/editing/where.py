"""Where in half-written YAML a cursor stands: the keys that lead there, and what is typed so far. Read by lines, not parsed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_KEY = re.compile(r"""(?P<indent> *)(?P<dash>- +)?(?P<quote>["']?)(?P<key>[\w.-]+)(?P=quote)\s*:(?=\s|$)""")
_PAIR = re.compile(r"""["']?(?P<key>[\w.-]+)["']?\s*:\s+(?P<value>.*)""")


@dataclass(frozen=True)
class Where:
    """A cursor's place.

    Attributes:
        path: keys above it, the outermost first; ``-`` stands for an item of a list.
        key: the key whose value is being typed; None where a key is.
        typed: the key or value so far, without an opening quote.
        quoted: whether the value has an opening quote.
        used: keys that stand beside it.
        flow: whether it stands in braces on its line.
    """

    path: tuple[str, ...]
    key: str | None
    typed: str
    quoted: bool = False
    used: frozenset[str] = frozenset()
    flow: bool = False


def where(lines: Sequence[str], row: int, column: int) -> Where | None:
    """The place of a cursor (both 0-based); None in a comment."""
    before = lines[row][:column]
    if re.search(r"(^|\s)#", before):
        return None
    text = before.lstrip(" ")
    indent = len(before) - len(text)
    item = re.match(r"- +", text)
    path = _above(lines, row, indent + (1 if item else 0))
    if item:
        path.append("-")
        indent, text = indent + item.end(), text[item.end() :]
    used = set(_beside(lines, row, indent))
    inner, flow = _in_braces(text)
    if flow:
        path += [key for key in flow if key]
        *pairs, text = _split(inner)
        used = {found["key"] for pair in pairs if (found := _PAIR.match(pair.strip() + " "))}
        text = text.lstrip()
    found = _PAIR.match(text)
    if found is None:
        return Where(tuple(path), None, text.lstrip("\"'"), used=frozenset(used), flow=bool(flow))
    value = found["value"]
    quoted = value[:1] in ("'", '"')
    return Where(tuple(path), found["key"], value[1:] if quoted else value, quoted, frozenset(used), bool(flow))


def _above(lines: Sequence[str], row: int, indent: int) -> list[str]:
    """The keys of the blocks that a line with this indentation is in."""
    path: list[str] = []
    for line in reversed(lines[:row]):
        found = _KEY.match(line)
        if not indent or found is None or len(found["indent"]) >= indent:
            continue
        dash = found["dash"] or ""
        if len(found["indent"]) + len(dash) < indent:
            path.insert(0, found["key"])
        if dash:
            path.insert(0, "-")
        indent = len(found["indent"]) + bool(dash)  # a list may stand as far left as its key
    return path


def _beside(lines: Sequence[str], row: int, indent: int) -> Iterator[str]:
    """The keys of the same block, above and below."""
    for part in (reversed(lines[:row]), iter(lines[row + 1 :])):
        for line in part:
            found = _KEY.match(line)
            depth = len(found["indent"]) + len(found["dash"] or "") if found else len(line) - len(line.lstrip(" "))
            if line.strip() and not line.lstrip().startswith("#") and depth < indent:
                break
            if found and depth == indent:
                yield found["key"]


def _in_braces(text: str) -> tuple[str, list[str]]:
    """What stands in the innermost open brace, and the keys that lead to it."""
    keys: list[str] = []
    starts: list[int] = [0]
    quote = ""
    for index, character in enumerate(text):
        if quote or character in "\"'":
            quote = "" if character == quote else quote or character
        elif character == "{" and text[index - 1 : index] != "$":
            found = re.search(r"([\w.-]+)[\"']?\s*:\s*$", text[starts[-1] : index])
            keys.append(found[1] if found else "")
            starts.append(index + 1)
        elif character == "}" and keys:
            keys.pop()
            starts.pop()
    return text[starts[-1] :], keys


def _split(text: str) -> list[str]:
    """Entries between commas that stand outside of braces, brackets and quotes."""
    parts, depth, quote = [""], 0, ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        depth += (character in "{[") - (character in "}]") if not quote else 0
        if character == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += character
    return parts
