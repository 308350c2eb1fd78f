"""Pure functions from plain data to HTML, SVG and plain text. Each module is loaded when one of its names is first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from automodel_nb.views.card import card_html, card_text
    from automodel_nb.views.curve import curve_html, curve_svg
    from automodel_nb.views.findings import findings_html, findings_text
    from automodel_nb.views.html import esc
    from automodel_nb.views.jobs import jobs_html, jobs_text
    from automodel_nb.views.lines import lines_html, lines_text
    from automodel_nb.views.model import CardData, Failure, JobRow
    from automodel_nb.views.preview import preview_html, preview_text

__all__ = [
    "CardData",
    "Failure",
    "JobRow",
    "card_html",
    "card_text",
    "curve_html",
    "curve_svg",
    "esc",
    "findings_html",
    "findings_text",
    "jobs_html",
    "jobs_text",
    "lines_html",
    "lines_text",
    "preview_html",
    "preview_text",
]
_HOME = {"esc": "html", "CardData": "model", "Failure": "model", "JobRow": "model"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME.get(name) or name.rpartition('_')[0]}"), name)
    globals()[name] = value
    return value
