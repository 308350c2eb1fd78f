"""Which characters belong to one member of a mapping or sequence, so that the rest stays byte for byte."""

from __future__ import annotations

import re

from automodel_nb.document.nodes import Items, Leaf, Table, Use

_BLANK = re.compile(r"(?:\s|(?:(?<=\s)|(?<=[,\[{]))#[^\r\n]*)*")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_BREAKS = "\r\n"


def members(node: Table | Items) -> list[tuple[int, int]]:
    """(first character, after the last one) of each entry or item."""
    if isinstance(node, Items):
        return [(use.head, use.stop) for use in node.items]
    return [(entry.key.head, max(entry.key.stop, entry.value.stop)) for entry in node.entries]


def member_span(text: str, node: Table | Items, index: int, before: int | None = None) -> tuple[int, int]:
    """What to take out so that the member is gone and the rest reads as before.

    Comments above a member stay; on its lines, or below it and indented deeper than it, they go with it. A blank line
    after it goes where one stands before it.

    Args:
        before: index of the member that will come right before the gap, negative for none; by default the one before.
    """
    if node.flow_style:
        return _flow_span(text, node, index)
    return _block_span(text, node, index, index - 1 if before is None else before)


def line_start(text: str, index: int) -> int:
    """Index of the first character of the line; a byte order mark is not part of it."""
    start = max(text.rfind(end, 0, index) for end in _BREAKS) + 1
    return start + text.startswith("\ufeff", start) if start == 0 else start


def line_end(text: str, index: int) -> int:
    """Index of the line's break, or of the end of the text."""
    found = re.compile(r"[\r\n]|\Z").search(text, index)
    assert found
    return found.start()


def skip_blank(text: str, index: int) -> int:
    """Index after white space and comments."""
    found = _BLANK.match(text, index)
    assert found
    return found.end()


def last_leaf(use: Use) -> Use:
    """The occurrence whose text is the last one of this occurrence."""
    if use.alias is None and not isinstance(use.node, Leaf) and not use.node.flow_style:
        return last_leaf(_uses(use.node)[-1])
    return use


def in_block_scalar(use: Use) -> bool:
    """True where this occurrence ends in a block scalar: blank lines after it may be part of its value."""
    leaf = last_leaf(use)
    return leaf.alias is None and isinstance(leaf.node, Leaf) and leaf.node.style in ("|", ">")


def _block_span(text: str, node: Table | Items, index: int, before: int) -> tuple[int, int]:
    spans = members(node)
    head, stop = spans[index]
    start = line_start(text, head)
    if text[start:head].strip(" "):  # not first on its line: `- a: 1`
        return head, spans[index + 1][0] if index + 1 < len(spans) else stop
    end = _after_line(text, stop)
    blank_from: int | None = None
    at = end
    while at < len(text):
        stripped = text[at : line_end(text, at)].lstrip(" ")
        if not stripped.strip():
            blank_from = at if blank_from is None else blank_from
        elif stripped.startswith("#") and line_end(text, at) - len(stripped) - at > head - start:
            end, blank_from = _after_line(text, at), None
        else:
            break
        at = _after_line(text, at)
    if blank_from is not None and (_blank_before(text, start) or (before >= 0 and in_block_scalar(_uses(node)[before]))):
        end = at
    return start, end


def _uses(node: Table | Items) -> list[Use]:
    return (
        node.items if isinstance(node, Items) else [entry.value if entry.value.written else entry.key for entry in node.entries]
    )


def _after_line(text: str, index: int) -> int:
    found = _LINE.match(text, index)
    assert found
    return found.end()


def _blank_before(text: str, start: int) -> bool:
    before = text[:start].splitlines()
    return not before or not before[-1].strip("\ufeff \t")


def _flow_span(text: str, node: Table | Items, index: int) -> tuple[int, int]:
    spans = members(node)
    head, stop = spans[index]
    comma = skip_blank(text, stop)
    end = comma + 1 if text[comma : comma + 1] == "," else stop
    start = line_start(text, head)
    rest = skip_line(text, end)
    if not text[start:head].strip(" \t") and rest in (line_end(text, end), len(text)) and rest < len(text):
        return start, _after_line(text, rest)  # a line of its own
    if end > stop:
        return head, len(text[:end]) + len(text[end:]) - len(text[end:].lstrip(" \t"))
    if index > 0 and (before := text.rfind(",", spans[index - 1][1], head)) >= 0 and not text[before + 1 : head].strip(" \t"):
        return before, stop
    return head, stop


def skip_line(text: str, index: int) -> int:
    """Index after spaces and a comment on this line."""
    found = re.compile(r"[ \t]*(?:(?<=[ \t,])#[^\r\n]*)?").match(text, index)
    assert found
    return found.end()
