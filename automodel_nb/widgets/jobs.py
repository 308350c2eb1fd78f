"""The table of jobs: static in the saved notebook, and where a browser looks on, current, with filters and buttons."""

from __future__ import annotations

import threading
import time
from typing import Any, ClassVar

from automodel_nb.job.clusters import has_one
from automodel_nb.job.handle import Job
from automodel_nb.showing import jobs_view, newest_jobs, row
from automodel_nb.views import JobRow
from automodel_nb.widgets.deeds import down_action, down_words, in_thread, resume_action, stop_action, stopped_words
from automodel_nb.widgets.display import Output
from automodel_nb.widgets.facts import printable, row_of
from automodel_nb.widgets.live import Live, live_beside, new_key, static
from automodel_nb.widgets.ticker import CARDS

FASTEST, SLOWEST = 3.0, 60.0  # seconds between two looks at the records, while something changes and while nothing does
_SHARE = 20  # a look that took a second is repeated after so many at the earliest


class JobsTable:
    """Lists the newest jobs in the running cell's output. The newest table of a kernel stays current.

    Args:
        limit: so many jobs; None is all.
    """

    _newest: ClassVar[JobsTable | None] = None

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._key = new_key()
        self._output = Output()
        self._lock = threading.Lock()
        self._ended: dict[str, tuple[JobRow, list[dict[str, Any]]]] = {}  # nothing changes in these any more
        self._stops: dict[str, int] = {}
        self._note = ""
        self._due, self._interval = 0.0, FASTEST
        self._last: object = None
        self._live: Live | None = None
        self._jobs: dict[str, Job] = {}
        self._list()
        self._live = live_beside("jobs", self._key, self._heard)
        if self._live:
            if JobsTable._newest:
                JobsTable._newest.close()
            JobsTable._newest = self
            self._list()
            CARDS.add(self._tick)

    def close(self) -> None:
        """Leave the static table as it is."""
        with self._lock:
            if self._live:
                self._live.close()
                self._live = None

    def _tick(self) -> bool:
        if self._live is None:
            return False
        if time.monotonic() >= self._due:
            self._list()
        else:
            self._live.send("beat")
        return True

    def _list(self) -> None:
        began = time.monotonic()
        jobs, notes = newest_jobs(self._limit)
        with self._lock:
            # one handle a job for good: it counts how often the job was told to stop
            self._jobs = {job.id: self._jobs.get(job.id, job) for job in jobs}
            rows = [self._row(job) for job in self._jobs.values()]
            now = time.time()
            html, text = jobs_view([line for line, _ in rows], notes)
            self._output.show(static(self._key, html), text)
            if self._live:
                listed = [{**row_of(line, now), "actions": actions} for line, actions in rows]
                self._live.put("status", printable({"jobs": listed, "notes": notes, "note": self._note}))
        changed = (rows, self._note) != self._last
        self._last = (rows, self._note)
        alive = any(not line.state.final for line, _ in rows)
        self._interval = FASTEST if changed or alive else min(SLOWEST, self._interval * 1.5)
        end = time.monotonic()
        self._due = end + max(self._interval, _SHARE * (end - began))

    def _row(self, job: Job) -> tuple[JobRow, list[dict[str, Any]]]:
        if job.id in self._ended and not has_one(job.record):
            return self._ended[job.id]
        line = row(job)
        if line.owner:
            return line, []
        if not line.state.final:
            return line, [stop_action(job, self._stops.get(job.id, 0)), *down_action(job)]
        self._ended[job.id] = line, [*resume_action(job), *down_action(job)]
        return self._ended[job.id]

    # --- what the buttons do ---

    def _heard(self, message: dict[str, Any]) -> None:
        job = self._jobs.get(str(message.get("target")))
        if message.get("do") == "hello":
            self._due = 0.0
        elif job and message.get("do") == "stop":
            in_thread(lambda: self._stop(job), self._say)
        elif job and message.get("do") == "down":
            in_thread(lambda: down_words(job), self._say)
        elif job and message.get("do") == "resume":
            in_thread(lambda: f"Resumed {job.id} as {job.resume().id}.", self._say)

    def _stop(self, job: Job) -> str:
        stops = self._stops.get(job.id, 0)
        job.cancel()
        self._stops[job.id] = stops + 1
        return f"{job.name} ({job.id}): {stopped_words(job, stops)}"

    def _say(self, note: str) -> None:
        self._note = note
        self._list()
