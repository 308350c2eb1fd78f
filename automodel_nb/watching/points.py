"""Metric points, and how many of them a view keeps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

#: Points in a view.
VIEW_POINTS = 4_000


@dataclass(frozen=True, slots=True)
class MetricPoint:
    """One step line of the log. A value that is not there, or is no number, is None; NaN and infinity are values.

    Attributes:
        step: 0-based, as AutoModel counts: the last of ``max_steps: 40`` is 39.
        split: ``train``; ``val`` for the validation set, ``val/NAME`` where a recipe has several (``validation_dataset_NAME``).
        lr: learning rate.
        tps: tokens a second, all GPUs together.
        memory_gib: the most that this step allocated on rank 0's GPU.
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


def decimate(points: Sequence[MetricPoint], limit: int = VIEW_POINTS) -> list[MetricPoint]:
    """At most ``limit`` of the points, in their order: of each split the first and last, and of each equal stretch of steps
    the first, the last, and those of least and greatest loss, so that a spike never disappears.

    Stretches of steps, not of points: a series that is decimated again and again while it grows keeps an even density.
    """
    if len(points) <= limit:
        return list(points)
    by_split: defaultdict[str, list[int]] = defaultdict(list)
    for i, point in enumerate(points):
        by_split[point.split].append(i)
    keep: list[int] = []
    groups = sorted(by_split.values(), key=len)
    for done, group in enumerate(groups):  # small splits first: what they do not need is left for the large ones
        keep += _thin(points, group, (limit - len(keep)) // (len(groups) - done))
    return [points[i] for i in sorted(keep)]


def _thin(points: Sequence[MetricPoint], group: list[int], limit: int) -> list[int]:
    if len(group) <= limit:
        return group
    if limit < 4:
        return group[:limit]
    low = min(points[i].step for i in group)
    width = (max(points[i].step for i in group) - low + 1) / (limit // 4)
    stretches: defaultdict[int, list[int]] = defaultdict(list)
    for i in group:
        stretches[int((points[i].step - low) / width)].append(i)
    kept: set[int] = set()
    for stretch in stretches.values():
        finite = [i for i in stretch if (loss := points[i].loss) is not None and loss == loss]
        kept.update((stretch[0], stretch[-1]))
        if finite:
            kept.update((min(finite, key=lambda i: points[i].loss or 0.0), max(finite, key=lambda i: points[i].loss or 0.0)))
    return list(kept)
