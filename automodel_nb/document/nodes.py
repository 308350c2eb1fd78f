"""The nodes of a document: PyYAML's own classes, with every *use* of a node at its place in the text.

PyYAML's tree holds one node for an anchor and all its aliases; who edits or points at text needs each occurrence. So a
mapping also has `entries` and a sequence `items`, made of `Use`: the node, and where this occurrence starts and ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import yaml

SECTIONS = ("interactive", "slurm", "skypilot")
"""Top-level keys that are the launcher's, not AutoModel's."""

MERGE_TAG = "tag:yaml.org,2002:merge"
NULL_TAG = "tag:yaml.org,2002:null"
STR_TAG = "tag:yaml.org,2002:str"


@dataclass(frozen=True, slots=True)
class Use:
    """One occurrence of a node in the text.

    Attributes:
        node: the node itself; for an alias the anchored one.
        head: index of what introduces it: ``?`` of an explicit key, ``-`` of an item; else `start`.
        start: index of its first character, anchor and tag included.
        stop: index after its last character that is not blank or comment.
        line, column: 1-based place of `start`, as an editor counts.
        alias: name behind ``*``, None where the node itself is written here.
        written: False for a value that is not there at all (``? key`` without a ``:``).
    """

    node: Leaf | Table | Items
    head: int
    start: int
    stop: int
    line: int
    column: int
    alias: str | None = None
    written: bool = True

    @property
    def empty(self) -> bool:
        """True where nothing is written: ``key:`` and the end of the line."""
        return self.start == self.stop


@dataclass(frozen=True, slots=True)
class Entry:
    """One key of a mapping with its value."""

    key: Use
    value: Use

    @property
    def name(self) -> str:
        """The key's own text; empty for a key that is no scalar."""
        return self.key.node.value if isinstance(self.key.node, Leaf) else ""

    @property
    def merge(self) -> bool:
        """True for ``<<``."""
        return self.key.node.tag == MERGE_TAG


class _Placed:
    """What reading adds to a PyYAML node: the name of its anchor, its explicit tag, its size with aliases expanded."""

    anchor: str | None = None
    explicit_tag: str | None = None
    size: int = 1


class Leaf(_Placed, yaml.ScalarNode):
    """A scalar; `value` is its own text, `style` None for a plain one."""

    @property
    def null(self) -> bool:
        """True for a plain ``~``, ``null`` or nothing."""
        return self.tag == NULL_TAG


class Table(_Placed, yaml.MappingNode):
    """A mapping; `value` is PyYAML's list of pairs."""

    entries: list[Entry]

    def find(self, name: str) -> Entry | None:
        """The entry of that name, own ones before merged ones, as a loader sees it."""
        return next((entry for entry in reversed(list(self.effective())) if entry.name == name), None)

    def own(self, name: str) -> Entry | None:
        """The entry of that name that is written in this mapping."""
        return next((entry for entry in self.entries if entry.name == name and not entry.merge), None)

    def effective(self) -> Iterator[Entry]:
        """What a loader sees: merged entries, then own ones; of two with one name, the later counts (PyYAML's order)."""
        for merge in (entry.value.node for entry in self.entries if entry.merge):
            # of several mappings in one `<<`, the first that has a key wins
            for source in [merge] if isinstance(merge, Table) else [use.node for use in reversed(_items(merge))]:
                if isinstance(source, Table):
                    yield from source.effective()
        yield from (entry for entry in self.entries if not entry.merge)


class Items(_Placed, yaml.SequenceNode):
    """A sequence."""

    items: list[Use]


Node = Leaf | Table | Items


def _items(node: Node) -> list[Use]:
    return node.items if isinstance(node, Items) else []


@dataclass(frozen=True, slots=True)
class Anchor:
    """Where ``&name`` stands, and every ``*name``."""

    name: str
    use: Use
    aliases: list[Use]


class Scalar(str):
    """A scalar's own text, as typed, with its place: what a launcher field makes its type from.

    Attributes:
        line, column: 1-based, of the occurrence (of the alias where it is one).
        quoted: False for a plain scalar; ``"8"`` and ``8`` have the same text.
        node: where it was read.
        source: the name of its text: ``cell`` or a file's path.
    """

    __slots__ = ("column", "line", "node", "quoted")
    line: int
    column: int
    quoted: bool
    node: Leaf

    def __new__(cls, text: str, node: Leaf, line: int, column: int) -> Scalar:  # noqa: D102
        self = super().__new__(cls, text)
        self.node, self.line, self.column = node, line, column
        self.quoted = node.style is not None or node.explicit_tag is not None
        return self

    @property
    def source(self) -> str:  # noqa: D102
        return str(self.node.start_mark.name)

    def replaced(self, text: str) -> Scalar:
        """Another text at the same place: this one with ``${VAR}`` expanded."""
        return Scalar(text, self.node, self.line, self.column)

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return (str, (str(self),))  # a copy or a pickle is plain text: nodes stay in the document


RawValue = dict[str, "RawValue"] | list["RawValue"] | Scalar | None


def plain(node: yaml.Node) -> RawValue:
    """A node as nested dict, list and `Scalar`; null is None; ``<<`` and aliases are resolved, nothing is retyped.

    Keys are `Scalar` too, so that an unknown one can be pointed at.
    """
    if not isinstance(node, Leaf | Table | Items):
        raise TypeError(f"not a node of a Document: {node!r}")
    mark = node.start_mark
    return _plain(Use(node, mark.index, mark.index, mark.index, mark.line + 1, mark.column + 1))


def _plain(use: Use) -> RawValue:
    node = use.node
    if isinstance(node, Leaf):
        return None if node.null else Scalar(node.value, node, use.line, use.column)
    if isinstance(node, Items):
        return [_plain(item) for item in node.items]
    return {
        Scalar(entry.name, entry.key.node, entry.key.line, entry.key.column): _plain(entry.value)
        for entry in node.effective()
        if isinstance(entry.key.node, Leaf)
    }
