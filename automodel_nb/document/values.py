"""Python values as AutoModel's loader (``yaml.safe_load``) reads them; for checks, never for launcher fields."""

from __future__ import annotations

import yaml

from automodel_nb.document.nodes import Items, Leaf, Node

_CONSTRUCTOR = yaml.SafeLoader("")
_RETYPED = {f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float", "binary", "timestamp")}


def scalar_value(node: Leaf) -> object:
    """The scalar's value; its text where safe_load would refuse it (``!mine x``, ``!!int x``, ``2024-99-99``)."""
    if node.tag not in _RETYPED:
        return node.value
    try:
        return _CONSTRUCTOR.yaml_constructors[node.tag](_CONSTRUCTOR, node)
    except (ValueError, OverflowError, KeyError, IndexError, yaml.YAMLError):
        return node.value


def value(node: Node) -> object:
    """The node's value; each alias is a copy of its own, so that a change at one place stays there."""
    if isinstance(node, Leaf):
        return scalar_value(node)
    if isinstance(node, Items):
        return [value(item.node) for item in node.items]
    pairs = ((entry.key.node, entry.value.node) for entry in node.effective())
    return {scalar_value(key): value(item) for key, item in pairs if isinstance(key, Leaf)}
