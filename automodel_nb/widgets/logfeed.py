"""Sends a job's log to a live view."""

from __future__ import annotations

import threading
import time
from collections import deque
from itertools import count
from pathlib import Path

from automodel_nb.job.handle import Job
from automodel_nb.widgets.live import Live
from automodel_nb.widgets.tail import CAP, LogTail, Row
from automodel_nb.widgets.ticker import LOGS, REMOTE_LOGS, Ticker

BEAT = 1.0  # seconds between two signs of life, and between two pictures of the tail
_OPENING = 3.0  # seconds for which the browser may still be loading the view: signs of life come often
_epochs = count(1)  # one for each log that began: what a view holds of an older one is not in it


class LogFeed:
    """Follows one job's log, from a thread, until the job's end.

    Messages that are sent while no page is open are lost, so the newest lines are a trait too, once a second at most.
    """

    def __init__(self, live: Live, job: Job) -> None:
        self._live = live
        self._job = job
        self._lock = threading.Lock()
        self._epoch = next(_epochs)
        self._ended = False
        self._closed = False
        self._began = self._sent_at = time.monotonic()
        self._ticker: Ticker = LOGS if isinstance(job.log_source, Path) else REMOTE_LOGS
        self._begin()

    def _begin(self) -> None:
        self._tail = LogTail(self._job.log_source, self._job.mask)
        self._recent: deque[Row] = deque(maxlen=CAP)
        self._total = 0
        self._bar = ""
        self._kept_at = 0.0
        self._kept = False  # whether the trait holds all that was sent

    def start(self) -> None:
        """Send the log's last lines, then what comes."""
        self._ticker.add(self._look)
        LOGS.add(self._beat)

    def again(self) -> None:
        """A page was opened: send the log's last lines once more."""
        with self._lock:
            self._begin()
        self._ticker.add(self._look)

    def finish(self) -> None:
        """The job has ended: send what is left, and no more signs of life."""
        self._ended = True
        self._ticker.wake()

    def close(self) -> None:
        """Send nothing any more."""
        with self._lock:
            self._closed = True

    def _look(self) -> bool:
        with self._lock:
            if self._closed:
                return False
            last = self._ended
            now = time.monotonic()
            if batch := self._tail.look(last=last):
                if batch.anew:
                    self._epoch = next(_epochs)
                    self._recent.clear()
                self._recent.extend(batch.rows)
                self._total, self._bar, self._kept, self._sent_at = batch.total, batch.bar, False, now
                self._live.send("lines", epoch=self._epoch, rows=batch.rows, total=batch.total, bar=batch.bar)
            over = last and not self._tail.waiting
            if not self._kept and (over or now - self._kept_at >= BEAT):
                self._kept, self._kept_at = True, now
                rows = list(self._recent)
                self._live.put("tail", {"epoch": self._epoch, "rows": rows, "total": self._total, "bar": self._bar})
            return not over

    def _beat(self) -> bool:
        """A sign of life, where nothing else was sent."""
        if self._ended or self._closed:
            return False
        now = time.monotonic()
        if now - self._sent_at >= (BEAT if now - self._began > _OPENING else 0.2):
            self._sent_at = now
            self._live.send("beat")
        return True
