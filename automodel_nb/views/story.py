"""What a card says, in words; HTML and plain text say the same."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from automodel_nb.states import JobState
from automodel_nb.views import words
from automodel_nb.views.model import CardData


def where(card: CardData) -> str:
    """``slurm 60360068 on cluster a, via login1``."""
    text = " ".join(part for part in (card.method, card.scheduler_id) if part)
    text += f" on {card.cluster}" if card.cluster else ""
    by = "on" if card.method == "interactive" else "via"
    return text + (f" {by} {card.host}" if card.host else "")


def relations(card: CardData) -> str:
    """The jobs it belongs with: ``Run 3, after 2 restarts. Goes on from `7k3f`.``"""
    times = "1 restart" if card.attempt == 1 else f"{card.attempt} restarts"
    parts = [f"Run {card.attempt + 1}, after {times}."] if card.attempt else []
    parts += [f"Goes on from `{card.previous}`."] if card.previous else []
    parts += [f"Resumed as `{card.next}`."] if card.next else []
    parts += [card.cluster_up] if card.cluster_up else []
    return " ".join(parts)


def progress_line(card: CardData) -> str:
    """``24 of 40 steps · epoch 0 · 3 min left · time limit in 2 h``; empty before the first step."""
    progress = card.progress
    if progress.step is None:
        return ""
    done, total = progress.step + 1, progress.total_steps
    text = f"{done:,} of {total:,} steps" if total else f"{done:,} steps"
    if total and card.state.ok and done < total:
        text = f"{done:,} steps, of {total:,} at most"  # the data came to its end first
    parts = [text]
    parts += [f"epoch {progress.epoch}"] if progress.epoch is not None else []
    if progress.eta_s is not None and not card.state.final and progress.eta_s > 0:
        parts.append(f"{words.duration(progress.eta_s)} left")
    if (limit := limit_left(card)) is not None:
        parts.append(f"time limit in {words.duration(limit)}" if limit > 0 else "time limit reached")
    return " · ".join(parts)


def fraction(card: CardData) -> float | None:
    """How much of the training is done, from 0 to 1; None while nothing tells."""
    return 1.0 if card.state.ok and card.progress.fraction is not None else card.progress.fraction


def limit_left(card: CardData) -> float | None:
    """Seconds until the scheduler ends a running job; None where no limit is known."""
    if card.started is None or card.time_limit is None or card.as_of is None or card.state.final:
        return None
    return card.started + card.time_limit - card.as_of


def too_late(card: CardData) -> str:
    """A warning where the time limit comes before the last step, at the present pace."""
    left, eta = limit_left(card), card.progress.eta_s
    if left is None or eta is None or eta <= left:
        return ""
    return "▲ At this pace the time limit comes before the last step."


def staleness(card: CardData) -> str:
    """How old the news is: only for a job that still changes, since a saved page goes on showing it."""
    if card.as_of is None or card.state.final:
        return ""
    text = f"as of {words.clock(card.as_of, card.zone)} {words.zone_name(card.as_of, card.zone)}"
    return f"▲ {text}, no answer since" if card.unreachable else text


def facts(card: CardData) -> list[tuple[str, str]]:
    """The latest figures: ``("Loss", "2.859")`` and so on, those that are known."""
    train = [point for point in card.points if point.split == "train"]
    found: list[tuple[str, str]] = []

    def add(name: str, values: Sequence[float | None], unit: str = "") -> None:
        known = [value for value in values if value is not None]
        if known:
            found.append((name, words.number(known[-1]) + unit))

    add("Loss", [point.loss for point in train])
    add("Validation loss", [point.loss for point in card.points if point.split != "train"])
    add("Tokens/s", [point.tps for point in train])
    add("Memory", [point.memory_gib for point in train if point.memory_gib], " GiB")
    add("Learning rate", [point.lr for point in train])
    return found


def losses(card: CardData) -> list[float]:
    """The finite training losses, in order."""
    return [
        point.loss for point in card.points if point.split == "train" and point.loss is not None and math.isfinite(point.loss)
    ]


@dataclass(frozen=True, slots=True)
class Moment:
    """A point of a job's life: its name, the clock time (or where it runs), what is to say of it, and the exact text."""

    name: str
    text: str
    remark: str = ""
    exact: str = ""


def timeline(card: CardData) -> list[Moment]:
    """When it was submitted, started, ended; or when that is expected."""
    rows: list[Moment] = []
    near: float | None = None

    def add(name: str, at: float | None, remark: str = "") -> None:
        nonlocal near
        if at is None:
            return
        text = words.clock(at, card.zone, near)
        rows.append(Moment(name, f"{text} {words.zone_name(at, card.zone)}" if near is None else text, remark, words.iso(at)))
        near = at

    add("Submitted", card.submitted)
    add("Started", card.started, _span("after", card.submitted, card.started))
    if card.started is None and not card.state.final:
        add("Expected start", card.estimate)
    failed = f"exit code {card.exit_code}" if card.exit_code else ""
    add("Ended", card.ended, ", ".join(part for part in (_span("ran", card.started, card.ended), failed) if part))
    if card.started is not None and card.state in (JobState.RUNNING, JobState.STOPPING):
        if card.nodes:
            rows.append(Moment("Running on", _some(card.nodes), exact=", ".join(card.nodes)))
        if card.as_of is not None:
            rows.append(Moment("Running for", words.duration(card.as_of - card.started)))
        if card.time_limit is not None:
            add("Time limit", card.started + card.time_limit)
    if card.cost is not None and card.hourly is not None:
        rows.append(Moment("Cost so far", f"{card.cost:.2f} $", f"{card.hourly:.2f} $ an hour"))
    return rows


def _some(nodes: Sequence[str]) -> str:
    """``n1, n2``; of many the first and the last."""
    return ", ".join(nodes) if len(nodes) <= 4 else f"{nodes[0]} … {nodes[-1]} ({len(nodes)} nodes)"


def _span(word: str, begin: float | None, end: float | None) -> str:
    return f"{word} {words.duration(end - begin)}" if begin is not None and end is not None else ""


def places(card: CardData) -> list[tuple[str, str]]:
    """Paths and addresses, those that are known."""
    rows = [
        ("Model", card.model_path),
        ("Checkpoint", card.checkpoint),
        ("Log", card.log_path),
        ("Directory", card.directory),
        ("Nodes", ", ".join(card.nodes)),
        ("Tracked at", card.tracker_url),
    ]
    return [(name, value) for name, value in rows if value]
