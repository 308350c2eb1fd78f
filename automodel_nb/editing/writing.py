"""How a value that was typed into a field becomes YAML."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from automodel_nb.configs import fields
from automodel_nb.document import SECTIONS, Path
from automodel_nb.document.model import parts
from automodel_nb.editing.controls import native
from automodel_nb.editing.fields import Inherited
from automodel_nb.editing.sections import begin
from automodel_nb.editing.sheet import Plain, Sheet
from automodel_nb.errors import DocumentError
from automodel_nb.findings import Finding, Fix
from automodel_nb.interpolation.environment import literal_token
from automodel_nb.plan import METHODS
from automodel_nb.profiles import KEYED

Keys = tuple[str | int, ...]

_UNFIT = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")  # a document refuses them too; here the words fit a field


def keys_of(path: Path) -> Keys:
    """The keys of a path; in a list field (``slurm.extra_mounts.0``) a number is an index."""
    keys = parts(path)
    method = next((method for method in METHODS if keys and method == keys[0]), None)
    if method and len(keys) > 2 and any(doc.name == keys[1] and doc.kind == "list" for doc in fields(method)):
        return (*keys[:2], *(int(key) if str(key).isdecimal() else key for key in keys[2:]))
    return keys


def as_typed(text: str) -> str | bool | int | float:
    """What a recipe holds where `text` is typed into it: a number and true are not text there."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, bool | int | float) else text


def written(sheet: Sheet, keys: Keys, value: object, below: Mapping[str, Inherited], *, remove: bool = False) -> Sheet:
    """The document with `value` at `keys`.

    Args:
        below: what the section inherits: who edits one item of an inherited list gets the list.
        remove: take the inherited item at `keys` out instead.

    Raises:
        DocumentError: it cannot be written there, or it is a token.
    """
    if not keys or keys[0] not in SECTIONS or len(keys) == 1:
        return sheet.set(keys, value)
    _refuse(value, str(keys[-1]))
    method = next(method for method in METHODS if method == keys[0])
    name, docs = str(keys[1]), {doc.name: doc for doc in fields(method)}
    if isinstance(value, bool | int | float) and not isinstance(sheet.raw(keys), dict | list):
        text = str(value).lower() if isinstance(value, bool) else str(value)
        value = text if sheet.raw(keys) is not None else value  # what stands there keeps its quotes
    elif len(keys) == 2 and sheet.raw(keys) is None:
        value = native(docs.get(name), value)
    elif name == "fault_tolerance" and isinstance(value, str) and value.isdecimal() and value.isascii():
        value = int(value)
    if len(keys) > 2 and (base := _base(sheet, keys[:2], below)) is not None:
        keys, value = keys[:2], _put(base, keys[2:], value, remove)
    if method not in sheet.document.sections:
        return begin(sheet, method, {name: _put(None, keys[2:], value, False)})
    return sheet.set(keys, value)


def removed(sheet: Sheet, keys: Keys, below: Mapping[str, Inherited]) -> Sheet:
    """The document without what is at `keys`; the last one of a collection takes the collection with it.

    Raises:
        DocumentError: it cannot be taken out.
    """
    if len(keys) > 2 and keys[0] in SECTIONS:
        if not sheet.has(keys[:2]) and str(keys[1]) in below:
            return written(sheet, keys, None, below, remove=True)
        whole = sheet.raw(keys[:-1])
        if isinstance(whole, dict | list) and len(whole) == 1:
            return removed(sheet, keys[:-1], below)
    return sheet.remove(keys)


def _base(sheet: Sheet, field: Keys, below: Mapping[str, Inherited]) -> Plain | Mapping[str, Plain]:
    """What an edit inside of a field begins from, where the document has no collection there; None where it has one."""
    here = sheet.raw(field)
    if isinstance(here, dict | list):
        return None
    if here is not None:
        return {}  # `fault_tolerance: true`, of which one option is given now
    name = str(field[1])
    return below[name].value if name in below and name not in KEYED else None


def _put(base: Any, keys: Keys, value: Any, remove: bool) -> Any:
    """A copy of `base` with `value` at `keys` (or without what is there)."""
    if not keys:
        return value
    key, rest = keys[0], keys[1:]
    items = list(base) if isinstance(base, list) else [] if isinstance(key, int) else None
    if items is not None and str(key).isdecimal():
        index = min(int(key), len(items))
        inner = [] if remove and not rest else [_put(items[index] if index < len(items) else None, rest, value, remove)]
        return [*items[:index], *inner, *items[index + 1 :]]
    table = dict(base) if isinstance(base, Mapping) else {}
    if remove and not rest:
        return {name: item for name, item in table.items() if name != key}
    return table | {str(key): _put(table.get(str(key)), rest, value, remove)}


def _refuse(value: object, name: str) -> None:
    """What must not get into the document at all, however the text around it looks."""
    for key, text in _texts(value, name):
        if literal_token(text, key):
            fix = Fix("put it into this kernel's environment, and choose the variable by its name")
            raise DocumentError([Finding("literal-secret", "error", "that is a token itself, and was not written", fix=fix)])
        if bad := _UNFIT.search(text):
            message = f"holds a character that no launcher field takes (U+{ord(bad.group()):04X}), and was not written"
            raise DocumentError([Finding("control-character", "error", message)])


def _texts(value: object, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _texts(item, str(key))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item, name)
    elif isinstance(value, str):
        yield name, value
