"""The table of jobs."""

from __future__ import annotations

from collections.abc import Sequence

from automodel_nb.views import words
from automodel_nb.views.html import FONT, LINE, MUTED, bare_code, chip, esc, prose, tag
from automodel_nb.views.model import JobRow


def jobs_text(rows: Sequence[JobRow], now: float) -> str:
    """The table in plain text, 100 columns wide at most; `now` is what ages are counted from (UTC seconds)."""
    if not rows:
        return "No jobs yet. %automodel_new interactive writes a cell to start from."
    head = ("", "STATE", "NAME", "METHOD", "JOB", "AGE", "STEP", "LOSS")
    body = [
        (
            words.SYMBOLS[row.state],
            row.state.value,
            words.one_line(row.name) + (f" ({words.one_line(row.owner)})" if row.owner else ""),
            words.one_line(row.method),
            words.one_line(row.job_id),
            _age(row, now),
            _steps(row),
            words.number(row.loss),
        )
        for row in rows
    ]
    most = (1, 13, 40, 11, 16, 11, 15, 8)
    widths = [min(limit, max(len(line[i]) for line in [head, *body])) for i, limit in enumerate(most)]
    widths[2] = min(widths[2], 100 - 2 * (len(widths) - 1) - (sum(widths) - widths[2]))  # the name gives way
    lines = ("  ".join(_fit(cell, widths[i], right=i > 4) for i, cell in enumerate(line)).rstrip() for line in [head, *body])
    return "\n".join(lines)


def jobs_html(rows: Sequence[JobRow], now: float) -> str:
    """The table as HTML; `now` is what ages are counted from (UTC seconds)."""
    if not rows:
        return tag("div", prose("No jobs yet. `%automodel_new interactive` writes a cell to start from."), FONT)
    head = "".join(
        tag("th", title, style, scope="col") for title, style in (("State", _LEFT), ("Job", _LEFT), ("Step, loss", _RIGHT))
    )
    body = "".join(tag("tr", _row(row, now), f"background:none;border-top:{LINE}") for row in rows)
    inner = tag("thead", tag("tr", head, MUTED), "border:none") + tag("tbody", body)
    table = tag("table", inner, "table-layout:auto;border-collapse:collapse;border:none;font-size:13px;margin:0;width:100%")
    return tag("div", table, f"{FONT};overflow-x:auto;max-width:680px")


# three columns, each of two lines: they fit beside a sidebar too
_LEFT = "text-align:left;vertical-align:top;padding:7px 14px 7px 0;line-height:1.45"
_RIGHT = "text-align:right;vertical-align:top;padding:7px 0;line-height:1.45;white-space:nowrap"


def _row(row: JobRow, now: float) -> str:
    note = tag("div", prose(row.note), f"{MUTED};font-size:12px;max-width:220px") if row.note else ""
    where = " ".join(part for part in (row.method, row.scheduler_id) if part)
    remarks = [where, _age(row, now).replace(" ", "\u00a0"), f"of {row.owner}" if row.owner else ""]
    about = tag("div", " · ".join([bare_code(row.job_id), *(esc(remark) for remark in remarks if remark)]), MUTED)
    loss = tag("div", words.number(row.loss), MUTED) if row.loss is not None else ""
    cells = (chip(row.state) + note, _LEFT), (tag("strong", esc(row.name)) + about, _LEFT), (_steps(row) + loss, _RIGHT)
    return "".join(tag("td", inner, style) for inner, style in cells)


def _age(row: JobRow, now: float) -> str:
    return words.age(now - row.submitted) if row.submitted is not None else "–"


def _steps(row: JobRow) -> str:
    progress = row.progress
    if progress.step is None:
        return "–"
    return f"{progress.step + 1:,}" + (f"/{progress.total_steps:,}" if progress.total_steps else "")


def _fit(text: str, width: int, *, right: bool) -> str:
    if len(text) > width:
        return f"{text[: width - 1]}…"
    return f"{text:>{width}}" if right else f"{text:<{width}}"
