"""Terminal escape sequences in a log: taken out, or (colours) turned into styled spans."""

from __future__ import annotations

import re
from typing import NamedTuple

# ECMA-48: CSI … final byte; OSC/DCS/SOS/PM/APC strings up to BEL or ST; two-character escapes. Then a lone ESC and the
# other C0 controls (tab stays): a browser shows none of them, and a backspace would move nothing.
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])?|[\x00-\x08\x0a-\x1f\x7f]")
_SGR = re.compile(r"\x1b\[([0-9;:]*)m")
_NAMES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")


class Style(NamedTuple):
    """How a span looks. Colours are one of the eight names, ``bright-`` and a name, or ``#rrggbb``; None is the default."""

    color: str | None = None
    background: str | None = None
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: bool = False


PLAIN = Style()


def strip(text: str) -> str:
    """The text without escape sequences and control characters (a tab stays)."""
    return text if text.isprintable() else _ESCAPE.sub("", text)


def spans(text: str, style: Style = PLAIN) -> list[tuple[str, Style]]:
    """The text as (text, style) pieces that begin in ``style``; joined they are ``strip(text)``."""
    pieces: list[tuple[str, Style]] = []
    for i, part in enumerate(_SGR.split(text)):
        if i % 2:
            style = _apply(style, part)
        elif shown := strip(part):
            if pieces and pieces[-1][1] == style:
                shown = pieces.pop()[0] + shown
            pieces.append((shown, style))
    return pieces


def _apply(style: Style, parameters: str) -> Style:
    codes = [int(code or 0) for code in re.split("[;:]", parameters)]
    while codes:
        code = codes.pop(0)
        match code:
            case 0:
                style = PLAIN
            case 1:
                style = style._replace(bold=True)
            case 2:
                style = style._replace(dim=True)
            case 3:
                style = style._replace(italic=True)
            case 4:
                style = style._replace(underline=True)
            case 22:
                style = style._replace(bold=False, dim=False)
            case 23:
                style = style._replace(italic=False)
            case 24:
                style = style._replace(underline=False)
            case 38:
                style = style._replace(color=_extended(codes))
            case 39:
                style = style._replace(color=None)
            case 48:
                style = style._replace(background=_extended(codes))
            case 49:
                style = style._replace(background=None)
            case _ if 30 <= code <= 37 or 90 <= code <= 97:
                style = style._replace(color=_name(code - 30))
            case _ if 40 <= code <= 47 or 100 <= code <= 107:
                style = style._replace(background=_name(code - 40))
    return style


def _name(code: int) -> str:
    return _NAMES[code] if code < 8 else f"bright-{_NAMES[code - 60]}"


def _extended(codes: list[int]) -> str | None:
    """The colour behind 38 or 48: ``5;N`` (256 colours) or ``2;R;G;B``; takes what it reads out of ``codes``."""
    kind = codes.pop(0) if codes else 0
    if kind == 2 and len(codes) >= 3:
        return "#{:02x}{:02x}{:02x}".format(*(min(codes.pop(0), 255) for _ in range(3)))
    if kind != 5 or not codes:
        return None
    code = min(codes.pop(0), 255)
    if code < 16:
        return _name(code if code < 8 else code + 52)
    if code >= 232:
        return f"#{8 + 10 * (code - 232):02x}" + 2 * f"{8 + 10 * (code - 232):02x}"
    levels = (0, 95, 135, 175, 215, 255)
    return "#{:02x}{:02x}{:02x}".format(*(levels[(code - 16) // base % 6] for base in (36, 6, 1)))
