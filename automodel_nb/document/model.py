"""`Document`: YAML text with positions, immutable; every edit makes a new one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import MappingProxyType

import yaml

from automodel_nb.document import editing, recipe
from automodel_nb.document.cutting import member_span
from automodel_nb.document.mistakes import mistake
from automodel_nb.document.nodes import SECTIONS, Entry, Items, Leaf, Node, RawValue, Table, Use, plain
from automodel_nb.document.reading import Tree, read
from automodel_nb.document.values import value
from automodel_nb.document.verifying import Expected, holds
from automodel_nb.errors import DocumentError
from automodel_nb.findings import Finding

Path = str | tuple[str | int, ...]
"""``slurm.nodes`` or ``("slurm", "nodes")``; a key that holds a dot needs the second form."""

_UNFIT = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_LAUNCHER_TAGS = {
    f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "map", "seq", "timestamp")
} | {"!"}


@dataclass(frozen=True, slots=True)
class Section:
    """A launcher section of the document.

    Attributes:
        name: ``interactive``, ``slurm`` or ``skypilot``.
        node: its value; a null `Leaf` where nothing follows the colon.
        start, end: the characters that are cut out of the recipe.
        line, column: 1-based place of its key.
    """

    name: str
    key_node: yaml.Node
    node: yaml.Node
    start: int
    end: int
    line: int
    column: int


@dataclass(frozen=True)
class Document:
    """YAML text as the user typed it, read strictly; make one with `Document.parse`.

    Attributes:
        text: the text, with its line ends and byte order mark.
        source: ``cell`` or a file's path, used in findings.
    """

    text: str
    source: str
    tree: Tree

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Document) and (self.text, self.source) == (other.text, other.source)

    def __hash__(self) -> int:
        return hash((self.text, self.source))

    def __repr__(self) -> str:
        return f"<Document {self.source}, {len(self.text)} characters>"

    @classmethod
    def parse(cls, text: str, source: str = "cell") -> Document:
        """Read `text`.

        Raises:
            DocumentError: with one finding: line, column, what to type.
        """
        return _parse(text, source)

    @cached_property
    def sections(self) -> Mapping[str, Section]:
        """The launcher sections that are present, by name."""
        found = {}
        for index, entry in enumerate(self.tree.root.entries):
            if entry.name in SECTIONS and not entry.merge:
                start, end = member_span(self.text, self.tree.root, index)
                key = entry.key
                found[entry.name] = Section(entry.name, key.node, entry.value.node, start, end, key.line, key.column)
        return MappingProxyType(found)

    @cached_property
    def _recipe(self) -> recipe.Recipe:
        return recipe.cut(self.text, self.source, self.tree)

    @property
    def recipe_text(self) -> str:
        """The text less the launcher sections, byte for byte.

        Raises:
            DocumentError: the recipe uses an anchor of a launcher section that cannot be moved.
        """
        return self._recipe.text

    @property
    def recipe_findings(self) -> tuple[Finding, ...]:
        """What else was done to the recipe text: an anchor's value moved out of a launcher section to where it is used."""
        return self._recipe.findings

    def recipe(self) -> dict[str, object]:
        """The recipe's data as ``yaml.safe_load`` reads it, keys as text; empty where there is none."""
        return {entry.name: value(entry.value.node) for entry in self.tree.root.effective() if entry.name not in SECTIONS}

    def use(self, path: Path) -> Use | None:
        """The occurrence of the value at `path`, through aliases and ``<<``."""
        found = self._find(path)
        return found.value if isinstance(found, Entry) else found

    def node(self, path: Path) -> yaml.Node | None:
        """The node at `path`; None where there is none."""
        use = self.use(path)
        return use.node if use else None

    def value(self, path: Path) -> object | None:
        """The value at `path` as ``yaml.safe_load`` reads it; None where there is none."""
        use = self.use(path)
        return value(use.node) if use else None

    def raw(self, path: Path = ()) -> RawValue:
        """The value at `path` as `plain` gives it: text that is not retyped."""
        node = self.node(path)
        return plain(node) if node else None

    def place(self, path: Path, key: bool = False) -> tuple[int, int] | None:
        """1-based (line, column) of the value at `path`, or of its key."""
        found = self._find(path)
        if isinstance(found, Entry):
            found = found.key if key else found.value
        return (found.line, found.column) if found else None

    def _find(self, path: Path) -> Entry | Use | None:
        found: Entry | Use = self.tree.use
        for part in parts(path):
            node: Node = found.value.node if isinstance(found, Entry) else found.node
            following: Entry | Use | None = None
            if isinstance(node, Table):
                following = node.find(str(part))
            elif isinstance(node, Items) and str(part).isdecimal() and int(part) < len(node.items):
                following = node.items[int(part)]
            if following is None:
                return None
            found = following
        return found

    def set(self, path: Path, value: object) -> Document:
        """Write `value` at `path`, changing just its characters; a key that is not there is added.

        Raises:
            DocumentError: the text around it leaves no place where it could be written.
        """
        keys = parts(path) or ("",)
        return self._edited(
            path, editing.setting(self.text, self.tree, keys, value, as_text=str(keys[0]) in SECTIONS), Expected(value)
        )

    def remove(self, path: Path) -> Document:
        """Take the key (or item) at `path` out; without one, the document as it is.

        Raises:
            DocumentError: it cannot be taken out: an anchor in it is used elsewhere, or it comes in through ``<<``.
        """
        if self.use(path) is None:
            return self
        ways = list(editing.removing(self.text, self.tree, parts(path)))
        if not ways:
            raise self._refusal(path, ": it comes in through an alias or `<<`")
        return self._edited(path, ways, None)

    def rename(self, path: Path, name: str) -> Document:
        """Write another key for the last part of `path`; its value and all else stays.

        Raises:
            DocumentError: the key is written as an alias, or comes in through one.
        """
        keys = parts(path)
        use = self.use(path)
        expected = self.raw(path)
        for edit in editing.renaming(self.text, self.tree, keys, name):
            after = self.replace(*edit)
            if use is not None and after.raw((*keys[:-1], name)) == expected and after.use(path) is None:
                return after
        raise self._refusal(path)

    def replace(self, start: int, end: int, text: str) -> Document:
        """The document with these characters replaced, read anew."""
        return _parse(self.text[:start] + text + self.text[end:], self.source)

    def _edited(self, path: Path, ways: Iterable[editing.Edit], expected: Expected | None) -> Document:
        why = ""
        for edit in ways:
            try:
                after = self.replace(*edit)
            except DocumentError as error:
                if error.findings[0].code == "unknown-anchor":
                    why = ": it holds an anchor that is used elsewhere"
                continue
            if holds(self.tree, after.tree, parts(path), expected):
                return after
        raise self._refusal(path, why)

    def _refusal(self, path: Path, why: str = "") -> DocumentError:
        name = ".".join(str(part) for part in parts(path))
        line, column = self.place(path, key=True) or (None, None)
        message = f"`{name}` cannot be changed in place{why}"
        return mistake("edit", message, source=self.source, line=line, column=column, field=name, fix="edit the text")


