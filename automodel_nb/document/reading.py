"""Strict YAML reading: every node with its place, and one `DocumentError` for what is wrong.

PyYAML's pure Python scanner is used, on purpose: AutoModel's own loader is ``yaml.safe_load``, libyaml differs from it
(it takes tabs that the other refuses, and counts a BOM away), and what is accepted here must load there. The tree is built
here, from PyYAML's events, because its composer keeps no place of an alias, recurses, and lets duplicate keys pass.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import yaml
from yaml.reader import Reader

from automodel_nb.document import mistakes
from automodel_nb.document.nodes import Anchor, Entry, Items, Leaf, Node, Table, Use
from automodel_nb.document.scanning import MAX_DEPTH, Loader, Places, TooDeep
from automodel_nb.document.values import scalar_value
from automodel_nb.errors import DocumentError

MAX_CHARACTERS = 64 * 1024
"""Longest text that is read: thirty times a usual recipe, and still read within a second."""
MAX_VALUES = 10_000
"""Nodes of the document with every alias written out: a few lines of nested aliases can make billions."""


@dataclass(frozen=True)
class Tree:
    """What reading yields: the root, and the anchors by name."""

    root: Table
    use: Use
    anchors: dict[str, Anchor]
    flow: bool = field(default=False)


def read(text: str, source: str) -> Tree:
    """The tree of `text`.

    Raises:
        DocumentError: with one finding.
    """
    return _Reading(text, source).tree()


class _Reading:
    def __init__(self, text: str, source: str) -> None:
        self.text, self.source = text, source
        self.anchors: dict[str, Anchor] = {}
        self.open: list[_Frame] = []
        self.expanded = 0
        if len(text) > MAX_CHARACTERS:
            raise mistakes.mistake(
                "too-large",
                f"the text has {len(text)} characters, {MAX_CHARACTERS} are read",
                source=source,
                fix="put data into files",
            )
        self.places = Places(text)
        if bad := Reader.NON_PRINTABLE.search(text):
            raise self.mistake(
                "control-character",
                f"U+{ord(bad.group()):04X} is a control character, which YAML does not allow",
                bad.start(),
                "delete it",
            )

    def mistake(self, code: str, message: str, index: int, fix: str) -> DocumentError:
        line, column = self.places(index)
        return mistakes.mistake(code, message, line=line, column=column, source=self.source, fix=fix)

    def _too_deep(self, index: int) -> DocumentError:
        return self.mistake("too-deep", f"more than {MAX_DEPTH} levels, one in another", index, "nest less")

    def tree(self) -> Tree:
        try:
            self.loader = Loader(self.text)
            return self._document()
        except TooDeep:
            raise self._too_deep(self.loader.get_mark().index) from None
        except yaml.MarkedYAMLError as error:
            problem = mistakes.explain(error, self.text)
            raise self.mistake(problem.code, problem.message, problem.index, problem.fix) from None
        except yaml.YAMLError as error:
            raise mistakes.mistake("yaml-syntax", f"not YAML: {error}".splitlines()[0], source=self.source) from None
        except (ValueError, OverflowError):
            # PyYAML lets int() and chr() speak for themselves: `%YAML 1.99…9`, "\U99999999"
            index = min(self.loader.get_mark().index, len(self.text))
            raise self.mistake(
                "yaml-syntax", "a number here is out of range", index, "write a smaller one, or quote the value"
            ) from None

    def _document(self) -> Tree:
        loader = self.loader
        loader.event()  # the stream's start
        use: Use | None = None
        while not loader.check_event(yaml.StreamEndEvent):
            event = loader.event()
            if isinstance(event, yaml.DocumentStartEvent):
                if use is not None:
                    raise self.mistake(
                        "several-documents",
                        "a second document starts here; a launch is one document",
                        _span(event)[0],
                        "remove it, with its `---`",
                    )
                use = self._root()
        if use is None or (isinstance(use.node, Leaf) and use.node.null):
            raise mistakes.mistake(
                "empty-document",
                "the text holds no YAML",
                source=self.source,
                fix="start from a template: %automodel_new interactive",
            )
        if not isinstance(use.node, Table):
            kind = "a list" if isinstance(use.node, Items) else "a single value"
            raise self.mistake("not-a-mapping", f"the document is {kind}, not a mapping", use.start, "write `key: value` lines")
        return Tree(use.node, use, self.anchors, bool(use.node.flow_style))

    def _root(self) -> Use:
        while True:
            event = self.loader.event()
            head = self.loader.head
            done: Use
            if isinstance(event, yaml.AliasEvent):
                done = self._alias(event, head)
            elif isinstance(event, yaml.ScalarEvent):
                done = self._scalar(event, head)
            elif isinstance(event, yaml.CollectionStartEvent):
                self._start(event, head)
                continue
            else:
                done = self._end(event)
            if not self.open:
                return done
            self._add(done)

    def _use(self, node: Node, head: int | None, start: int, stop: int, alias: str | None = None, written: bool = True) -> Use:
        return Use(node, start if head is None else head, start, stop, *self.places(start), alias, written)

    def _mark(self, index: int) -> yaml.Mark:
        line, column = self.places(index)
        return yaml.Mark(self.source, index, line - 1, column - 1, None, 0)

    def _alias(self, event: yaml.AliasEvent, head: int | None) -> Use:
        start, end = _span(event)
        anchor = self.anchors.get(event.anchor or "")
        if anchor is None:
            if any(frame.node.anchor == event.anchor for frame in self.open):
                raise self.mistake(
                    "recursive-alias",
                    f"`*{event.anchor}` stands inside what `&{event.anchor}` names: it would never end",
                    start,
                    "write the value out",
                )
            raise self.mistake(
                "unknown-anchor",
                f"`*{event.anchor}` names no anchor above it",
                start,
                f"put `&{event.anchor}` before the value meant, or quote the text",
            )
        self._grow(anchor.use.node.size, start)
        use = self._use(anchor.use.node, head, start, end, event.anchor)
        anchor.aliases.append(use)
        return use

    def _grow(self, size: int, index: int) -> None:
        self.expanded += size
        if self.expanded > MAX_VALUES:
            code, fix = ("alias-bomb", "use fewer aliases") if size > 1 else ("too-large", "put data into files")
            raise self.mistake(code, f"the text up to here holds more than {MAX_VALUES} values", index, fix)

    def _scalar(self, event: yaml.ScalarEvent, head: int | None) -> Use:
        start, end = _span(event)
        tag = self.loader.tag(yaml.ScalarNode, event)
        node = Leaf(tag, event.value, self._mark(start), self._mark(end), event.style or None)
        if node.style in ("|", ">"):
            end = max(start, start + len(self.text[start:end].rstrip()))
        node.anchor, node.explicit_tag = event.anchor, event.tag
        self._grow(1, start)
        use = self._use(node, head, start, end)
        self._define(use)
        return use

    def _define(self, use: Use) -> None:
        name = use.node.anchor
        if name is None:
            return
        if name in self.anchors:
            raise self.mistake(
                "duplicate-anchor",
                f"`&{name}` stands twice; the first is {_distance(self.anchors[name].use, use)}",
                use.start,
                "rename one",
            )
        self.anchors[name] = Anchor(name, use, [])

    def _start(self, event: yaml.CollectionStartEvent, head: int | None) -> None:
        if len(self.open) >= MAX_DEPTH:
            raise self._too_deep(_span(event)[0])
        kind, of = (Table, yaml.MappingNode) if isinstance(event, yaml.MappingStartEvent) else (Items, yaml.SequenceNode)
        start, stop = _span(event)
        mark = self._mark(start)
        node = kind(self.loader.tag(of, event), [], mark, mark, bool(event.flow_style))
        node.anchor, node.explicit_tag = event.anchor, event.tag
        self.open.append(_Frame(node, head, start, stop))
        self._grow(1, start)

    def _end(self, event: yaml.Event) -> Use:
        frame = self.open.pop()
        node = frame.node
        end = _span(event)[1]
        node.end_mark = self._mark(end)
        if isinstance(node, Table):
            node.entries = frame.entries
            node.value = [(entry.key.node, entry.value.node) for entry in frame.entries]
        else:
            node.items = frame.uses
            node.value = [item.node for item in frame.uses]
        node.size = 1 + sum(use.node.size for use in frame.uses)
        # a block collection "ends" for PyYAML where the next token starts, after all comments
        stop = end if node.flow_style else max((use.stop for use in frame.uses), default=frame.stop)
        use = self._use(node, frame.head, frame.start, stop)
        self._define(use)
        return use

    def _add(self, use: Use) -> None:
        frame = self.open[-1]
        if isinstance(frame.node, Table) and len(frame.uses) % 2 == 0:
            self._check_key(frame, use)
        elif isinstance(frame.node, Table):
            key = frame.uses[-1]
            if use.empty and use.node.anchor is None and self.text[use.start - 1 : use.start] != ":":
                use = self._use(use.node, None, key.stop, key.stop, written=False)
            entry = Entry(key, use)
            if entry.merge:
                self._check_merge(use)
            frame.entries.append(entry)
        frame.uses.append(use)

    def _check_key(self, frame: _Frame, use: Use) -> None:
        if not isinstance(use.node, Leaf):
            raise self.mistake(
                "bad-key", "a list or a mapping cannot be a key", use.start, "quote the text if braces are meant as text"
            )
        value = scalar_value(use.node)
        if value in frame.seen:
            first = frame.seen[value]
            raise self.mistake(
                "duplicate-key",
                f"`{use.node.value}` stands twice in one mapping; the first is {_distance(first, use)}",
                use.start,
                "remove one of them",
            )
        frame.seen[value] = use

    def _check_merge(self, use: Use) -> None:
        sources = use.node.items if isinstance(use.node, Items) else [use]
        if not all(isinstance(source.node, Table) for source in sources):
            raise self.mistake(
                "bad-merge",
                "`<<` takes a mapping, or a list of mappings",
                use.start,
                "write `<<: *name` of an anchored mapping",
            )


def _span(event: yaml.Event) -> tuple[int, int]:
    assert event.start_mark
    assert event.end_mark
    return event.start_mark.index, event.end_mark.index


class _Frame:
    """A collection whose end has not come yet."""

    def __init__(self, node: Table | Items, head: int | None, start: int, stop: int) -> None:
        self.node, self.head, self.start, self.stop = node, head, start, stop
        self.uses: list[Use] = []
        self.entries: list[Entry] = []
        self.seen: dict[object, Use] = {}


def _distance(first: Use, second: Use) -> str:
    """Where `first` stands, as seen from `second`: holds however an editor counts the lines of the text."""
    lines = second.line - first.line
    return f"{lines} line{'s' if lines > 1 else ''} above" if lines else "on the same line"
