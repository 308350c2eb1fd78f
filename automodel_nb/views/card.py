"""The card of a job: one look says what it is, how far it is, how it ended, and where everything lies."""

from __future__ import annotations

from automodel_nb.states import JobState
from automodel_nb.views import story, words
from automodel_nb.views.curve import curve_html
from automodel_nb.views.findings import findings_html, findings_text
from automodel_nb.views.html import COLOURS, FONT, LINE, MUTED, RED, chip, code, details, esc, pre, progress_bar, table, tag
from automodel_nb.views.lines import lines_html, lines_text
from automodel_nb.views.model import CardData, Failure


def card_html(card: CardData) -> str:
    """The card as HTML that needs no script, no style sheet and no trust."""
    places = story.places(card)
    parts = [
        _head(card),
        tag("div", esc(card.reason), "margin-top:8px") if card.reason else "",
        _failure(card.failure) if card.failure else "",
        findings_html(card.findings),
        _progress(card),
        _facts(card),
        curve_html(card.points, restarts=card.restarts) if story.losses(card) else "",
        _timeline(card),
        tag("div", "", f"border-top:{LINE};margin-top:12px"),
        details(f"Log, last {len(card.last_lines)} lines", lines_html(card.last_lines)) if card.last_lines else "",
        details("Files and nodes", table((name, code(value)) for name, value in places)) if places else "",
        _configuration(card),
        _foot(card),
    ]
    style = f"{FONT};font-size:13px;line-height:1.5;max-width:760px;border:{LINE};border-radius:8px;padding:14px 18px"
    return tag("div", "".join(parts), style, role="group", aria_label=f"Job {card.name}, {card.state.value}")


def card_text(card: CardData) -> str:
    """The card as plain text, for terminals, logs of papermill, and viewers that show no HTML."""
    bar = f"{words.bar(card.progress.fraction)} " if card.progress.fraction is not None else ""
    losses = story.losses(card)
    spark = words.sparkline(losses)
    figures = [f"{name.lower()} {value}" for name, value in story.facts(card)]
    moments = [f"{name.lower()} {text}".strip() for name, text, _ in story.timeline(card)]
    lines = [
        f"{words.SYMBOLS[card.state]} {card.state.value}  {card.name}  ({story.where(card)})",
        card.reason,
        *(_failure_text(card.failure) if card.failure else ()),
        *findings_text(card.findings).splitlines(),
        f"{bar}{story.progress_line(card)}",
        f"loss {words.number(losses[0])} {spark} {words.number(losses[-1])}" if spark else "",
        ", ".join(figures),
        ", ".join(moments),
        story.staleness(card),
        *(f"{name.lower():<11} {value}" for name, value in story.places(card)),
    ]
    text = "\n  ".join(words.one_line(line) if "\n" in line else words.clean(line) for line in lines if line.strip())
    tail = ["", lines_text(card.last_lines)] if card.last_lines and not card.state.ok and card.state.final else []
    return "\n".join([text, *tail, f"  {card.attach}"])


def _head(card: CardData) -> str:
    name = tag("strong", esc(card.name), "font-size:15px;word-break:break-word")
    where = tag("span", esc(story.where(card)), f"{MUTED};margin-left:auto")
    return tag("div", f"{chip(card.state)} {name} {where}", "display:flex;flex-wrap:wrap;align-items:center;gap:4px 10px")


def _failure(failure: Failure) -> str:
    where = tag("span", f" {esc(failure.where)}", MUTED) if failure.where else ""
    parts = [tag("div", tag("strong", esc(failure.cause)) + where)]
    if failure.evidence:
        parts.append(pre("\n".join(esc(line) for line in lines_text(failure.evidence).split("\n")), "margin-top:6px"))
    if failure.fix:
        parts.append(tag("div", f"→ {esc(failure.fix)}", "margin-top:6px"))
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
    fraction = card.progress.fraction
    percent = f"{int(fraction * 100)} %" if fraction is not None else ""
    warning = tag("div", "▲ The time limit comes before the last step.", "margin-top:2px") if story.too_late(card) else ""
    row = tag("div", tag("span", esc(line)) + " " + tag("span", percent), "display:flex;justify-content:space-between;gap:12px")
    drawn = progress_bar(fraction, COLOURS[card.state]) if fraction is not None else ""
    return tag("div", row + drawn + warning, "margin-top:12px")


def _facts(card: CardData) -> str:
    tiles = "".join(
        tag("div", tag("div", name, f"{MUTED};font-size:12px") + tag("div", value, "font-size:17px;line-height:1.3"))
        for name, value in story.facts(card)
    )
    return tag("div", tiles, "display:flex;flex-wrap:wrap;gap:8px 28px;margin:12px 0") if tiles else ""


def _timeline(card: CardData) -> str:
    cells = []
    for name, text, exact in story.timeline(card):
        if name:
            inner = tag("div", name, f"{MUTED};font-size:12px") + tag("div", text, "white-space:nowrap", title=exact)
            cells.append(tag("div", inner))
        else:
            cells.append(tag("div", text, f"{MUTED};font-size:12px;white-space:nowrap;border-bottom:{LINE};padding:0 6px 1px"))
    return (
        tag("div", "".join(cells), "display:flex;flex-wrap:wrap;align-items:flex-end;gap:6px 12px;margin-top:12px")
        if cells
        else ""
    )


def _configuration(card: CardData) -> str:
    if not card.config and not card.command:
        return ""
    command = tag("div", "Command", f"{MUTED};margin:6px 0 2px") + pre(esc(card.command)) if card.command else ""
    return details("What was launched", table((name, code(value)) for name, value in card.config) + command)


def _foot(card: CardData) -> str:
    verb = "Come back to it" if card.state is not JobState.COMPLETED else "See it again"
    text = f"{verb} in any notebook: {code(card.attach)}"
    stale = story.staleness(card)
    return tag("div", f"{text}{f' · {esc(stale)}' if stale else ''}", "margin-top:10px;font-size:12px")
