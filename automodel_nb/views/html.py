"""Building blocks of the HTML views.

One HTML text has to live in many places, and each of them leaves other things of it (measured, JupyterLab 4.6):

- A trusted notebook, nbconvert: everything.
- An untrusted notebook (a colleague's, opened): no ``<style>``, no ``<svg>`` (its words stay, loose), no ``aria-`` or ``data-``
  attribute; of ``style=`` the declarations whose value JupyterLab's sanitizer knows, so no ``var()``.
- GitHub and plain viewers: no style at all.

So: no style sheet; ``style=`` alone, where a theme variable follows a plain value of the same property (the last one understood
wins); colours that carry light and dark (half transparent greys, fills with white on them); charts as pictures; an order
of elements that reads well bare. No headings: JupyterLab would list them among the notebook's own.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from urllib.parse import quote

from automodel_nb.states import JobState
from automodel_nb.views import words

FONT = "font-family:system-ui,sans-serif;font-family:var(--jp-ui-font-family,system-ui,sans-serif)"
LINE = "1px solid #8884"
MUTED = "opacity:.68"

GREEN, RED, AMBER, BLUE, GREY, VIOLET = "#1a7f37", "#cf222e", "#9a6700", "#0969da", "#59636e", "#8250df"

#: White text on each of these has a contrast of 5:1 or more.
COLOURS: dict[JobState, str] = {
    JobState.SUBMITTING: GREY,
    JobState.PENDING: AMBER,
    JobState.RUNNING: BLUE,
    JobState.STOPPING: AMBER,
    JobState.COMPLETED: GREEN,
    JobState.FAILED: RED,
    JobState.CANCELLED: GREY,
    JobState.TIMEOUT: VIOLET,
    JobState.PREEMPTED: VIOLET,
    JobState.NODE_FAIL: RED,
    JobState.OUT_OF_MEMORY: RED,
    JobState.UNKNOWN: GREY,
}


def esc(text: object) -> str:
    """Text for an element or a quoted attribute; whatever it is, it stays text."""
    return html.escape(words.clean(text), quote=True)


def tag(name: str, inner: str, style: str = "", **attributes: object) -> str:
    """An element around `inner`, which is HTML already; attribute values are escaped, those that are empty or None left out."""
    given = {"style": style, **attributes}
    listed = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{esc(value)}"' for key, value in given.items() if value not in ("", None)
    )
    return f"<{name}{listed}>{inner}</{name}>"


def chip(state: JobState) -> str:
    """The state as a filled label: symbol and word."""
    style = (
        f"display:inline-block;background:{COLOURS[state]};color:#fff;border-radius:10px;padding:1px 9px;"
        "font-size:11px;font-weight:600;letter-spacing:.4px;white-space:nowrap"
    )
    return tag("span", f"{words.SYMBOLS[state]} {state.value.replace('_', ' ')}", style)


def code(text: object) -> str:
    """A word or line of code within a sentence."""
    return tag("code", esc(text), "font-size:12px;background:#8882;border-radius:3px;padding:1px 4px")


def prose(text: object) -> str:
    """A sentence in which words between backticks are code."""
    return "".join(code(part) if i % 2 else esc(part) for i, part in enumerate(_BACKTICKS.split(str(text))))


_BACKTICKS = re.compile(r"`([^`\n]+)`")


def pre(inner: str) -> str:
    """Preformatted lines; `inner` is HTML already. Long lines wrap: a sideways scroll bar hides what it holds."""
    looks = "font-size:12px;line-height:1.5;margin:2px 0 0;padding:8px 10px;background:#8881;border-radius:5px"
    return tag(
        "pre", inner, f"{looks};white-space:pre-wrap;word-break:normal;overflow-wrap:break-word;max-height:420px;overflow:auto"
    )


def command(text: str) -> str:
    """A command line in a block; an option is not torn behind its dashes."""
    return pre(_OPTION.sub(r"<nobr>\g<0></nobr>", esc(text)))


_OPTION = re.compile(r"(?<=\s)(?:&#x27;)?--?\w+")


def details(summary: str, inner: str, *, is_open: bool = False) -> str:
    """A part that opens; `summary` is text, `inner` HTML."""
    head = tag("summary", esc(summary), "cursor:pointer;font-weight:600")
    return f'<details style="margin-top:8px"{" open" if is_open else ""}>{head}{inner}</details>'


def pairs(rows: Iterable[tuple[str, str]]) -> str:
    """Names and their values, below each other; the values are HTML already."""
    # JupyterLab gives names and values a width; without min-width a long path would widen the whole card
    name_style, value_style = f"width:auto;font-weight:400;{MUTED}", "width:auto;min-width:0;margin:0;padding:0"
    lines = "".join(tag("dt", esc(name), name_style) + tag("dd", value, value_style) for name, value in rows)
    style = "display:grid;grid-template-columns:max-content 1fr;gap:3px 16px;margin:4px 0;overflow-wrap:break-word"
    return tag("dl", lines, style) if lines else ""


def bare_code(text: object) -> str:
    """Code that stands alone, as a value in `pairs`: without the fill that marks it within a sentence."""
    return tag("code", esc(text), "font-size:12px;background:none;padding:0")


def tiles(cells: Iterable[tuple[str, str]], size: int) -> str:
    """Figures side by side, each below its name; values are HTML already, `size` in pixels."""
    inner = "".join(
        tag("div", tag("div", esc(name), MUTED) + tag("div", value, f"font-size:{size}px")) for name, value in cells
    )
    return tag("div", inner, "display:flex;flex-wrap:wrap;gap:8px 28px;margin:12px 0") if inner else ""


def image(svg: str, alt: str, height: int) -> str:
    """An SVG as a picture: nothing in it can run, untrusted notebooks keep it, `alt` stands in where pictures do not show."""
    # a double quote in an SVG of ours only delimits attributes; escaped as a single one it stays one byte
    source = "data:image/svg+xml," + quote(svg.replace('"', "'"), safe=" '()*,-./:;=!~_?@$+")
    style = f"display:block;width:100%;height:{height}px"
    return f'<img src="{source}" alt="{esc(alt)}" width="640" height="{height}" style="{style}">'


def progress_bar(fraction: float, colour: str) -> str:
    """A bar; whatever it says must also be said in words beside it."""
    inner = tag("div", "", f"width:{fraction * 100:.1f}%;height:6px;background:{colour};border-radius:3px")
    return tag("div", inner, "background:#8883;border-radius:3px;margin-top:4px")
