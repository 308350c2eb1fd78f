"""What a live view in the browser is given: plain JSON out of what the card shows, in the card's own words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from automodel_nb.views import CardData, JobRow, curve_svg, story, words
from automodel_nb.views.curve import INK, NAMES, describe
from automodel_nb.views.html import COLOURS

HEIGHT = 180  # pixels; panel.css says the same
#: The curve behind each figure of the card.
CURVE_OF = {
    "Loss": "loss",
    "Validation loss": "loss",
    "Tokens/s": "tps",
    "Memory": "memory_gib",
    "Learning rate": "lr",
    "Gradient norm": "grad_norm",
}


def status_of(card: CardData) -> dict[str, Any]:
    """Where the job stands, for the head of the panel."""
    failure = card.failure
    facts: dict[str, Any] = printable(
        {
            "job": card.job_id,
            "name": card.name,
            "where": story.where(card),
            "state": card.state.value.replace("_", " "),
            "symbol": words.SYMBOLS[card.state],
            "colour": COLOURS[card.state],
            "final": card.state.final,
            "reason": card.reason,
            "relations": story.relations(card),
            "stale": story.staleness(card) if card.unreachable else "",
            "progress": story.progress_line(card),
            "fraction": story.fraction(card),
            "late": story.too_late(card),
            "figures": [[name, value, CURVE_OF.get(name, "loss")] for name, value in story.facts(card)],
            "moments": [[moment.name, moment.text, moment.remark, moment.exact] for moment in story.timeline(card)],
            "failure": [failure.cause, failure.where, failure.fix] if failure else None,
            "places": [list(row) for row in story.places(card)],
            "config": [list(row) for row in card.config],
            "command": card.command,
            "attach": card.attach,
            "log": card.log_path,
        }
    )
    return facts


def curves_of(card: CardData) -> dict[str, list[str]]:
    """For each value that the log tells of: an SVG, and the same in a sentence."""
    return {
        value: [curve_svg(card.points, value, restarts=card.restarts, ink=INK, height=HEIGHT), describe(card.points, value)]
        for value in NAMES
        if any(getattr(point, value) is not None for point in card.points)
    }


def row_of(row: JobRow, now: float) -> dict[str, Any]:
    """One line of the table of jobs; `now` is what its age is counted from (UTC seconds)."""
    progress, age = row.progress, words.age(now - row.submitted) if row.submitted is not None else ""
    total = f"/{progress.total_steps:,}" if progress.total_steps else ""
    about = [f"{row.method} {row.scheduler_id}".rstrip(), age, f"of {row.owner}" if row.owner else ""]
    facts: dict[str, Any] = printable(
        {
            "id": row.job_id,
            "name": row.name,
            "about": " · ".join(part for part in about if part),
            "state": row.state.value.replace("_", " "),
            "symbol": words.SYMBOLS[row.state],
            "colour": COLOURS[row.state],
            "final": row.state.final,
            "ok": row.state.ok,
            "note": row.note,
            "steps": f"{progress.step + 1:,}{total}" if progress.step is not None else "–",
            "loss": words.number(row.loss) if row.loss is not None else "",
        }
    )
    return facts


def printable(value: Any) -> Any:
    """`value` with all text cleaned of what a browser acts on (controls, marks that reorder text), or JSON cannot hold."""
    if isinstance(value, str):
        return words.clean(value)
    if isinstance(value, Mapping):
        return {key: printable(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [printable(inner) for inner in value]
    return value
