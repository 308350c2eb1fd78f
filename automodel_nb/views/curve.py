"""A curve over the steps of a training, as SVG text.

The picture fills whatever width it is given without shrinking its words: positions across are in percent, heights in pixels.
Its colours carry light and dark; train and validation differ in shape too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from automodel_nb.views import scale as axis
from automodel_nb.views import words
from automodel_nb.views.html import esc, image
from automodel_nb.watching.points import MetricPoint

Run = list[tuple[int, float]]  #: (step, value) with rising steps

NAMES = {
    "loss": "Loss",
    "lr": "Learning rate",
    "grad_norm": "Gradient norm",
    "tps": "Tokens per second",
    "memory_gib": "Memory, GiB",
}
HEIGHT = 200
INK = "#7a7a7a"  # 4.3:1 on white, 4.4:1 on JupyterLab's dark: a picture cannot know its page's theme
_COLOURS = ("#2f7de1", "#d9730d", "#8b5cf6", "#1f9d76")
_LEFT, _TOP, _BOTTOM = 8.0, 30, 22  # percent, pixels, pixels around the plot
_BUCKETS = 120  # beyond so many points a run is drawn as mean and range of each share


@dataclass(frozen=True, slots=True)
class Series:
    """The values of one split, cut wherever the steps go back (a restart)."""

    name: str
    runs: list[Run]
    broken: list[int]  #: steps whose value is not a number

    @property
    def last(self) -> tuple[int, float]:
        """Step and value at the end."""
        return self.runs[-1][-1]


def series_of(points: Iterable[MetricPoint], value: str) -> list[Series]:
    """The drawable series of `points`, train first; values that are None are skipped, NaN and infinity noted."""
    found: dict[str, Series] = {}
    for point in points:
        amount = getattr(point, value)
        if amount is None:
            continue
        series = found.setdefault(point.split, Series(point.split, [], []))
        if not math.isfinite(amount):
            series.broken.append(point.step)
        elif series.runs and point.step > series.runs[-1][-1][0]:
            series.runs[-1].append((point.step, amount))
        else:
            series.runs.append([(point.step, amount)])
    return sorted(found.values(), key=lambda series: series.name != "train")


def describe(points: Sequence[MetricPoint], value: str = "loss") -> str:
    """The curve in a sentence: what a screen reader says, and a viewer without pictures shows."""
    parts = []
    for series in series_of(points, value):
        if series.runs:
            (first, start), (last, end) = series.runs[0][0], series.last
            course = f"{words.number(start)} at step {first}" + (
                f" to {words.number(end)} at step {last}" if last != first else ""
            )
            parts.append(f"{_split(series.name)} {course}")
        if series.broken:
            parts.append(f"{_split(series.name)} is not a number at step {series.broken[0]}")
    return f"{NAMES.get(value, value)}: {'; '.join(parts)}." if parts else f"{NAMES.get(value, value)}: no steps yet."


def curve_svg(
    points: Sequence[MetricPoint],
    value: str = "loss",
    *,
    restarts: Sequence[int] = (),
    height: int = HEIGHT,
    ink: str = "currentColor",
) -> str:
    """An SVG of `value` (a field of the points) over the steps, one line a split, `restarts` marked.

    Scales to the width of its place. `ink` is the colour of words and grid: the page's own where the SVG stands in the page.
    """
    everything = series_of(points, value)
    name = NAMES.get(value, value)
    drawn = [series for series in everything if series.runs]
    steps = [step for series in everything for step in [*series.broken, *(step for run in series.runs for step, _ in run)]]
    if not steps:
        body = _text("50%", height // 2, "No steps yet", "middle")
    else:
        x = axis.Scale(min(steps), max(steps)) if min(steps) < max(steps) else axis.Scale(min(steps) - 1, max(steps) + 1)
        amounts = [amount for series in drawn for run in series.runs for _, amount in run]
        y = axis.value_scale(amounts or [0.0])
        plot = _Plot(x, y, height)
        body = plot.grid() + plot.marks(restarts) + "".join(plot.series(series, i) for i, series in enumerate(everything))
        body += _legend(name + (" (log)" if y.log else ""), drawn)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="100%" height="{height}" role="img" '
        f'style="color:{ink};font:11px system-ui,sans-serif;font-family:var(--jp-ui-font-family,system-ui,sans-serif)">'
        f"<title>{esc(name)}</title><desc>{esc(describe(points, value))}</desc>{body}</svg>"
    )


def curve_html(
    points: Sequence[MetricPoint], value: str = "loss", *, restarts: Sequence[int] = (), height: int = HEIGHT
) -> str:
    """The curve as a picture with its description, as a saved page keeps it."""
    return image(curve_svg(points, value, restarts=restarts, height=height, ink=INK), describe(points, value), height)


@dataclass(frozen=True, slots=True)
class _Plot:
    x: axis.Scale
    y: axis.Scale
    height: int

    def across(self, step: float) -> str:
        return f"{_LEFT + self.x(step) * (99 - _LEFT):.2f}%"

    def down(self, amount: float) -> float:
        return round(self.height - _BOTTOM - self.y(amount) * (self.height - _TOP - _BOTTOM), 1)

    def grid(self) -> str:
        rows, columns = self.y.ticks(4), self.x.ticks(5, whole=True)
        lines = "".join(_line(f"{_LEFT}%", self.down(t), "99%", self.down(t), ".22") for t in rows)
        numbers = "".join(_text(f"{_LEFT - 1}%", self.down(t) + 4, axis.label(t, rows), "end") for t in rows)
        steps = "".join(
            _text(self.across(t), self.height - 6, axis.label(t, columns), "end" if self.x(t) > 0.97 else "middle")
            for t in columns
        )
        return lines + numbers + steps + _text("0", self.height - 6, "step", "start")

    def marks(self, restarts: Sequence[int]) -> str:
        inside = [step for step in dict.fromkeys(restarts) if self.x.low <= step <= self.x.high]
        return "".join(
            _line(self.across(step), _TOP - 4, self.across(step), self.height - _BOTTOM, ".7", ' stroke-dasharray="2 3"')
            + _text(
                self.across(step), _TOP + 6, "↻", "middle" if 0.03 < self.x(step) < 0.97 else "end", "<title>restarted</title>"
            )
            for step in inside[:20]
        )

    def series(self, series: Series, index: int) -> str:
        colour = _COLOURS[index % len(_COLOURS)]
        count = sum(len(run) for run in series.runs)
        dots = series.name != "train" or count == 1
        shapes = []
        for run in series.runs:
            line, band = _reduce(run, max(2, _BUCKETS * len(run) // max(1, count)))
            if band:
                shapes.append(f'<path d="{self._path(band)}z" fill="{colour}" fill-opacity=".16"/>')
            dash = ' stroke-dasharray="5 3"' if series.name != "train" else ""
            shapes.append(
                f'<path d="{self._path(line)}" fill="none" stroke="{colour}" stroke-width="1.8" stroke-linejoin="round"'
                f' vector-effect="non-scaling-stroke"{dash}/>'
            )
        inner = "".join(shapes)
        # only the lines stretch with the width: words and dots stand outside of this nested picture
        area = f'<svg x="{_LEFT}%" width="{99 - _LEFT}%" height="{self.height}" viewBox="0 0 1000 {self.height}" preserveAspectRatio="none">{inner}</svg>'
        marked = (
            [point for run in series.runs for point in run] if dots and count <= 40 else [series.last] if series.runs else []
        )
        circles = "".join(f'<circle cx="{self.across(s)}" cy="{self.down(v)}" r="2.6" fill="{colour}"/>' for s, v in marked)
        crosses = "".join(
            f'<text x="{self.across(s)}" y="{_TOP + 6}" text-anchor="middle" fill="#e5484d">✕<title>not a number at step {s}</title></text>'
            for s in series.broken[:1]
        )
        return area + circles + crosses

    def _path(self, points: Sequence[tuple[float, float]]) -> str:
        return "M" + " ".join(f"{self.x(step) * 1000:.0f},{self.down(amount):g}" for step, amount in points)


def _reduce(run: Run, buckets: int) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """A line through the means of `buckets` shares of a long run, and the outline of their range; a short run as it is."""
    if len(run) <= buckets:
        return [(float(step), amount) for step, amount in run], []
    edges = [round(i * len(run) / buckets) for i in range(buckets + 1)]
    shares = [run[a:b] for a, b in pairwise(edges)]
    middle = [sum(step for step, _ in share) / len(share) for share in shares]
    middle[0], middle[-1] = run[0][0], run[-1][0]
    line = [(at, sum(amount for _, amount in share) / len(share)) for at, share in zip(middle, shares, strict=True)]
    top = [(at, max(amount for _, amount in share)) for at, share in zip(middle, shares, strict=True)]
    bottom = [(at, min(amount for _, amount in share)) for at, share in zip(middle, shares, strict=True)]
    return line, [*top, *reversed(bottom)]


def _legend(name: str, drawn: Sequence[Series]) -> str:
    """The name of the curve, then each split with its last value, spread over the width."""
    entries = [_text("0", 13, name, "start", weight="600")]
    for i, series in enumerate(reversed(drawn[:3])):
        colour = _COLOURS[drawn.index(series) % len(_COLOURS)]
        shape = f'<tspan fill="{colour}">{"━" if series.name == "train" else "╍●"}</tspan> '
        entries.append(
            _text(f"{99 - 30 * i}%", 13, f"{_split(series.name)} {words.number(series.last[1])}", "end", before=shape)
        )
    return "".join(entries)


def _split(name: str) -> str:
    return "validation" + name[3:].replace("/", " ") if name.split("/")[0] == "val" else name


def _line(x1: str, y1: float, x2: str, y2: float, opacity: str, more: str = "") -> str:
    return f'<line x1="{x1}" y1="{y1:g}" x2="{x2}" y2="{y2:g}" stroke="currentColor" stroke-opacity="{opacity}"{more}/>'


def _text(x: str, y: float, text: str, anchor: str, inside: str = "", *, weight: str = "", before: str = "") -> str:
    bold = f' font-weight="{weight}"' if weight else ""
    return f'<text x="{x}" y="{y:g}" text-anchor="{anchor}" fill="currentColor"{bold}>{before}{esc(text)}{inside}</text>'
