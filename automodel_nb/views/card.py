"""The card of a job: one look says what it is, how far it is, how it ended, and where everything lies."""

from __future__ import annotations

from collections.abc import Sequence

from automodel_nb.states import JobState
from automodel_nb.views import story, words
from automodel_nb.views.curve import curve_html
from automodel_nb.views.findings import findings_html, findings_text
from automodel_nb.views.html import (
    COLOURS,
    FONT,
    LINE,
    MUTED,
    RED,
    bare_code,
    chip,
    code,
    command,
    details,
    esc,
    pairs,
    pre,
    progress_bar,
    prose,
    tag,
    tiles,
)
from automodel_nb.views.lines import lines_html, lines_text
from automodel_nb.views.model import CardData, Failure


def card_html(card: CardData) -> str:
    """The card as HTML that needs no script, no style sheet and no trust."""
    parts = [
        _head(card),
        tag("div", prose(card.reason), "margin-top:8px") if card.reason else "",
        tag("div", prose(story.relations(card)), MUTED) if story.relations(card) else "",
        _failure(card.failure) if card.failure else "",
        findings_html(card.findings),
        _progress(card),
        tiles(((name, esc(value)) for name, value in story.facts(card)), 17),
        curve_html(card.points, restarts=card.restarts) if card.points else "",
        tiles(((moment.name, _moment(moment)) for moment in story.timeline(card)), 13),
        tag("div", "", f"border-top:{LINE}"),
        details(f"Log, last {len(card.last_lines)} lines", lines_html(card.last_lines)) if card.last_lines else "",
        _values("Files and nodes", story.places(card)),
        _values("What was launched", card.config, card.command),
        _foot(card),
    ]
    looks = f"{FONT};font-size:13px;line-height:1.5;max-width:760px;overflow-wrap:anywhere"
    style = f"{looks};border:{LINE};border-radius:8px;padding:14px 18px"
    return tag("div", "".join(parts), style, role="group", aria_label=f"Job {card.name}, {card.state.value}")


def card_text(card: CardData) -> str:
    """The card as plain text, for terminals, logs of papermill, and viewers that show no HTML."""
    fraction, losses = story.fraction(card), story.losses(card)
    bar = f"{words.bar(fraction)} " if fraction is not None else ""
    spark = words.sparkline(losses)
    figures = [f"{name.lower()} {value}" for name, value in story.facts(card) if not (spark and name == "Loss")]
    moments = [f"{m.name.lower()} {m.text}" + (f" ({m.remark})" if m.remark else "") for m in story.timeline(card)]
    lines = [
        f"{words.SYMBOLS[card.state]} {card.state.value}  {card.name}  ({story.where(card)})",
        card.reason,
        story.relations(card).replace("`", ""),
        *(_failure_text(card.failure) if card.failure else ()),
        *findings_text(card.findings).splitlines(),
        f"{bar}{story.progress_line(card)}",
        story.too_late(card),
        f"loss {words.number(losses[0])} {spark} {words.number(losses[-1])}" if spark else "",
        ", ".join(figures),
        ", ".join(moments),
        story.staleness(card),
        *(f"{name.lower():<10}  {value}" for name, value in story.places(card)),
        f"{'again':<10}  {card.attach}",
    ]
    text = "\n  ".join(words.clean(line.replace("\n", " ")) for line in lines if line.strip())
    log = lines_text(card.last_lines) if card.state.final and not card.state.ok else ""
    return f"{text}\n\n{log}" if log else text


def _head(card: CardData) -> str:
    name = tag("strong", esc(card.name), "font-size:15px;word-break:break-word")
    where = tag("span", esc(story.where(card)), f"{MUTED};margin-left:auto")
    return tag("div", f"{chip(card.state)} {name} {where}", "display:flex;flex-wrap:wrap;align-items:center;gap:4px 10px")


def _failure(failure: Failure) -> str:
    where = tag("span", f" {esc(failure.where)}", MUTED) if failure.where else ""
    parts = [tag("div", tag("strong", prose(failure.cause)) + where)]
    if failure.evidence:
        parts.append(pre(esc(lines_text(failure.evidence))))
    if failure.fix:
        parts.append(tag("div", f"→ {prose(failure.fix)}", "margin-top:4px"))
    return tag(
        "div",
        "".join(parts),
        f"margin-top:10px;padding:8px 12px;border-left:3px solid {RED};background:{RED}14;border-radius:3px",
    )


def _failure_text(failure: Failure) -> list[str]:
    lines = [f"{failure.cause} ({failure.where})" if failure.where else failure.cause]
    lines += [f"| {line}" for line in lines_text(failure.evidence).split("\n") if line]
    return [*lines, f"→ {failure.fix}"] if failure.fix else lines


def _progress(card: CardData) -> str:
    line = story.progress_line(card)
    if not line:
        return ""
    fraction = story.fraction(card)
    percent = f"{int(fraction * 100)} %" if fraction is not None else ""
    warning = tag("div", late, "margin-top:2px") if (late := story.too_late(card)) else ""
    row = tag(
        "div",
        tag("span", esc(line)) + " " + tag("span", percent, "white-space:nowrap"),
        "display:flex;justify-content:space-between;gap:12px",
    )
    drawn = progress_bar(fraction, COLOURS[card.state]) if fraction is not None else ""
    return tag("div", row + drawn + warning, "margin-top:12px")


def _moment(moment: story.Moment) -> str:
    remark = tag("span", f" {esc(moment.remark)}", MUTED) if moment.remark else ""
    return tag("span", esc(moment.text), title=moment.exact) + remark


def _values(title: str, rows: Sequence[tuple[str, str]], line: str = "") -> str:
    listed = pairs((name, bare_code(value)) for name, value in rows)
    return details(title, listed + (command(line) if line else "")) if listed or line else ""


def _foot(card: CardData) -> str:
    verb = "Come back to it" if card.state is not JobState.COMPLETED else "See it again"
    text = f"{verb} in any notebook: {code(card.attach)}"
    stale = story.staleness(card)
    return tag("div", f"{text}{f' · {esc(stale)}' if stale else ''}", "margin-top:10px;font-size:12px")
