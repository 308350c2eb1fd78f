"""Findings: what is wrong, where, and what to type instead."""

from __future__ import annotations

from collections.abc import Iterable

from automodel_nb.findings import Finding, in_order
from automodel_nb.views import words
from automodel_nb.views.html import AMBER, BLUE, MUTED, RED, esc, prose, tag

_SYMBOLS = {"error": "✗", "warning": "▲", "hint": "›"}
_COLOURS = {"error": RED, "warning": AMBER, "hint": BLUE}


def findings_text(findings: Iterable[Finding]) -> str:
    """One line a finding, errors first; what to type instead on the line below it."""
    lines = []
    for finding in in_order(findings):
        lines.append(
            f"{_SYMBOLS[finding.severity]} {finding.severity:<8}{words.one_line(f'{_place(finding)}{finding.message}')}"
        )
        if finding.fix:
            lines.append(f"  {'':<8}→ {words.one_line(finding.fix.text)}")
    return "\n".join(lines)


def findings_html(findings: Iterable[Finding]) -> str:
    """The findings as a list, errors first; empty for none."""
    items = "".join(_item(finding) for finding in in_order(findings))
    return tag("ul", items, "list-style:none;margin:8px 0;padding:0") if items else ""


def _item(finding: Finding) -> str:
    colour = _COLOURS[finding.severity]
    label = (
        f"display:inline-block;background:{colour};color:#fff;border-radius:3px;padding:0 6px;margin-right:4px;font-size:11px;"
        "font-weight:600"
    )
    place = tag("span", esc(_place(finding)), MUTED) if _place(finding) else ""
    fix = tag("div", f"→ {prose(finding.fix.text)}", "margin-top:1px") if finding.fix else ""
    ignore = tag("span", esc(finding.code), f"{MUTED};font-size:11px;margin-left:4px")
    head = tag("span", f"{_SYMBOLS[finding.severity]} {finding.severity}", label)
    return tag(
        "li",
        f"{head} {place}{prose(finding.message)} {ignore}{fix}",
        f"margin:0 0 6px;padding:4px 0 4px 10px;border-left:3px solid {colour}",
    )


def _place(finding: Finding) -> str:
    if finding.line is None:
        return ""
    name = "" if finding.source == "cell" else f"{finding.source}, "
    return f"{name}line {finding.line}, column {finding.column}: "
