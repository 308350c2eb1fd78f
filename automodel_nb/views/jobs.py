"""The table of jobs."""

from __future__ import annotations

from collections.abc import Sequence

from automodel_nb.views import words
from automodel_nb.views.html import FONT, LINE, MUTED, chip, code, esc, prose, tag
from automodel_nb.views.model import JobRow

_EMPTY = "No jobs yet. `%automodel_new interactive` writes a cell to start from."


def jobs_text(rows: Sequence[JobRow], now: float) -> str:
    """The table in plain text, 100 columns wide at most; `now` is what ages are counted from (UTC seconds)."""
    if not rows:
        return _EMPTY
    head = ("", "STATE", "NAME", "METHOD", "JOB", "AGE", "STEP", "LOSS")
    body = [
        (
            words.SYMBOLS[row.state],
            row.state.value,
            words.one_line(row.name) + (f" ({words.one_line(row.owner)})" if row.owner else ""),
            row.method,
            words.one_line(row.scheduler_id or row.job_id),
            _age(row, now),
            _steps(row),
            words.number(row.loss),
        )
        for row in rows
    ]
    most = (1, 13, 26, 11, 15, 11, 13, 8)  # with the seven gaps this is at most 105; names give way first
    widths = [min(limit, max(len(line[i]) for line in [head, *body])) for i, limit in enumerate(most)]
    widths[2] = max(8, min(widths[2], 100 - 7 - sum(widths) + widths[2]))
    return "\n".join(
        " ".join(_fit(cell, width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in [head, *body]
    )


def jobs_html(rows: Sequence[JobRow], now: float) -> str:
    """The table as HTML; `now` is what ages are counted from (UTC seconds)."""
    if not rows:
        return tag("div", f"No jobs yet. {code('%automodel_new interactive')} writes a cell to start from.", FONT)
    cell = "text-align:left;padding:6px 14px 6px 0;vertical-align:top"
    right = "text-align:right;padding:6px 14px 6px 0;vertical-align:top;white-space:nowrap"
    titles = (("State", cell), ("Job", cell), ("Where", cell), ("Submitted", right), ("Step", right), ("Loss", right))
    head = tag("tr", "".join(tag("th", title, f"{style};font-weight:600;{MUTED}", scope="col") for title, style in titles))
    lines = []
    for row in rows:
        owner = f" · {esc(row.owner)}'s" if row.owner else ""
        name = tag("strong", esc(row.name)) + tag("div", f"{code(row.job_id)}{owner}", "margin-top:2px")
        where = esc(row.method) + (tag("div", esc(row.scheduler_id), MUTED) if row.scheduler_id else "")
        state = chip(row.state) + (
            tag("div", prose(row.note), f"{MUTED};font-size:12px;margin-top:2px;max-width:240px") if row.note else ""
        )
        values = ((state, cell), (name, cell), (where, cell), (esc(_age(row, now)), right), (_steps(row), right))
        lines.append("".join(tag("td", value, style) for value, style in values) + tag("td", words.number(row.loss), right))
    body = "".join(tag("tr", line, f"background:transparent;border-top:{LINE}") for line in lines)
    inner = tag("thead", head) + tag("tbody", body)
    return tag(
        "div", tag("table", inner, "border-collapse:collapse;border:none;font-size:13px;margin:0"), f"{FONT};overflow-x:auto"
    )


def _age(row: JobRow, now: float) -> str:
    return words.age(now - row.submitted) if row.submitted is not None else "–"


def _steps(row: JobRow) -> str:
    progress = row.progress
    if progress.step is None:
        return "–"
    return f"{progress.step + 1:,}" + (f"/{progress.total_steps:,}" if progress.total_steps else "")


def _fit(text: str, width: int) -> str:
    return f"{text:<{width}}" if len(text) <= width else f"{text[: width - 1]}…"
