"""AutoModel's log to metrics and progress: all releases from 0.1.0 to 0.7.0. Another format gives nothing and does no harm.

    … | INFO | root | step 39 | epoch 0 | loss 2.8591 | grad_norm 1.0371 | lr 1.00e-04 | mem 0.00 GiB | tps 5918.28(2959.14/gpu)
    … | INFO | root | [val] name "default" | step 39 | epoch 0 | loss 2.9129 | lr 1.00e-04 | num_label_tokens 117

(0.1 and the vision recipes have no ``name "…"``, the distillation recipe has a bare name.) Records stand anywhere in a line,
behind bars and prefixes, so they are searched. A log can be large and only every twentieth line of it a step, so the search
is one for fixed bytes in chunks, and only what is around a find is looked at.
"""

from __future__ import annotations

import re
from collections import deque
from datetime import datetime, tzinfo

from automodel_nb.watching.lines import clean
from automodel_nb.watching.points import VIEW_POINTS, MetricPoint, decimate
from automodel_nb.watching.progress import Progress

__all__ = ["VIEW_POINTS", "LogParser", "MetricPoint", "Progress", "decimate"]

_BACK, _AHEAD = 512, 2048  # bytes around a find that belong to it, at most
_HELD = 1 << 16  # an unfinished line that is longer is searched as it is
_KEPT = 200  # checkpoint names, step times

_STEP, _HEADER, _BAR, _SIGNAL = b" | epoch ", b"Max train steps: ", b"Training: ", b"initiating graceful stop"
_SAVE, _LOAD, _RESUME = b" checkpoint to ", b"Loading checkpoint from ", b"Resuming from checkpoint: "
_RUN, _RUN_TOO = b"View run ", b"Running run at "  # W&B: "View run at URL", by wandb itself "View run NAME at: URL"
_NEEDLES = (_STEP, _HEADER, _SAVE, _LOAD, _RESUME, _SIGNAL, _RUN, _RUN_TOO)
_FIELDS = frozenset((b"loss", b"val_loss", b"lr", b"grad_norm", b"tps", b"mem"))

_RECORD = re.compile(rb"step (\d{1,18}) \| epoch (\d{1,18}) \| ([^\r\n]{0,2048})")
_TIME = re.compile(rb"(\d{4}-\d\d-\d\d \d\d:\d\d):(\d\d)(?:[.,]\d+)? \| ")
_DRAWN_BAR = re.compile(
    rb"Training: +\d+%\|[^|\r\n]{0,400}\| *(\d+)/(\d+) \[[^\[\]\r\n<]*<[^,\]\r\n]*, +([\d.]+|\?)(step/s|s/step)?"
)
_REST = re.compile(rb"[^\r\n\x1b]{0,2000}")
_URL = re.compile(r"https?://\S+/runs/\S+")
_ENDLESS = 1 << 62  # what AutoModel prints where nothing limits the steps


