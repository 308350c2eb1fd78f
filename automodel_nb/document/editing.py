"""Edits that change just the characters of one value, one key or one item.

Each function yields edits in order of preference. The caller reads the result of each and takes the first that holds what
was asked and nothing else (`verifying`): YAML has more corners than a writer can foresee, and a reader knows them all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from automodel_nb.document.cutting import in_block_scalar, last_leaf, line_end, line_start, member_span, skip_blank
from automodel_nb.document.encoding import block, inline, literal, restyled, scalar
from automodel_nb.document.nodes import Items, Leaf, Table, Use, plain
from automodel_nb.document.reading import Tree
from automodel_nb.document.scanning import Places

Edit = tuple[int, int, str]
"""Replace the characters from the first index to the second."""

Parts = Sequence[str | int]


def setting(text: str, tree: Tree, path: Parts, value: object, as_text: bool) -> Iterator[Edit]:
    """Ways to write `value` at `path`; `as_text`: plain text may look like a number, since a field gives it its type."""
    if path:
        yield from _Writer(text, tree, as_text).set(path, value)


def removing(text: str, tree: Tree, path: Parts) -> Iterator[Edit]:
    """Ways to take out what is at `path`; none where it comes in through an alias or ``<<``."""
    use = tree.use
    for depth, part in enumerate(path):
        node, last = use.node, depth == len(path) - 1
        if (use.alias is not None and depth) or isinstance(node, Leaf):
            return
        if isinstance(node, Table):
            index = next((i for i, entry in enumerate(node.entries) if entry.name == str(part) and not entry.merge), None)
        else:
            index = int(part) if str(part).isdecimal() and int(part) < len(node.items) else None
        if index is None:
            return
        if last:
            yield (*member_span(text, node, index), "")
            yield use.start, use.stop, "{}" if isinstance(node, Table) else "[]"  # an only member that cannot leave nothing
            return
        use = node.entries[index].value if isinstance(node, Table) else node.items[index]


def renaming(text: str, tree: Tree, path: Parts, name: str) -> Iterator[Edit]:
    """The edit that writes another key for the last part of `path`."""
    table = tree.root
    for part in path[:-1]:
        entry = table.own(str(part))
        if entry is None or entry.value.alias is not None or not isinstance(entry.value.node, Table):
            return
        table = entry.value.node
    entry = table.own(str(path[-1]))
    if entry and entry.key.alias is None and isinstance(entry.key.node, Leaf):
        for new in restyled(name, entry.key.node.style):
            yield entry.key.start, entry.key.stop, _anchor(entry.key) + new


def _anchor(use: Use) -> str:
    return f"&{use.node.anchor} " if use.alias is None and use.node.anchor else ""


class _Writer:
    """Where and how to write one value.

    `head` is the key or dash in front of the value at hand, None at the root or in flow style.
    """

    def __init__(self, text: str, tree: Tree, as_text: bool) -> None:
        self.text, self.tree, self.as_text = text, tree, as_text
        self.places = Places(text)
        found = re.search(r"\r\n|\r|\n", text)
        self.newline = found.group() if found else "\n"
        self.step = self._step()

    def _step(self) -> int:
        """How deep the document indents, from its first nested block mapping."""
        for entry in self.tree.root.entries:
            node = entry.value.node
            if entry.value.alias is None and isinstance(node, Table) and not node.flow_style:
                return max(self._column(node.entries[0].key.head) - self._column(entry.key.head), 1)
        return 2

    def _column(self, index: int) -> int:
        return self.places(index)[1] - 1

    def set(self, path: Parts, value: object) -> Iterator[Edit]:
        use, head, flow = self.tree.use, None, bool(self.tree.root.flow_style)
        for depth, part in enumerate(path):
            node, rest = use.node, path[depth + 1 :]
            if use.alias is not None:
                yield from self._detach(use, part, rest, value)
                return
            if isinstance(node, Leaf):
                if node.null:
                    yield from self._fill(use, head, flow, _nested(path[depth:], value))
                return
            flow = flow or bool(node.flow_style)
            if isinstance(node, Table):
                entry = node.own(str(part))
                if entry is None:
                    inherited = node.find(str(part))
                    new = _merged(plain(inherited.value.node), rest, value) if inherited else _nested(rest, value)
                    yield from self._add(use, node, str(part), new, flow)
                    return
                use, head = entry.value, entry.key.head
            else:
                if not str(part).isdecimal() or int(part) > len(node.items):
                    return
                if int(part) == len(node.items):
                    yield from self._add(use, node, None, _nested(rest, value), flow)
                    return
                use = node.items[int(part)]
                head = use.head
        yield from self._replace(use, None if flow else head, value)

    def _texts(self, use: Use | None, head: int | None, value: object) -> Iterator[str]:
        """Ways to write a value at a place."""
        if not isinstance(value, str):
            yield inline(value)
            return
        if head is not None and use is not None and not self.text[use.stop : line_end(self.text, use.stop)].strip():
            lines = literal(value, self._column(head) + self.step, self.newline)
            if lines is not None:
                yield lines
        style = use.node.style if use is not None and isinstance(use.node, Leaf) and not use.empty else "|"
        if style in ("|", ">") or (style is None and not self.as_text):
            yield scalar(value)
            style = '"'
        yield from restyled(value, style)

    def _replace(self, use: Use, head: int | None, value: object) -> Iterator[Edit]:
        text, node = self.text, use.node
        anchor = _anchor(use)
        block_style = use.alias is None and isinstance(node, Table | Items) and not node.flow_style
        for new in self._texts(use, head, value):
            if not use.written:
                at, lead = use.start, ": " if text[use.start - 1] in "\"'" else " : "
                if head is not None:
                    at, lead = line_end(text, use.start), self.newline + " " * self._column(head) + ": "
                yield at, at, lead + new
            elif use.empty:
                yield use.start, use.start, f" {new}"
            elif block_style:
                start = len(text[: use.start].rstrip())
                if text[start - 1] == ":" and "#" not in text[line_start(text, start) : start].partition(":")[2]:
                    yield start, use.stop, f" {anchor}{new}"
                yield use.start, use.stop, anchor + new
                deeper = self._column(head or 0) + self.step
                yield use.start, use.stop, self.newline + " " * deeper + anchor + new
            else:
                yield use.start, use.stop, anchor + new + self._header_comment(use)

    def _header_comment(self, use: Use) -> str:
        """The comment behind ``|`` or ``>``, which lies inside of what is replaced."""
        if use.alias is not None or not isinstance(use.node, Leaf) or use.node.style not in ("|", ">"):
            return ""
        found = re.search(r"\s#[^\r\n]*", self.text[use.start : min(line_end(self.text, use.start), use.stop)])
        return found.group() if found else ""

    def _detach(self, use: Use, part: str | int, rest: Parts, value: object) -> Iterator[Edit]:
        """Give a key of its own to a mapping that is an alias; the anchored one stays."""
        node = use.node
        if isinstance(node, Table):
            inherited = node.find(str(part))
            new = _merged(plain(inherited.value.node), rest, value) if inherited else _nested(rest, value)
            yield use.start, use.stop, f"{{<<: *{use.alias}, {scalar(str(part))}: {inline(new)}}}"
        else:
            yield use.start, use.stop, inline(_merged(plain(node), (part, *rest), value))

    def _fill(self, use: Use, head: int | None, flow: bool, value: object) -> Iterator[Edit]:
        """Write a mapping where null stands."""
        if not flow and head is not None and use.written and isinstance(value, Mapping) and value:
            end = line_end(self.text, use.stop)
            start = len(self.text[: use.start].rstrip(" \t"))
            comment = self.text[use.stop : end].strip()
            indent = self._column(head) + self.step
            pad = self.newline + " " * indent
            lines = pad + pad.join(block(str(key), item, indent, self.step, self.newline) for key, item in value.items())
            kept = (
                self.text[start:end]
                if use.empty
                else "".join(f" {piece}" for piece in (_anchor(use).strip(), comment) if piece)
            )
            yield start, end, kept + lines
        yield from self._replace(use, None if flow else head, value)

    def _add(self, use: Use, node: Table | Items, key: str | None, value: object, flow: bool) -> Iterator[Edit]:
        uses = node.items if isinstance(node, Items) else [side for entry in node.entries for side in (entry.key, entry.value)]
        written = inline(value) if key is None else f"{scalar(key)}: {inline(value)}"
        if flow and not node.flow_style:
            return
        if node.flow_style:
            yield from self._add_in_flow(use, node, uses, written)
            return
        first, last = uses[0].head, uses[-1]
        indent = self._column(first)
        line = f"- {inline(value)}" if key is None else block(key, value, indent, self.step, self.newline)
        pad = " " * indent
        at = line_end(self.text, last.stop)
        yield at, at, self.newline + pad + line
        if in_block_scalar(last):  # whose last blank lines count (`|+`)
            at = last_leaf(last).node.end_mark.index
            yield at, at, pad + line + self.newline
        yield first, first, line + self.newline + pad

    def _add_in_flow(self, use: Use, node: Table | Items, uses: list[Use], written: str) -> Iterator[Edit]:
        opening = self.text.find("{" if isinstance(node, Table) else "[", use.start, use.stop)
        if not uses:
            yield opening + 1, opening + 1, written
            return
        last = uses[-1]
        comma = skip_blank(self.text, last.stop)
        if self.text[comma : comma + 1] == ",":
            yield comma + 1, comma + 1, f" {written}"
        yield last.stop, last.stop, f", {written}"
        yield uses[0].head, uses[0].head, f"{written}, "
        yield (
            use.start,
            use.stop,
            "{" + self.text[use.start : use.stop] + f", {written}}}",
        )  # `[a: b]`, a mapping without braces


def _nested(path: Parts, value: object) -> object:
    """`value` inside of the mappings (and, for a number, the list) that `path` names."""
    for part in reversed(path):
        value = [value] if isinstance(part, int) else {part: value}
    return value


def _merged(raw: object, path: Parts, value: object) -> object:
    """A copy of `raw` with `value` at `path`."""
    if not path:
        return value
    part, rest = path[0], path[1:]
    if isinstance(raw, Mapping):
        return {**raw, str(part): _merged(raw.get(str(part)), rest, value)}
    if isinstance(raw, list) and str(part).isdecimal():
        index = int(part)
        return [*raw[:index], _merged(raw[index] if index < len(raw) else None, rest, value), *raw[index + 1 :]]
    return _nested(path, value)
