"""Lines of a log, as HTML and as text."""

from __future__ import annotations

from collections.abc import Sequence

from automodel_nb.views import words
from automodel_nb.views.html import esc, pre, tag
from automodel_nb.watching import ansi

_LONGEST = 2000  # characters of one line that are shown; the file keeps the rest

#: The eight names of terminals, in tones that can be read on white and on black.
_COLOURS = {
    "black": "#7a7a7a",
    "red": "#e5484d",
    "green": "#2f9e57",
    "yellow": "#b87a00",
    "blue": "#3b82f6",
    "magenta": "#b65cc9",
    "cyan": "#1594a8",
    "white": "#8a8a8a",
}


def lines_text(lines: Sequence[str]) -> str:
    """The lines without colours and controls."""
    return "\n".join(words.clean(_shorten(ansi.strip(line))) for line in lines)


def lines_html(lines: Sequence[str]) -> str:
    """The lines in a block of their own, in their colours; empty for none."""
    return pre("\n".join(line_html(line) for line in lines)) if lines else ""


def line_html(line: str) -> str:
    """One line as HTML, without a block around it."""
    pieces, room = [], _LONGEST
    for text, style in ansi.spans(line):
        shown, room = text[:room], room - len(text)
        css = _css(style)
        pieces.append(tag("span", esc(shown), css) if css else esc(shown))
        if room < 0:
            return "".join(pieces) + esc(_rest(-room))
    return "".join(pieces)


def _css(style: ansi.Style) -> str:
    # background colours are left out: with a foreground of the page's theme they may hide the text
    rules = []
    if style.color:
        rules.append("color:" + _COLOURS.get(style.color.removeprefix("bright-"), style.color))
    if style.bold:
        rules.append("font-weight:600")
    if style.dim:
        rules.append("opacity:.7")
    if style.italic:
        rules.append("font-style:italic")
    if style.underline:
        rules.append("text-decoration:underline")
    return ";".join(rules)


def _shorten(line: str) -> str:
    return line if len(line) <= _LONGEST else line[:_LONGEST] + _rest(len(line) - _LONGEST)


def _rest(count: int) -> str:
    return f" … {count:,} characters more"
