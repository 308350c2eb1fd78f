"""Whether an edit did what was asked, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from automodel_nb.document.nodes import Items, Leaf, Node, Table, Use, plain
from automodel_nb.document.reading import Tree
from automodel_nb.document.values import scalar_value

Parts = Sequence[str | int]


@dataclass(frozen=True, slots=True)
class Expected:
    """What has to be read at the path after an edit."""

    value: object


def _equals(node: Node, value: object) -> bool:
    if isinstance(value, Mapping):
        if not isinstance(node, Table):
            return not value and isinstance(node, Leaf) and node.null
        found = {entry.name: entry.value.node for entry in node.effective()}
        return found.keys() == {str(key) for key in value} and all(
            _equals(found[str(key)], item) for key, item in value.items()
        )
    if isinstance(value, str):
        return isinstance(node, Leaf) and node.value == value and not node.null
    if isinstance(value, Sequence):
        return (
            isinstance(node, Items)
            and len(node.items) == len(value)
            and all(map(_equals, (use.node for use in node.items), value))
        )
    found_value = scalar_value(node) if isinstance(node, Leaf) else node
    return type(found_value) is type(value) and repr(found_value) == repr(value)


def holds(before: Tree, after: Tree, path: Parts, expected: Expected | None) -> bool:
    """Whether `after` has what is expected at `path` (nothing, for None), and elsewhere what `before` has.

    The rest is compared as a loader sees it, or else as it is written, with each alias for itself: where the edited value
    carries an anchor, its aliases follow it, as whoever wrote them asked.
    """
    node: Node | None = after.root
    for part in path:
        node = _child(node, part)
    if expected is not None and (node is None or not _equals(node, expected.value)):
        return False
    if expected is None and node is not None and not isinstance(_holder(before, path), Items):
        return False
    drop = expected is not None
    if _without(plain(before.root), path) == _without(plain(after.root), path, drop):
        return True
    return _without(_as_written(before.use), path) == _without(_as_written(after.use), path, drop)


def _holder(tree: Tree, path: Parts) -> Node | None:
    node: Node | None = tree.root
    for part in path[:-1]:
        node = _child(node, part)
    return node


def _child(node: Node | None, part: str | int) -> Node | None:
    if isinstance(node, Table):
        entry = node.find(str(part))
        return entry.value.node if entry else None
    if isinstance(node, Items) and str(part).isdecimal() and int(part) < len(node.items):
        return node.items[int(part)].node
    return None


def _as_written(use: Use) -> object:
    if use.alias is not None:
        return f"*{use.alias}"
    if isinstance(use.node, Leaf):
        return None if use.node.null else use.node.value
    if isinstance(use.node, Items):
        return [_as_written(item) for item in use.node.items]
    return {entry.name: _as_written(entry.value) for entry in use.node.entries}


def _without(value: object, path: Parts, drop: bool = True) -> object:
    """`value` less what is at `path` (`drop`: an item there is one to take out); what is empty without it goes too."""
    if not path:
        return None
    part, rest = path[0], path[1:]
    if isinstance(value, dict):
        left = {key: item for key, item in value.items() if key != str(part)}
        inner = _without(value.get(str(part)), rest, drop)
        return (left if inner is None else {**left, str(part): inner}) or None
    if not isinstance(value, list):
        return None
    if not (rest or drop) or not str(part).isdecimal() or int(part) >= len(value):
        return value or None
    inner = _without(value[int(part)], rest, drop)
    return [*value[: int(part)], *([] if inner is None else [inner]), *value[int(part) + 1 :]] or None
