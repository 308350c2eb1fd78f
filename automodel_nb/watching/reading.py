"""What this kernel has read of each job's log: each byte is read and parsed once, whoever asks."""

from __future__ import annotations

import threading
from collections import OrderedDict
from pathlib import Path

from automodel_nb.paths import JobPaths
from automodel_nb.watching.errors_in_log import ErrorLine, ErrorSearch
from automodel_nb.watching.follow import LogFile
from automodel_nb.watching.metrics import LogParser
from automodel_nb.watching.points import MetricPoint
from automodel_nb.watching.progress import Progress

_BLOCK = 1 << 16  # bytes in which errors are searched at a time
_KEPT = 64  # jobs whose parsed state is held; an older one is read again when asked for


class _Reading:
    """One log, parsed as far as it has been read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.lock = threading.Lock()
        self._begin()

    def _begin(self) -> None:
        self.log, self.parser, self.errors = LogFile(self._path), LogParser(), ErrorSearch()

    def catch_up(self) -> LogParser:
        while data := self.log.fetch():
            if self.log.reset:
                self.parser, self.errors = LogParser(), ErrorSearch()
            self.parser.feed(data)
            for start in range(0, len(data), _BLOCK):
                self.errors.feed(data[start : start + _BLOCK])
        return self.parser


_readings: OrderedDict[Path, _Reading] = OrderedDict()
_lock = threading.Lock()


def _reading(path: Path) -> _Reading:
    with _lock:
        reading = _readings.pop(path, None) or _Reading(path)
        _readings[path] = reading
        while len(_readings) > _KEPT:
            _readings.popitem(last=False)
        return reading


def read_progress(directory: str | Path) -> Progress:
    """Where the training of a job's directory stands, by its log."""
    reading = _reading(JobPaths(Path(directory)).log)
    with reading.lock:
        return reading.catch_up().progress


def view_points(directory: str | Path) -> list[MetricPoint]:
    """The points so far, decimated for a view."""
    reading = _reading(JobPaths(Path(directory)).log)
    with reading.lock:
        return list(reading.catch_up().points)


def read_error(directory: str | Path) -> ErrorLine | None:
    """The line that says why the job fails, as far as its log has been written; None where none does."""
    reading = _reading(JobPaths(Path(directory)).log)
    with reading.lock:
        reading.catch_up()
        return reading.errors.so_far()


def read_points(directory: str | Path) -> list[MetricPoint]:
    """Every point of the log; the list is as long as the training."""
    log, parser, points = LogFile(JobPaths(Path(directory)).log), LogParser(), []
    while data := log.fetch():
        points += parser.feed(data)
    return points + parser.close()
