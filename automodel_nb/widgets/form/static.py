"""What of a form stays in the saved notebook: the text that it holds, without any token that was typed into it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from automodel_nb.interpolation.environment import literal_token
from automodel_nb.views.html import FONT, LINE, MUTED, details, esc, pre, tag
from automodel_nb.widgets.form.wire import TABS

if TYPE_CHECKING:
    from automodel_nb.editing.form import Form


def static_html(form: Form, key: str) -> str:
    """The form's text as HTML, to be hidden while the form itself stands in its place."""
    head = tag("strong", esc(f"Launch form · {TABS[form.method]}"))
    how = tag("div", "The form lives as long as its kernel. To go on with it, run this cell again.", MUTED)
    text = details(f"{form.cell.partition(chr(10))[0]}", pre(esc(safe(form.yaml))), is_open=True)
    style = f"{FONT};font-size:13px;line-height:1.5;max-width:860px;border:{LINE};border-radius:8px;padding:12px 16px"
    return tag("div", tag("div", head + how + text, style), class_=f"amnb-form-static-{key}")


def static_text(form: Form) -> str:
    """The form's text for terminals and plain viewers."""
    return f"{safe(form.cell).rstrip()}\n\nA form needs a notebook. The text above is a cell that launches this."


def safe(text: str) -> str:
    """`text` without lines that hold a token: one was typed, and is refused, but must not be saved with the notebook."""
    return "\n".join("# (a token stood in this line)" if literal_token(line) else line for line in text.splitlines())
