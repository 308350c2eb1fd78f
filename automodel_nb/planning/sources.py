"""The first stretch of the way: texts to documents, the method, and one launcher section out of several places."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from automodel_nb.document import SECTIONS, Document, plain
from automodel_nb.errors import DocumentError, LaunchError
from automodel_nb.findings import Finding, Fix
from automodel_nb.plan import METHODS, Method, Request
from automodel_nb.profiles import over


@dataclass(frozen=True)
class Sources:
    """What the user gave.

    Attributes:
        base: the document that the recipe is taken from (the file's, else the cell's).
        cell: the cell's document where there is one beside a file.
        method: the launch method.
        section: the launcher section's fields, the cell's over the file's over the defaults, ``--set`` over all.
        recipe_overrides: ``--set`` values that belong to the recipe.
    """

    base: Document
    cell: Document | None
    method: Method
    section: Mapping[str, Any]
    recipe_overrides: Mapping[str, str]


def read(request: Request, defaults: Mapping[str, Mapping[str, Any]]) -> Sources:
    """Read a request's texts.

    Args:
        request: the texts and options.
        defaults: fields by method, out of profiles.

    Raises:
        DocumentError: a text cannot be read.
        LaunchError: the texts and the argument do not agree on a method.
    """
    _check_method(request.method)
    file = Document.parse(request.file_text, request.file or "file") if request.file_text is not None else None
    cell = None if file is not None and not _says_anything(request.text) else _cell(request.text)
    documents = [document for document in (file, cell) if document is not None]
    method = route(request.method, documents)
    section: dict[str, Any] = dict(defaults.get(method, {}))
    for document in documents:
        if method in document.sections:
            section = over(section, _fields(document, method))
    recipe_overrides: dict[str, str] = {}
    for path, text in request.overrides.items():
        head, _, rest = path.partition(".")
        if head == method and rest:
            _set(section, rest.split("."), text)
        elif head in SECTIONS:
            raise LaunchError(f"--set {path} belongs to {head}, but this is a launch by {method}")
        else:
            recipe_overrides[path] = text
    if request.name is not None:
        section["job_name"] = request.name
    if request.host is not None:
        section["host"] = request.host
    return Sources(file or documents[0], cell if file else None, method, section, recipe_overrides)


def route(asked: str | None, documents: list[Document]) -> Method:
    """The launch method: what the argument says, else what the document says, else this node."""
    _check_method(asked)
    present = {name: document for document in documents for name in document.sections}
    if asked is None:
        if len(present) > 1:
            names = " and ".join(f"`{name}:`" for name in present)
            raise LaunchError(
                [
                    _at(
                        documents,
                        list(present)[-1],
                        f"there are two launcher sections, {names}",
                        "name one as the first argument",
                    )
                ]
            )
        return _method(next(iter(present), "interactive"))
    if present and asked not in present:
        other = next(iter(present))
        message = f"the argument says {asked}, but the YAML has a `{other}:` section"
        raise LaunchError([_at(documents, other, message, f"launch with {other}, or take that section out")])
    return _method(asked)


def _check_method(asked: str | None) -> None:
    if asked is not None and asked not in METHODS:
        near = get_close_matches(asked, METHODS, 1)
        fix = Fix(f"did you mean {near[0]}?" if near else f"one of {', '.join(METHODS)}")
        raise LaunchError([Finding("unknown-method", "error", f"there is no launch method {asked!r}", fix=fix)])


def _method(name: str) -> Method:
    return next(method for method in METHODS if method == name)


def _at(documents: list[Document], section: str, message: str, fix: str) -> Finding:
    document = next(document for document in documents if section in document.sections)
    line, column = document.place(section, key=True) or (None, None)
    return Finding("method", "error", message, section, line, column, Fix(fix), document.source)


def _says_anything(text: str) -> bool:
    return any(line.strip() and not line.lstrip().startswith("#") for line in text.splitlines())


def _cell(text: str) -> Document:
    if not _says_anything(text):
        fix = Fix("type the YAML below the first line, or begin with `%automodel_new interactive`")
        raise DocumentError([Finding("empty", "error", "the cell is empty", fix=fix)])
    return Document.parse(text)


def _fields(document: Document, method: str) -> dict[str, Any]:
    fields = plain(document.sections[method].node)
    if fields is None:
        return {}
    if not isinstance(fields, dict):
        fix = Fix("indent its fields below it, `name: value`")
        line, column = document.place(method) or (None, None)
        raise LaunchError(
            [Finding("not-a-mapping", "error", f"`{method}:` holds no fields", method, line, column, fix, document.source)]
        )
    return fields


def _set(fields: dict[str, Any], path: list[str], text: str) -> None:
    for key in path[:-1]:
        below = fields.get(key)
        fields[key] = dict(below) if isinstance(below, dict) else {}
        fields = fields[key]
    fields[path[-1]] = text
