"""What this kernel has read of each job's log: each byte is read and parsed once, whoever asks."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from pathlib import Path

from automodel_nb.watching.errors_in_log import ErrorLine, ErrorSearch
from automodel_nb.watching.follow import LogFile, Source
from automodel_nb.watching.metrics import LogParser
from automodel_nb.watching.points import MetricPoint
from automodel_nb.watching.progress import Progress

_BLOCK = 1 << 16  # bytes in which errors are searched at a time
_KEPT = 64  # jobs whose parsed state is held; an older one is read again when asked for
LOOK = 1.0  # seconds that a view waits for a log that comes over a network


class _Reading:
    """One log, parsed as far as it has been read."""

    def __init__(self, log: Path | Source) -> None:
        self._source = log
        self.lock = threading.Lock()
        self._begin()

    def _begin(self) -> None:
        self.log, self.parser, self.errors = LogFile(self._source), LogParser(), ErrorSearch()

    def catch_up(self, seconds: float = float("inf")) -> LogParser:
        end = time.monotonic() + seconds
        while time.monotonic() < end and (data := self.log.fetch()):
            if self.log.reset:
                self.parser, self.errors = LogParser(), ErrorSearch()
            self.parser.feed(data)
            for start in range(0, len(data), _BLOCK):
                self.errors.feed(data[start : start + _BLOCK])
        return self.parser


_readings: OrderedDict[Path | Source, _Reading] = OrderedDict()
_lock = threading.Lock()


def _reading(log: Path | Source) -> _Reading:
    with _lock:
        reading = _readings.pop(log, None) or _Reading(log)
        _readings[log] = reading
        while len(_readings) > _KEPT:
            _readings.popitem(last=False)
        return reading


def read_progress(log: Path | Source, seconds: float = float("inf")) -> Progress:
    """Where a training stands, by its log.

    Args:
        log: a file, or what can be read like one and is the same object each time.
        seconds: after so many it is as far as has been read; the rest at the next look.
    """
    reading = _reading(log)
    with reading.lock:
        return reading.catch_up(seconds).progress


def view_points(log: Path | Source, seconds: float = float("inf")) -> list[MetricPoint]:
    """The points so far, decimated for a view. Arguments as for `read_progress`."""
    reading = _reading(log)
    with reading.lock:
        return list(reading.catch_up(seconds).points)


def read_error(log: Path | Source, seconds: float = float("inf")) -> ErrorLine | None:
    """The line that says why the job fails, as far as its log has been written; None where none does."""
    reading = _reading(log)
    with reading.lock:
        reading.catch_up(seconds)
        return reading.errors.so_far()


def read_points(log: Path | Source) -> list[MetricPoint]:
    """Every point of the log; the list is as long as the training."""
    file, parser, points = LogFile(log), LogParser(), []
    while data := file.fetch():
        points += parser.feed(data)
    return points + parser.close()
