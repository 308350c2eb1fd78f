"""AutoModel's log to metrics and progress: all releases from 0.1.0 to 0.7.0. Another format gives nothing and does no harm.

Records stand anywhere in a line, behind bars and prefixes, so they are searched, and carriage returns separate like newlines.
A log can be large, and only a few of its lines are of interest: fixed bytes are searched in large chunks, and only what is
around a find is looked at.
"""

from __future__ import annotations

import re
from collections import deque
from datetime import tzinfo

from automodel_nb.watching.lines import clean
from automodel_nb.watching.points import VIEW_POINTS, MetricPoint, View, decimate
from automodel_nb.watching.progress import Progress
from automodel_nb.watching.records import AHEAD, BACK, RECORD, Clock, point_of

__all__ = ["VIEW_POINTS", "LogParser", "MetricPoint", "Progress", "decimate"]

_HELD = 1 << 16  # an unfinished line that is longer is searched as it is
_KEPT = 200  # checkpoints, step times

_HEADER, _SIGNAL, _CHECKPOINT = b"Max train steps: ", b"initiating graceful stop", b" checkpoint"
_RUN, _BAR = b"/runs/", b"Training: "
_NEEDLES = (_HEADER, _SIGNAL, _CHECKPOINT, _RUN)

_REST = re.compile(rb"[^\r\n\x1b]{0,2000}")
_SAVING = re.compile(r"(?:Saving|Saved(?: \w+)?) checkpoint to (\S.*)")
_LOADING = re.compile(r"(?:Loading checkpoint from|Resuming from checkpoint:) (\S.*)")
# Of W&B: host/entity/project/runs/id. (MLflow's has a "#", GitHub's one part more.)
_URL = re.compile(r"https?://[^\s/]+/[^\s/#]+/[^\s/#]+/runs/[\w-]+")
_DRAWN_BAR = re.compile(
    rb"Training: +\d+%\|[^|\r\n]{0,400}\| *(\d+)/(\d+) \[[^\[\]\r\n<]{0,20}<[^,\]\r\n]{0,20}, +([\d.]{1,20}|\?)(step/s|s/step)?"
)
_ENDLESS = 1 << 62  # what AutoModel prints where nothing limits the steps is about this


class LogParser:
    """Reads a log's bytes as they come; what it keeps is bounded, whatever the length of the log.

    Args:
        zone: in which the log's times are; None is this machine's. (A container without a zone file writes UTC.)
    """

    def __init__(self, zone: tzinfo | None = None) -> None:
        self._clock = Clock(zone)
        self._view = View()
        self._tail = b""  # bytes that may still be part of a find …
        self._searched = 0  # … of which so many were searched
        self._shown = b""  # the end of what was searched, for last_line
        self._times: deque[tuple[int, float]] = deque(maxlen=_KEPT)  # (step, time) of this run
        self._checkpoints: deque[str] = deque(maxlen=_KEPT)
        self._last: MetricPoint | None = None  # of this run
        self._last_val: MetricPoint | None = None
        self._total: int | None = None
        self._bar: tuple[int, int, float | None] | None = None
        self._restarts = 0
        self._preempted = False
        self._wandb_url: str | None = None
        self._resumed_from: str | None = None

    def feed(self, data: bytes) -> list[MetricPoint]:
        """The points in the records that these bytes complete, all of them. How the bytes are cut does not matter."""
        data = self._tail + data
        end = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        if len(data) - end > _HELD:
            end = len(data) - 2 * AHEAD  # whatever begins before is there whole
        return self._search(data, end)

    def close(self) -> list[MetricPoint]:
        """The points in an unfinished last line, for a log that nobody writes any more."""
        return self._search(self._tail, len(self._tail))

    @property
    def points(self) -> list[MetricPoint]:
        """The points so far, at most VIEW_POINTS of them (see View)."""
        return self._view.points()

    @property
    def progress(self) -> Progress:
        """Where the training stands, as far as the log has been read."""
        return Progress.of(
            self._last,
            self._last_val,
            total_steps=self._total,
            bar=self._bar,
            times=self._times,
            checkpoints=tuple(self._checkpoints),
            restarts=self._restarts,
            resumed_from=self._resumed_from,
            wandb_url=self._wandb_url,
            preempted=self._preempted,
            last_line=_last_line(self._shown),
        )

    def _search(self, data: bytes, end: int) -> list[MetricPoint]:
        events = self._events(data, end)
        points: list[MetricPoint] = []
        for record in RECORD.finditer(data, self._searched):
            start = record.start()
            if start >= end:
                break
            while events and events[-1][0] < start:
                self._event(data, *events.pop())
            points.append(point := point_of(data, record, self._clock))
            self._add(point)
        while events:
            self._event(data, *events.pop())
        self._shown = (self._shown + data[max(self._searched, end - AHEAD) : end])[-AHEAD:]
        start = max(data.rfind(b"\n", 0, end), data.rfind(b"\r", 0, end)) + 1
        start = max(start, end - BACK)
        self._tail, self._searched = data[start:], end - start
        return points

    def _events(self, data: bytes, end: int) -> list[tuple[int, bytes]]:
        """Where the other things are that begin before ``end``, last first."""
        found: list[tuple[int, bytes]] = []
        for needle in _NEEDLES:
            at = data.find(needle, self._searched)
            while 0 <= at < end:
                found.append((at, needle))
                at = data.find(needle, at + len(needle))
        at = data.rfind(_BAR, self._searched, end + len(_BAR) - 1)
        while at >= 0 and not _DRAWN_BAR.match(data, at):
            at = data.rfind(_BAR, self._searched, at)
        if at >= 0:
            found.append((at, _BAR))  # only the last bar matters
        return sorted(found, reverse=True)

    def _event(self, data: bytes, at: int, needle: bytes) -> None:
        low = max(0, at - BACK)
        low = max(low, data.rfind(b"\n", low, at) + 1, data.rfind(b"\r", low, at) + 1)
        rest = _REST.match(data, at)
        text = data[low : rest.end() if rest else at].decode("utf-8", "backslashreplace")
        if needle is _BAR:
            if bar := _DRAWN_BAR.match(data, at):
                rate = 0.0 if bar[3] == b"?" else float(bar[3].strip(b".") or b"0")
                self._bar = int(bar[1]), int(bar[2]), (1 / rate if bar[4] == b"s/step" else rate) if rate else None
        elif needle is _HEADER:
            self._begin()
            total = text.rpartition(_HEADER.decode())[2].strip()
            self._total = int(total) if total.isdecimal() and int(total) < _ENDLESS else None
        elif needle is _SIGNAL:
            self._preempted = True
        elif needle is _RUN:
            if url := _URL.search(text):
                self._wandb_url = url[0]
        elif saving := _SAVING.search(text):
            self._checkpoints.append(saving[1].rstrip())
        elif loading := _LOADING.search(text):
            self._resumed_from = loading[1].rstrip()

    def _add(self, point: MetricPoint) -> None:
        self._view.add(point)
        if point.split != "train":
            self._last_val = point
            return
        if self._last and point.step < self._last.step:
            self._begin()
        self._last = point
        if point.time is not None:
            self._times.append((point.step, point.time))

    def _begin(self) -> None:
        """A training begins. It is a restart where there were steps before."""
        self._restarts += self._last is not None
        self._last, self._bar, self._preempted = None, None, False
        self._times.clear()


def _last_line(shown: bytes) -> str:
    """The last line with text in it, of the end of the log."""
    for line in reversed(shown.decode("utf-8", "backslashreplace").split("\n")):
        for text in reversed(clean(line)):
            if text:
                return text
    return ""
