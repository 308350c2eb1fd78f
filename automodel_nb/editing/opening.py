"""What a form begins with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from automodel_nb import api
from automodel_nb.editing import cells
from automodel_nb.editing.sheet import Sheet
from automodel_nb.editing.state import State
from automodel_nb.plan import METHODS, Method
from automodel_nb.planning.sources import route


def opened(source: str | Path | None) -> State:
    """The state to begin with: see `Form`.

    Raises:
        LaunchError: the source cannot be read.
    """
    if isinstance(source, Path):
        return _state(cells.Cell(None, cells.Options(), api.read_text(source)))
    if source is None or source.strip() in METHODS:
        return _state(cells.Cell(None, cells.Options(), api.template((source or "interactive").strip())))
    cell = cells.read(source)
    file = cell.options.file
    if file is not None and not _says_anything(cell.yaml):
        cell = replace(cell, options=replace(cell.options, file=None), yaml=api.read_text(Path(file)))
    return _state(cell)


def _state(cell: cells.Cell) -> State:
    sheet = Sheet.parse(cell.yaml)
    method = route(cell.method, []) if cell.method else method_of(sheet, "interactive")
    return State(cell.yaml, cell.yaml, method, options=cell.options)


def _says_anything(text: str) -> bool:
    return any(line.strip() and not line.lstrip().startswith("#") for line in text.splitlines())


def method_of(sheet: Sheet, before: Method) -> Method:
    """The method that a text asks for: that of its section, of several the one chosen before."""
    present = [method for method in METHODS if method in sheet.document.sections]
    if before in present or (not present and before == "interactive"):
        return before
    return present[0] if present else "interactive"