def parts(path: Path) -> tuple[str | int, ...]:
    """The parts of a dotted path."""
    if isinstance(path, str):
        return tuple(path.split(".")) if path else ()
    return path


@lru_cache(maxsize=16)
def _parse(text: str, source: str) -> Document:
    document = Document(text, source, read(text, source))
    for section in document.sections.values():
        _check_section(section.node, document)
    return document


def _check_section(node: yaml.Node, document: Document) -> None:
    """A launcher section is plain data for scripts and environments: no tag such as ``!!python/name``, no NUL."""
    stack, seen = [node], set[int]()
    while stack:
        node = stack.pop()
        if id(node) in seen or not isinstance(node, Leaf | Table | Items):
            continue
        seen.add(id(node))
        if isinstance(node, Leaf) and (bad := _UNFIT.search(node.value)):
            mark = node.start_mark
            raise mistake(
                "control-character",
                f"U+{ord(bad.group()):04X} cannot stand in a launcher field",
                source=document.source,
                line=mark.line + 1,
                column=mark.column + 1,
                fix="remove it",
            )
        if node.explicit_tag and node.explicit_tag not in _LAUNCHER_TAGS:
            mark = node.start_mark
            name = node.explicit_tag.replace("tag:yaml.org,2002:", "!!")
            raise mistake(
                "tag",
                f"the tag `{name}` means nothing here",
                source=document.source,
                line=mark.line + 1,
                column=mark.column + 1,
                fix="remove it",
            )
        if isinstance(node, Table):
            stack += [side for pair in node.value for side in pair]
        elif isinstance(node, Items):
            stack += node.value
