from __future__ import annotations

import math
from datetime import UTC, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from automodel_nb.states import JobState
from automodel_nb.views import words
from tests.unit.views_samples import NOON


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (59.4, "59 s"),
        (60, "1 min"),
        (751, "12 min 31 s"),
        (3600, "1 h"),
        (11_100, "3 h 05 min"),
        (86_400, "1 d"),
        (187_200, "2 d 4 h"),
        (-3, "0 s"),
        (math.inf, "0 s"),
    ],
)
def test_duration(seconds: float, text: str) -> None:
    assert words.duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-60, "just now"), (4, "just now"), (40, "40 s ago"), (119, "1 min ago"), (7300, "2 h ago"), (400_000, "4 d ago")],
)
def test_age(seconds: float, text: str) -> None:
    assert words.age(seconds) == text


def test_clock_names_the_day_only_where_it_is_not_known_from_what_stands_beside_it() -> None:
    assert words.clock(NOON, UTC) == "1 Dec 2026, 12:00:00"
    assert words.clock(NOON, UTC, near=NOON - 60) == "12:00:00"
    assert words.clock(NOON, UTC, near=NOON - 86_400) == "1 Dec 2026, 12:00:00"
    india = timezone(timedelta(hours=5, minutes=30))
    assert words.clock(NOON, india, near=NOON - 60) == "17:30:00"
    assert words.zone_name(NOON, india) == "UTC+05:30"
    assert words.iso(NOON) == "2026-12-01 12:00:00 UTC"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2.85914, "2.859"),
        (0.0, "0"),
        (12345.6, "12,346"),
        (1e-4, "1e-4"),
        (5.12e-5, "5.12e-5"),
        (34.1, "34.10"),
        (-0.5, "-0.5000"),
        (0.0123, "0.01230"),
        (None, "–"),
        (math.nan, "NaN"),
        (-math.inf, "-∞"),
    ],
)
def test_number(value: float | None, text: str) -> None:
    assert words.number(value) == text


def test_a_bar_is_full_only_when_all_is_done() -> None:
    assert words.bar(0.999, 10) == "█████████░"
    assert words.bar(1.0, 10) == "██████████"
    assert words.bar(-1, 4) == "░░░░"
    assert words.bar(7, 4) == "████"


def test_sparkline_falls_with_the_values() -> None:
    line = words.sparkline([8, 7, 6, 5, 4, 3, 2, 1], 8)
    assert line == "█▇▆▅▄▃▂▁"
    assert words.sparkline([1.0]) == ""
    assert words.sparkline([2.0, 2.0]) == "▁▁"
    assert len(words.sparkline([float(i) for i in range(10_000)])) == 32


def test_size() -> None:
    assert [words.size(count) for count in (812, 1500, 3 << 30, 5 << 40)] == ["812 B", "1.5 KiB", "3.0 GiB", "5.0 TiB"]


def test_every_state_has_a_symbol() -> None:
    assert set(words.SYMBOLS) == set(JobState)


@given(st.text())
def test_clean_text_can_always_be_sent_and_never_acts(text: str) -> None:
    shown = words.clean(text)
    shown.encode("utf-8")
    assert not {c for c in shown if ord(c) < 32 and c not in "\n\t"}
    assert not set(shown) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\x7f\x9b")


def test_clean_shows_what_was_there() -> None:
    assert words.clean("a\x1b[31mb\x00\udcff\u202ec") == "a␛[31mb␀\ufffd\ufffdc"
