"""A curve over the steps of a training, as SVG text.

The picture fills whatever width it is given without shrinking its words: positions across are in percent, heights in pixels.
Its colours carry light and dark; train and validation differ in shape too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

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
_LEFT, _RIGHT = 8.0, 99.0  # percent of the width between which the lines lie
_TOP, _BOTTOM = 30, 22  # pixels above and below them
_LARGEST = 1e300  # so that a difference of two is finite
_SHARES = 72  # more points than this are drawn as median and range of so many shares


@dataclass(frozen=True, slots=True)
class Series:
    """The values of one split, cut wherever the steps go back (a restart)."""

    name: str
    runs: list[Run]
    broken: list[int]  #: steps whose value is not a number

    @property
    def count(self) -> int:
        """How many values can be drawn."""
        return sum(len(run) for run in self.runs)

    @property
    def last(self) -> tuple[int, float]:
        """Step and value at the end."""
        return self.runs[-1][-1]


def series_of(points: Iterable[MetricPoint], value: str) -> list[Series]:
    """The series of `points`, train first (only the loss has others); None is skipped, NaN and infinity are noted."""
    found: dict[str, Series] = {}
    for point in points:
        amount = getattr(point, value)
        if amount is None or (value != "loss" and point.split != "train"):
            continue
        series = found.setdefault(point.split, Series(point.split, [], []))
        if not abs(amount) < _LARGEST:
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
            course = f" to {words.number(end)} at step {last}" if last != first else ""
            parts.append(f"{_split(series.name)} {words.number(start)} at step {first}{course}")
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
    steps = [step for series in everything for step in (*series.broken, *(step for run in series.runs for step, _ in run))]
    if steps:
        x = axis.Scale(min(steps), max(max(steps), min(steps) + 1))
        y = axis.value_scale([amount for series in drawn for run in series.runs for _, amount in run] or [0.0])
        plot = _Plot(x, y, height)
        back = [run[0][0] for series in drawn[:1] for run in series.runs[1:]]  # steps that go back: training was restarted
        lines = "".join(plot.series(series, _colour(i)) for i, series in enumerate(everything))
        title = f"{name}, log scale" if y.log else name
        body = plot.grid() + plot.marks([*back, *restarts]) + lines + _legend(title, everything)
    else:
        body = _text("50%", height // 2, "No steps yet", "middle")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="100%" height="{height}" role="img" fill="currentColor" '
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
        return f"{_LEFT + self.x(step) * (_RIGHT - _LEFT):.2f}%"

    def down(self, amount: float) -> float:
        return round(self.height - _BOTTOM - self.y(amount) * (self.height - _TOP - _BOTTOM), 1)

    def grid(self) -> str:
        rows, columns = self.y.ticks(5), self.x.ticks(5, whole=True)
        lines = "".join(_line(f"{_LEFT:g}%", self.down(t), f"{_RIGHT:g}%", self.down(t)) for t in rows)
        numbers = "".join(_text(f"{_LEFT - 1:g}%", self.down(t) + 4, axis.label(t, rows), "end") for t in rows)
        floor = self.height - 6
        named = {step: axis.label(step, columns) for step in columns}
        steps = "".join(
            _text(self.across(t), floor, f"step {name}" if t == columns[0] else name, self._anchor(t))
            for t, name in named.items()
        )
        return f'<g stroke="currentColor" stroke-opacity=".22">{lines}</g>{numbers}{steps}'

    def marks(self, steps: Sequence[int]) -> str:
        """A dotted line where training was restarted; no more than could be told apart."""
        inside = [step for step in dict.fromkeys(steps) if self.x.low <= step <= self.x.high]
        return "".join(
            _line(self.across(step), _TOP, self.across(step), self.height - _BOTTOM, _DOTTED)
            + _text(self.across(step), _TOP - 2, "↻", self._anchor(step), "<title>restarted</title>")
            for step in inside[-20:]
        )

    def series(self, series: Series, colour: str) -> str:
        count = series.count
        dash = "" if series.name == "train" else ' stroke-dasharray="5 3"'
        stroke = f'fill="none" stroke="{colour}" stroke-width="1.8" stroke-linejoin="round" vector-effect="non-scaling-stroke"'
        shapes = []
        for run in series.runs:
            line, band = _reduce(run, max(2, _SHARES * len(run) // count))
            if band:
                shapes.append(f'<path d="{self._path(band)}z" fill="{colour}" fill-opacity=".18"/>')
            shapes.append(f'<path d="{self._path(line)}" {stroke}{dash}/>')
        # only the lines stretch with the width of the place: words and dots stand outside of this nested picture
        box = f'x="{_LEFT:g}%" width="{_RIGHT - _LEFT:g}%" height="{self.height}" viewBox="0 0 1000 {self.height * 10}"'
        area = f'<svg {box} preserveAspectRatio="none">{"".join(shapes)}</svg>'
        points = [point for run in series.runs for point in run]
        dots = points if series.name != "train" and count <= 20 else points[-1:]
        circles = "".join(f'<circle cx="{self.across(s)}" cy="{self.down(v):g}" r="2.6" fill="{colour}"/>' for s, v in dots)
        return area + circles + self._broken(series.broken)

    def _broken(self, steps: Sequence[int]) -> str:
        """A cross where the values stop being numbers."""
        if not steps:
            return ""
        inside = f"<title>not a number at step {steps[0]}</title>"
        return _text(self.across(steps[0]), _TOP + 10, "✕ NaN", self._anchor(steps[0]), inside, more=' fill="#e5484d"')

    def _anchor(self, step: float) -> str:
        at = self.x(step)
        return "start" if at < 0.02 else "end" if at > 0.97 else "middle"

    def _path(self, points: Sequence[tuple[float, float]]) -> str:
        """Whole numbers, each relative to the one before (which is as drawn, so that nothing adds up): a third of the size."""
        places = [(round(self.x(step) * 1000), round(self.down(amount) * 10)) for step, amount in points]
        moves = (f"{x1 - x0},{y1 - y0}" for (x0, y0), (x1, y1) in pairwise(places))
        return f"M{places[0][0]},{places[0][1]}l" + " ".join(moves) if len(places) > 1 else ""


def _reduce(run: Run, shares: int) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """A line through the medians of so many shares of a long run, and the outline of their range; a short run as it is.

    Medians, not means: of a log that is too long, only extremes and ends of each stretch may have been kept.
    """
    if len(run) <= shares:
        return [(float(step), amount) for step, amount in run], []
    edges = [round(i * len(run) / shares) for i in range(shares + 1)]
    parts = [run[a:b] for a, b in pairwise(edges)]
    middle = [sum(step for step, _ in part) / len(part) for part in parts]
    middle[0], middle[-1] = run[0][0], run[-1][0]
    amounts = [sorted(amount for _, amount in part) for part in parts]
    top, bottom = ([(at, part[end]) for at, part in zip(middle, amounts, strict=True)] for end in (-1, 0))
    return [(at, median(part)) for at, part in zip(middle, amounts, strict=True)], [*top, *reversed(bottom)]


def _legend(name: str, everything: Sequence[Series]) -> str:
    """The name of the curve, and at the other end the splits as they are drawn; one text, so that nothing overlaps."""
    keys = ""
    for i, series in [(i, series) for i, series in enumerate(everything) if series.runs][:3]:
        reduced = ", median and range" if series.count > _SHARES else ""
        shape = "━" if series.name == "train" else "╍"
        keys += f'<tspan fill="{_colour(i)}"> {shape} </tspan>{esc(_split(series.name))}{reduced}'
    return _text("0", 13, name, "start", more=' font-weight="600"') + _text(f"{_RIGHT:g}%", 13, "", "end", keys)


def _colour(index: int) -> str:
    return _COLOURS[index % len(_COLOURS)]


def _split(name: str) -> str:
    return "validation" + name[3:].replace("/", " ") if name.split("/")[0] == "val" else name


_DOTTED = ' stroke="currentColor" stroke-dasharray="2 3"'


def _line(x1: str, y1: float, x2: str, y2: float, more: str = "") -> str:
    return f'<line x1="{x1}" y1="{y1:g}" x2="{x2}" y2="{y2:g}"{more}/>'


def _text(x: str, y: float, text: str, anchor: str, inside: str = "", *, more: str = "") -> str:
    place = f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text x="{x}" y="{y:g}"{place}{more}>{esc(text)}{inside}</text>'
