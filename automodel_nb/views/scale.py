"""Axes: from values to positions and round tick marks. Pure arithmetic."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from automodel_nb.views import words


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps `low`..`high` to 0..1, evenly or by powers of ten."""

    low: float
    high: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Where `value` lies."""
        low, high, value = (math.log10(v) for v in (self.low, self.high, value)) if self.log else (self.low, self.high, value)
        return (value - low) / (high - low)

    def ticks(self, count: int, *, whole: bool = False) -> list[float]:
        """About `count` round values within the scale; `whole` gives whole numbers only."""
        if self.log:
            powers = range(math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9) + 1)
            stride = max(1, math.ceil(len(powers) / count))
            marks = [10.0**power for power in powers[::stride]]
            if len(marks) > 1:
                return marks
        step = _round_step((self.high - self.low) / max(1, count))
        if whole:
            step = max(1.0, step)
        first = math.ceil(self.low / step - 1e-9)
        return [round(i * step, 12) for i in range(first, math.floor(self.high / step + 1e-9) + 1)]


def value_scale(values: Iterable[float]) -> Scale:
    """A scale around all `values` (finite, at least one); by powers of ten where they span a hundredfold."""
    found = list(values)
    low, high = min(found), max(found)
    if low > 0 and high / low >= 100:
        return Scale(low * 0.9, high * 1.1, log=True)
    if low == high:
        margin = abs(low) / 2 or 1.0
        return Scale(low - margin, high + margin)
    margin = (high - low) * 0.06
    return Scale(low - margin, high + margin)


def label(value: float, ticks: list[float]) -> str:
    """A tick in as many digits as tell it from its neighbours: ``2.5``, ``12k``, ``1e-4``."""
    largest = max(abs(tick) for tick in ticks)
    if largest >= 10_000:
        unit, letter = (1e9, "G") if largest >= 1e10 else (1e6, "M") if largest >= 1e7 else (1e3, "k")
        return f"{value / unit:g}{letter}" if value else "0"
    if 0 < largest < 1e-2:
        return words.number(value, 3) if value else "0"
    gap = min((abs(b - a) for a, b in pairwise(ticks)), default=abs(value) or 1)
    return f"{value:,.{max(0, -math.floor(math.log10(gap) + 1e-9))}f}" if gap else f"{value:g}"


def _round_step(raw: float) -> float:
    """The next of 1, 2, 2.5, 5 times a power of ten that is no smaller than `raw`."""
    if raw <= 0 or not math.isfinite(raw):
        return 1.0
    power = 10.0 ** math.floor(math.log10(raw))
    return next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= raw * (1 - 1e-9))
