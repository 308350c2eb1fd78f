"""The recipe: the document's text less its launcher sections."""

from __future__ import annotations

from dataclasses import dataclass

from automodel_nb.document.cutting import member_span
from automodel_nb.document.mistakes import mistake
from automodel_nb.document.nodes import SECTIONS, Anchor, Use
from automodel_nb.document.reading import Tree, read
from automodel_nb.document.values import value
from automodel_nb.errors import DocumentError
from automodel_nb.findings import Finding

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Recipe:
    """What AutoModel gets to read.

    Attributes:
        text: the recipe text.
        findings: one hint for each anchor whose value moved with its first use into the recipe.
    """

    text: str
    findings: tuple[Finding, ...] = ()


def cut(text: str, source: str, tree: Tree) -> Recipe:
    """Cut the launcher sections out of the text.

    An anchor that is defined in one of them and used outside moves to its first use, where its text is one line.

    Raises:
        DocumentError: an anchor cannot be moved; names it and both places.
    """
    spans = section_spans(text, tree)
    moved = [(anchor, use) for anchor in tree.anchors.values() for use in _uses_outside(anchor, spans)[:1]]
    outer = [
        (anchor, use)
        for anchor, use in moved
        if not any(_within(anchor.use, (other.use.start, other.use.stop)) for other, _ in moved if other is not anchor)
    ]
    edits = [(start, end, "") for start, end in spans] + [
        (use.start, use.stop, text[anchor.use.start : anchor.use.stop]) for anchor, use in outer
    ]
    result = text
    for start, end, new in sorted(edits, reverse=True):
        result = result[:start] + new + result[end:]
    for anchor, use in outer:
        if _broken(text, anchor) or not _same(result, source, tree):
            message = f"`*{anchor.name}` is defined in the launcher section, which AutoModel does not read"
            fix = "write the value out here"
            raise mistake("anchor-in-section", message, source=source, line=use.line, column=use.column, fix=fix)
    return Recipe(result, tuple(_hint(anchor, use, source) for anchor, use in outer))


def section_spans(text: str, tree: Tree) -> list[Span]:
    """What is cut out, in order; sections side by side in flow style share a comma, and become one span."""
    root = tree.root
    spans: list[Span] = []
    kept = -1
    for index, entry in enumerate(root.entries):
        if entry.name not in SECTIONS or entry.merge:
            kept = index
            continue
        start, end = member_span(text, root, index, kept)
        if spans and start <= spans[-1][1]:
            start = spans.pop()[0]
        spans.append((start, end))
    return spans


def _uses_outside(anchor: Anchor, spans: list[Span]) -> list[Use]:
    if not any(_within(anchor.use, span) for span in spans):
        return []
    return [use for use in anchor.aliases if not any(_within(use, span) for span in spans)]


def _within(use: Use, span: Span) -> bool:
    return span[0] <= use.start < span[1]


def _broken(text: str, anchor: Anchor) -> bool:
    return any(end in text[anchor.use.start : anchor.use.stop] for end in "\r\n")


def _same(result: str, source: str, tree: Tree) -> bool:
    """Whether the recipe alone holds what the whole document says of it."""
    try:
        after = value(read(result, source).root)
    except DocumentError:
        return False
    before = value(tree.root)
    assert isinstance(before, dict)
    return repr(after) == repr({key: item for key, item in before.items() if key not in SECTIONS})


def _hint(anchor: Anchor, use: Use, source: str) -> Finding:
    message = f"`&{anchor.name}` of the launcher section is written here in the recipe, which uses it"
    return Finding("moved-anchor", "hint", message, None, use.line, use.column, None, source)
