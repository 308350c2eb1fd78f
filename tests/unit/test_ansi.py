"""Escape sequences are taken out, colours become spans."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from automodel_nb.watching.ansi import PLAIN, Style, spans, strip


@pytest.mark.parametrize(
    ("text", "stripped"),
    [
        ("plain é █", "plain é █"),
        ("\x1b[32mINFO\x1b[0m", "INFO"),
        ("\x1b[1;31;48;5;12mx\x1b[m", "x"),
        ("\x1b[2K\x1b[1G50%\x1b[?25l", "50%"),
        ("\x1b]8;;https://x.invalid\x1b\\link\x1b]8;;\x07", "link"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b(B\x1b=x", "x"),
        ("\x1b", ""),
        ("a\x08b\x07c\td\x00", "abc\td"),
    ],
)
def test_strip(text: str, stripped: str) -> None:
    assert strip(text) == stripped


def test_spans() -> None:
    assert spans("a \x1b[32mINFO\x1b[0m b") == [("a ", PLAIN), ("INFO", Style(color="green")), (" b", PLAIN)]
    assert spans("\x1b[1;91mx\x1b[22my") == [("x", Style("bright-red", bold=True)), ("y", Style("bright-red"))]
    assert spans("\x1b[38;5;208mx\x1b[48;2;1;2;300my\x1b[39;49mz") == [
        ("x", Style("#ff8700")),
        ("y", Style("#ff8700", "#0102ff")),
        ("z", PLAIN),
    ]
    assert spans("\x1b[38;5;9;3;4mx\x1b[23;24my") == [
        ("x", Style("bright-red", italic=True, underline=True)),
        ("y", Style("bright-red")),
    ]
    assert spans("\x1b[38;5;244mx") == [("x", Style("#808080"))]
    assert spans("\x1b[44;107mx") == [("x", Style(None, "bright-white"))]
    assert spans("x\x1b[Ky") == [("xy", PLAIN)]
    assert spans("") == []
    assert spans("x", Style(bold=True)) == [("x", Style(bold=True))]


@given(st.text(alphabet=st.sampled_from("\x1b[]0123458;:mKx\x07\\ "), max_size=40))
def test_spans_hold_the_stripped_text_whatever_the_sequences_are(text: str) -> None:
    assert "".join(part for part, _ in spans(text)) == strip(text)
    assert "\x1b" not in strip(text)