class LogParser:
    """Reads a log's bytes as they come; keeps a bounded amount whatever the length of the log.

    Args:
        zone: in which the log's times are; None is this machine's. (A container without a zone file writes UTC.)

    """

    def __init__(self, zone: tzinfo | None = None) -> None:
        self._points: list[MetricPoint] = []
        self._zone = zone
        self._tail = b""  # bytes that may still be part of a find
        self._searched = 0  # of the tail, from its start
        self._shown = b""  # the end of what was searched, for last_line
        self._minute = (b"", 0.0)
        self._steps: deque[tuple[int, float]] = deque(maxlen=_KEPT)  # (step, time) of this run
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
            end = len(data) - 2 * _AHEAD  # whatever is found before it is there whole
        return self._search(data, end)

    def close(self) -> list[MetricPoint]:
        """The points in an unfinished last line, for a log that nobody writes any more."""
        return self._search(self._tail, len(self._tail))

    @property
    def points(self) -> list[MetricPoint]:
        """The points so far, at most VIEW_POINTS of them."""
        return decimate(self._points)

    @property
    def progress(self) -> Progress:
        """Where the training stands, as far as it has been read."""
        return Progress.of(
            self._last,
            self._last_val,
            total_steps=self._total,
            bar=self._bar,
            times=self._steps,
            checkpoints=tuple(self._checkpoints),
            restarts=self._restarts,
            resumed_from=self._resumed_from,
            wandb_url=self._wandb_url,
            preempted=self._preempted,
            last_line=_last_line(self._shown),
        )

    def _search(self, data: bytes, end: int) -> list[MetricPoint]:
        finds: list[tuple[int, bytes]] = []
        for needle in _NEEDLES:
            at = data.find(needle, max(0, self._searched - len(needle) + 1), end)
            while at >= 0:
                finds.append((at, needle))
                at = data.find(needle, at + len(needle), end)
        at = data.rfind(_BAR, max(0, self._searched - len(_BAR) + 1), end)
        while at >= 0 and not _DRAWN_BAR.match(data, at):
            at = data.rfind(_BAR, 0, at)
        if at >= 0:
            finds.append((at, _BAR))  # only the last one matters
        finds.sort()
        points: list[MetricPoint] = []
        for at, needle in finds:
            if needle is not _STEP:
                self._event(needle, data, at)
            elif point := self._point(data, at):
                points.append(point)
        self._keep(data, end)
        return points

    def _keep(self, data: bytes, end: int) -> None:
        """Forget what was searched, but for what may belong to a find to come."""
        self._shown = (self._shown + data[max(self._searched, end - _AHEAD) : end])[-_AHEAD:]
        start = max(data.rfind(b"\n", 0, end), data.rfind(b"\r", 0, end)) + 1
        start = max(start, end - _BACK - len(_LOAD))
        self._tail, self._searched = data[start:], end - start

    def _point(self, data: bytes, at: int) -> MetricPoint | None:
        low = max(0, at - _BACK)
        low = max(low, data.rfind(b"\n", low, at) + 1, data.rfind(b"\r", low, at) + 1)
        start = data.rfind(b"step ", low, at)
        record = _RECORD.match(data, start) if start >= 0 else None
        if not record or record.start(2) != at + len(_STEP):
            return None
        values: dict[bytes, float | None] = {}
        for field in record[3].split(b" | "):
            name, _, value = field.partition(b" ")
            if name in _FIELDS:
                values[name] = _number(value)
        before = data[low:start]
        loss = values.get(b"loss", values.get(b"val_loss"))
        point = MetricPoint(
            int(record[1]),
            int(record[2]),
            _split(before) if b"[val]" in before or b"val_loss" in values else "train",
            loss,
            values.get(b"lr"),
            values.get(b"grad_norm"),
            values.get(b"tps"),
            values.get(b"mem"),
            self._time(before),
        )
        self._add(point)
        return point

    def _add(self, point: MetricPoint) -> None:
        self._points.append(point)
        if len(self._points) > 2 * VIEW_POINTS:
            self._points = decimate(self._points)
        if point.split != "train":
            self._last_val = point
            return
        if self._last and point.step < self._last.step:
            self._begin()
        self._last = point
        if point.time is not None:
            self._steps.append((point.step, point.time))

    def _begin(self) -> None:
        """A training begins. It is a restart where there were steps before."""
        self._restarts += self._last is not None
        self._last, self._bar, self._preempted = None, None, False
        self._steps.clear()

    def _event(self, needle: bytes, data: bytes, at: int) -> None:
        rest = _REST.match(data, at + len(needle))
        text = rest[0].decode("utf-8", "backslashreplace").strip() if rest else ""
        if needle is _BAR:
            if bar := _DRAWN_BAR.match(data, at):
                rate = None if bar[3] == b"?" or not float(bar[3]) else float(bar[3])
                self._bar = int(bar[1]), int(bar[2]), 1 / rate if rate and bar[4] == b"s/step" else rate
        elif needle is _HEADER:
            self._begin()
            self._total = int(text) if text.isdecimal() and int(text) < _ENDLESS else None
        elif needle is _SAVE:
            if data[:at].endswith((b"Saving", b"Saved", b"Saved final")) and text:
                self._checkpoints.append(text)
        elif needle is _SIGNAL:
            self._preempted = True
        elif needle in (_RUN, _RUN_TOO):
            if url := _URL.search(text):
                self._wandb_url = url[0]
        elif text:
            self._resumed_from = text

    def _time(self, before: bytes) -> float | None:
        """Of the last time stamp before a record; the conversion is done once a minute of the log."""
        stamps = list(_TIME.finditer(before))
        if not stamps:
            return None
        stamp = stamps[-1]
        if stamp[1] != self._minute[0]:
            try:
                minute = datetime.strptime(stamp[1].decode(), "%Y-%m-%d %H:%M").replace(tzinfo=self._zone)
                self._minute = (stamp[1], minute.timestamp())
            except (ValueError, OverflowError, OSError):
                return None
        return self._minute[1] + int(stamp[2])


def _split(before: bytes) -> str:
    """``val`` or ``val/NAME`` from what stands between ``[val]`` and ``step``."""
    name = before[before.rfind(b"[val]") + 5 :].strip(b" |") if b"[val]" in before else b""
    if name.startswith(b'name "'):
        name = name[6:-1]
    return "val" if name in (b"", b"default") else f"val/{name.decode('utf-8', 'backslashreplace')}"


def _number(value: bytes) -> float | None:
    try:
        return float(value.split(b"(", 1)[0].split(b" ", 1)[0])  # "5918.28(2959.14/gpu)", "0.00 GiB"
    except ValueError:
        return None


def _last_line(shown: bytes) -> str:
    """The last line with text in it, of the end of the log."""
    for line in reversed(shown.decode("utf-8", "backslashreplace").split("\n")):
        for text in reversed(clean(line)):
            if text:
                return text
    return ""
