"""The doctor's report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from automodel_nb.views.html import FONT, LINE, MUTED, code, esc, pairs, prose, tag

if TYPE_CHECKING:
    from automodel_nb.health import Item, Report

TITLES = {"notebook": "This notebook", "interactive": "Interactive", "slurm": "Slurm", "skypilot": "SkyPilot"}


def health_text(report: Report) -> str:
    """As plain text: one block a launch method, what it lacks with the command that mends it."""
    lines: list[str] = []
    for method, title in TITLES.items():
        items = [item for item in report.items if item.method == method]
        if items:
            lines += ["", f"{_mark(report, method)} {title}: {_verdict(report, method)}"]
            width = max(len(item.name) for item in items)
            for item in items:
                lines.append(f"    {item.name:{width}}  {item.found}")
                if item.fix:
                    lines.append(f"    {'':{width}}  → {item.fix}")
    return "\n".join(lines[1:]) + "\n"


def health_html(report: Report) -> str:
    """As HTML; the words are those of the text."""
    blocks = []
    for method, title in TITLES.items():
        items = [item for item in report.items if item.method == method]
        if items:
            head = tag("div", f"{_mark(report, method)} {tag('strong', esc(title))}: {esc(_verdict(report, method))}")
            blocks.append(tag("div", head + pairs([(item.name, _found(item)) for item in items]), "margin-bottom:12px"))
    style = f"{FONT};font-size:13px;line-height:1.5;max-width:860px;border:{LINE};border-radius:8px;padding:12px 16px"
    return tag("div", "".join(blocks), style)


def _found(item: Item) -> str:
    # a sentence marks its own code; a bare command is code as a whole
    words = prose(item.fix) if "`" in item.fix else code(item.fix)
    fix = tag("div", tag("span", "→ ", MUTED) + words) if item.fix else ""
    return prose(item.found) + fix


def _mark(report: Report, method: str) -> str:
    return "✗" if report.lacking(method) else "✓"


def _verdict(report: Report, method: str) -> str:
    lacking = ", ".join(item.lacks for item in report.lacking(method))
    return f"lacks {lacking}" if lacking else "ready"
