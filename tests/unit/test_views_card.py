from __future__ import annotations

import re
from dataclasses import replace

import pytest

from automodel_nb.findings import Finding
from automodel_nb.states import JobState
from automodel_nb.views import CardData, card_html, card_text
from automodel_nb.views.html import AMBER, BLUE, COLOURS, GREEN, GREY, RED, VIOLET
from tests.unit.views_samples import COMPLETED, DIRECTORY, FAILED, NOON, PENDING, RUNNING

ALL = pytest.mark.parametrize("card", [COMPLETED, RUNNING, FAILED, PENDING], ids=lambda card: card.state.value)


def words_of(html: str) -> str:
    """What is left where neither styles nor pictures are shown."""
    html = re.sub(r'<img[^>]* alt="([^"]*)"[^>]*>', r" \1 ", html)
    text = re.sub(r"<[^>]+>", " ", re.sub(r"</?nobr>", "", html))
    for entity, char in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&#x27;", "'"), ("&amp;", "&")):
        text = text.replace(entity, char)
    return re.sub(r"\s+", " ", text)


@ALL
def test_a_card_is_small_and_needs_neither_script_nor_style_sheet_nor_inline_svg(card: CardData) -> None:
    html = card_html(card)
    assert len(html) < 12_000
    assert not re.search(r"<(script|style|svg|link|iframe|h\d|a|button|input)\b", html)
    assert not re.search(r"<[^>]*\s(on\w+|id|class)=", html)


@ALL
def test_the_same_data_makes_the_same_card(card: CardData) -> None:
    assert card_html(card) == card_html(replace(card))


@ALL
def test_html_and_text_tell_the_same(card: CardData) -> None:
    html, text = words_of(card_html(card)), card_text(card)
    for fact in (card.state.value, card.name, "slurm 60360068 on alpha", card.reason, card.log_path, "%automodel_attach 7k3f"):
        assert fact in html
        assert fact in text


def test_a_completed_card() -> None:
    html = words_of(card_html(COMPLETED))
    for fact in (
        "✓ COMPLETED llm_finetune",
        "40 of 40 steps · epoch 0 100 %",
        "Submitted 1 Dec 2026, 12:00:00 UTC",
        "Started 12:00:43 after 43 s",
        "Ended 12:13:14 ran 12 min 31 s",
        "Loss: train",
        f"Model {DIRECTORY}/checkpoints/epoch_0_step_39/model/consolidated",
        "node07, node08",
        "slurm.time 04:00:00",
        "step 37",
    ):
        assert fact in html
    assert "as of" not in html  # nothing will change any more
    assert "exit code" not in html


def test_a_running_card_says_how_fresh_it_is_and_what_will_be_too_late() -> None:
    html = words_of(card_html(RUNNING))
    for fact in (
        "1,830 of 5,000 steps · epoch 3 · 3 h 12 min left · time limit in 1 h 56 min",
        "36 %",
        "Running for 2 h 03 min",
        "Time limit 16:00:43",
    ):
        assert fact in html
    assert "At this pace the time limit comes before the last step." in html
    assert "as of 1 Dec 2026, 14:04:03 UTC" in html
    enough = words_of(card_html(replace(RUNNING, time_limit=48 * 3600.0)))
    assert "At this pace" not in enough


def test_a_failed_card_begins_with_why() -> None:
    html = words_of(card_html(FAILED))
    assert html.index("CUDA ran out of memory") < html.index("24 of 40 steps")
    assert "rank 3 on node07, line 812 torch.OutOfMemoryError: CUDA out of memory" in html
    assert "→ Halve step_scheduler.local_batch_size ." in html
    assert "ran 12 min 31 s, exit code 1" in html
    text = card_text(FAILED).split("\n")
    assert text[2] == "  CUDA ran out of memory on one GPU. (rank 3 on node07, line 812)"
    assert text[3].startswith("  | torch.OutOfMemoryError")
    assert text[-1].endswith("num_label_tokens 58")  # the end of the log, for papermill's


def test_a_pending_card_shows_no_progress_it_does_not_have() -> None:
    html = words_of(card_html(replace(PENDING, unreachable=True)))
    assert "Expected start 13:30:00" in html
    assert "▲ as of 1 Dec 2026, 12:13:20 UTC, no answer since" in html
    assert "steps" not in html
    assert "Loss" not in html


def test_relations() -> None:
    card = replace(COMPLETED, attempt=2, previous="5c1d", next="9x2d")
    assert "Run 3, after 2 restarts. Goes on from 5c1d. Resumed as 9x2d." in card_text(card)
    assert "Goes on from 5c1d . Resumed as 9x2d ." in words_of(card_html(card))


def test_a_cluster_that_costs_money_is_on_the_card() -> None:
    card = replace(COMPLETED, cost=0.4167, hourly=2.5, cluster_up="Its cluster is still up.")
    for text in (card_text(card), words_of(card_html(card))):
        assert "Its cluster is still up." in text
        assert re.search(r"[Cc]ost so far 0\.42 \$ \(?2\.50 \$ an hour", text)


def test_findings_are_on_the_card() -> None:
    card = replace(PENDING, findings=[Finding("no-time", "warning", "No `time`.", line=3, column=1)])
    assert "▲ warning line 3, column 1: No time ." in words_of(card_html(card))
    assert "▲ warning line 3, column 1: No `time`." in card_text(card)


@pytest.mark.parametrize("state", JobState)
def test_every_state_is_a_word_and_a_symbol(state: JobState) -> None:
    card = CardData("1", "n", "interactive", state, submitted=NOON)
    word = re.escape(state.value.replace("_", " "))
    assert re.search(rf">\S {word}<", card_html(card))
    assert card_text(card)[2:].startswith(state.value)


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, two: str) -> float:
    a, b = sorted((luminance(one), luminance(two)), reverse=True)
    return (a + 0.05) / (b + 0.05)


def test_white_on_the_fills_can_be_read() -> None:
    assert set(COLOURS) == set(JobState)
    for colour in {*COLOURS.values(), AMBER, BLUE, GREEN, GREY, RED, VIOLET}:
        assert contrast("#ffffff", colour) >= 4.5, colour


def test_the_curve_shows_on_light_and_on_dark() -> None:
    from automodel_nb.views.curve import _COLOURS, INK

    for page in ("#ffffff", "#111111", "#212121"):
        assert contrast(INK, page) >= 3.6, page
        for colour in _COLOURS[:2]:
            assert contrast(colour, page) >= 3.0, (colour, page)
