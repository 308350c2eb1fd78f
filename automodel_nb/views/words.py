"""Numbers, times and states in words, for HTML and plain text alike."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
from itertools import pairwise

from automodel_nb.states import JobState

#: A symbol beside the word, so that a state is found at a glance without its colour.
SYMBOLS: dict[JobState, str] = {
    JobState.SUBMITTING: "◌",
    JobState.PENDING: "○",
    JobState.RUNNING: "●",
    JobState.STOPPING: "◐",
    JobState.COMPLETED: "✓",
    JobState.FAILED: "✗",
    JobState.CANCELLED: "⊘",
    JobState.TIMEOUT: "◷",
    JobState.PREEMPTED: "↷",
    JobState.NODE_FAIL: "✗",
    JobState.OUT_OF_MEMORY: "✗",
    JobState.UNKNOWN: "?",
}

# Controls that a browser or terminal would act on; lone surrogates (undecodable bytes of a path), which cannot be sent as
# UTF-8; marks that reorder the text around them (CVE-2021-42574).
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]")


def clean(text: object) -> str:
    """Text in which nothing acts: controls become visible symbols, other unprintables U+FFFD. Newline and tab stay."""
    return _UNSAFE.sub(lambda match: chr(0x2400 + ord(match[0])) if match[0] < " " else "\ufffd", str(text))


def one_line(text: object) -> str:
    """Clean text without line breaks and tabs, for a cell of a table."""
    return clean(" ".join(str(text).split()))


def duration(seconds: float) -> str:
    """``3 s``, ``12 min 31 s``, ``3 h 05 min``, ``2 d 4 h``: two units, the rest is noise."""
    total = max(0, round(seconds)) if math.isfinite(seconds) else 0
    minutes, s = divmod(total, 60)
    hours, m = divmod(minutes, 60)
    days, h = divmod(hours, 24)
    if days:
        return f"{days} d {h} h" if h else f"{days} d"
    if hours:
        return f"{hours} h {m:02d} min" if m else f"{hours} h"
    if minutes:
        return f"{minutes} min {s:02d} s" if s and minutes < 60 else f"{minutes} min"
    return f"{s} s"


def age(seconds: float) -> str:
    """``just now``, ``5 min ago``, ``3 h ago``, ``2 d ago``: one unit."""
    if not seconds >= 5:
        return "just now"
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit} ago"
    return f"{int(seconds)} s ago"


def clock(at: float, zone: tzinfo | None = None, near: float | None = None) -> str:
    """``14:02:11``; with the day where `near` (another time shown beside it) is of another day or None."""
    moment = _local(at, zone)
    if near is not None and _local(near, zone).date() == moment.date():
        return f"{moment:%H:%M:%S}"
    return f"{moment.day} {moment:%b %Y, %H:%M:%S}"


def iso(at: float) -> str:
    """The exact moment in UTC, for a tooltip."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S} UTC"


def zone_name(at: float, zone: tzinfo | None = None) -> str:
    """``CET``, ``UTC+05:30``: a saved notebook is read elsewhere."""
    return _local(at, zone).tzname() or "UTC"


def _local(at: float, zone: tzinfo | None) -> datetime:
    return datetime.fromtimestamp(at, UTC).astimezone(zone)


def number(value: float | None, digits: int = 4) -> str:
    """``2.859``, ``12,345``, ``1e-4``, ``NaN``; `digits` significant ones; an en dash for None."""
    if value is None:
        return "–"
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "∞" if value > 0 else "-∞"
    if value == 0:
        return "0"
    if abs(value) < 1e-3 or abs(value) >= 1e9:
        mantissa, exponent = f"{value:.{max(0, digits - 2)}e}".split("e")
        mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        return f"{mantissa}e{int(exponent)}"
    return f"{value:,.{max(0, digits - 1 - math.floor(math.log10(abs(value))))}f}"


def size(count: float) -> str:
    """``812 B``, ``1.4 MiB``."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def bar(fraction: float, width: int = 24) -> str:
    """A progress bar in text; full only when everything is done."""
    full = min(width, int(max(0.0, fraction) * width))
    return "█" * full + "░" * (width - full)


def sparkline(values: Sequence[float], width: int = 32) -> str:
    """The course of a value in one line of text, each character the mean of its share; empty for fewer than two values."""
    finite = [value for value in values if math.isfinite(value)]
    if len(finite) < 2:
        return ""
    width = min(width, len(finite))
    edges = [round(i * len(finite) / width) for i in range(width + 1)]
    means = [sum(finite[a:b]) / (b - a) for a, b in pairwise(edges)]
    low, span = min(means), max(means) - min(means)
    return "".join("▁▂▃▄▅▆▇█"[min(7, int((mean - low) / span * 8)) if span else 0] for mean in means)
