"""Metric points, and how many of them a view keeps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

#: Points in a view.
VIEW_POINTS = 4_000
_SPLITS = 32  # more validation sets than this are not drawn


class MetricPoint(NamedTuple):
    """One step line of the log. A value that is not there, or is no number, is None; NaN and infinity are values.

    Attributes:
        step: 0-based, as AutoModel counts: the last of ``max_steps: 40`` is 39.
        split: ``train``; ``val`` for the validation set, ``val/NAME`` where a recipe has several (``validation_dataset_NAME``).
        lr: learning rate.
        tps: tokens a second, all GPUs together.
        memory_gib: the most that was allocated on rank 0's GPU since the step before.
        time: UTC seconds since the epoch. The log has local time without a zone and in whole seconds; it is read in the zone
            that the parser was given (default: this machine's).
    """

    step: int
    epoch: int
    split: str
    loss: float | None = None
    lr: float | None = None
    grad_norm: float | None = None
    tps: float | None = None
    memory_gib: float | None = None
    time: float | None = None


def decimate(points: Iterable[MetricPoint], limit: int = VIEW_POINTS) -> list[MetricPoint]:
    """At most ``limit`` of the points, in their order; see View."""
    view = View(limit)
    for point in points:
        view.add(point)
    return view.points()


_Item = tuple[int, MetricPoint]  # numbered in the order of arrival, which makes it sortable
_INFINITY = float("inf")


class View:
    """A bounded picture of any number of points.

    Of each split (training, each validation set) it keeps, for equal stretches of steps, the first and the last point and
    those of least and greatest loss (NaN counts as the greatest), so that a spike never disappears. Up to the limit it keeps
    all. Stretches double when there are too many: the density stays even however long the series grows.
    """

    def __init__(self, limit: int = VIEW_POINTS) -> None:
        self.limit = limit
        self._series: dict[str, _Series] = {}
        self._count = 0

    def add(self, point: MetricPoint) -> None:
        """One more point."""
        series = self._series.get(point.split)
        if series is None:
            if len(self._series) >= _SPLITS:
                return
            series = self._series[point.split] = _Series(self.limit)
        self._count += 1
        series.add((self._count, point))

    def points(self) -> list[MetricPoint]:
        """At most ``limit`` points, in the order in which they were added."""
        kept: list[_Item] = []
        series = sorted(self._series.values(), key=lambda one: len(one.stretches))
        for done, one in enumerate(series):  # what the small ones do not need is left for the large ones
            kept += one.kept((self.limit - len(kept)) // (len(series) - done))
        return [point for _, point in sorted(kept)]


class _Stretch:
    """A stretch of steps; the four points that are kept of it can be the same."""

    __slots__ = ("end", "first", "high", "high_loss", "last", "low", "low_loss", "start")

    def __init__(self, item: _Item, width: int) -> None:
        self.start = item[1].step
        self.end = self.start + width
        self.first = self.last = self.low = self.high = item
        self.low_loss, self.high_loss = _INFINITY, -_INFINITY
        self.add(item)

    def add(self, item: _Item) -> None:
        self.last = item
        loss = item[1].loss
        if loss is None:
            return
        if loss < self.low_loss:
            self.low, self.low_loss = item, loss
        if loss > self.high_loss or (loss != loss and self.high_loss < _INFINITY):
            self.high, self.high_loss = item, loss if loss == loss else _INFINITY

    def kept(self) -> list[_Item]:
        return sorted({item[0]: item for item in (self.first, self.low, self.high, self.last)}.values())


def _merged(stretches: list[_Stretch], width: int) -> list[_Stretch]:
    """Each two neighbours as one."""
    merged = []
    for i in range(0, len(stretches), 2):
        pair = [item for stretch in stretches[i : i + 2] for item in stretch.kept()]
        one = _Stretch(pair[0], width)
        for item in pair[1:]:
            one.add(item)
        merged.append(one)
    return merged


class _Series:
    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.width = 0  # each point is its own stretch
        self.stretches: list[_Stretch] = []

    def add(self, item: _Item) -> None:
        if self.stretches and self.stretches[-1].start <= item[1].step < self.stretches[-1].end:
            self.stretches[-1].add(item)
            return
        self.stretches.append(_Stretch(item, self.width))
        while len(self.stretches) > max(1, self.limit // min(4, max(1, self.width))):
            self.width = max(2, 2 * self.width)
            self.stretches = _merged(self.stretches, self.width)

    def kept(self, limit: int) -> list[_Item]:
        stretches, width = self.stretches, self.width
        while len(kept := [item for stretch in stretches for item in stretch.kept()]) > limit and len(stretches) > 1:
            width = max(2, 2 * width)
            stretches = _merged(stretches, width)
        return kept[:limit]
