"""The handle that a user holds: one job, whoever launched it and whenever."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from automodel_nb import hosts
from automodel_nb.errors import JobError
from automodel_nb.interpolation import Masker
from automodel_nb.job.clusters import take_down
from automodel_nb.job.record import JobRecord
from automodel_nb.job.session import Session, session
from automodel_nb.job.tracker import Status
from automodel_nb.launchers import launcher
from automodel_nb.launchers.base import Stop
from automodel_nb.paths import JobPaths
from automodel_nb.states import JobState
from automodel_nb.watching import follow, reading
from automodel_nb.watching.points import MetricPoint

if TYPE_CHECKING:
    from automodel_nb.watching.diagnosis import Diagnosis
    from automodel_nb.watching.progress import Progress

_LADDER: tuple[Stop, ...] = ("save", "interrupt", "kill")


class Job:
    """One training job.

    Made by `automodel_nb.launch`, `automodel_nb.attach` and `automodel_nb.job`; holds nothing that another kernel
    could not read from disk or ask the scheduler.
    """

    def __init__(self, record: JobRecord, kernel: Session | None = None) -> None:
        self._record = record
        self._session = kernel or session()
        self._stops = 0
        self._masker: tuple[tuple[str, ...], Masker] | None = None

    def __repr__(self) -> str:
        return f"<Job {self.id} {self.name!r} {self.method} {self.state}>"

    # --- what it is ---

    @property
    def record(self) -> JobRecord:
        """The record on disk, as last read."""
        return self._record

    @property
    def id(self) -> str:
        """Unique id, eight letters and digits."""
        return self._record.id

    @property
    def name(self) -> str:
        """The job's name (``job_name``)."""
        return self._record.name

    @property
    def method(self) -> str:
        """``interactive``, ``slurm`` or ``skypilot``."""
        return self._record.method

    @property
    def directory(self) -> Path:
        """The job's own directory."""
        return Path(self._record.directory)

    @property
    def paths(self) -> JobPaths:
        """File names inside the job's directory."""
        return JobPaths(self.directory)

    @property
    def scheduler_id(self) -> str:
        """Slurm's job id, SkyPilot's job id, or the pid of an interactive job's supervisor."""
        record = self._record
        if record.submission is None:
            return ""
        if not record.submission.scheduler_id and record.remote:  # its login node has told meanwhile
            from automodel_nb.launchers.slurm import settled_id

            return settled_id(record.ref())
        return record.submission.scheduler_id

    @property
    def cluster(self) -> str:
        """Name of the Slurm or SkyPilot cluster, empty where there is one only."""
        return self._record.submission.cluster if self._record.submission else ""

    @property
    def host(self) -> str:
        """The machine of an interactive job, the login node of one launched by ssh."""
        return self._record.submission.host if self._record.submission else self._record.machine

    @property
    def yaml(self) -> str:
        """The document as it was typed."""
        return self._record.yaml

    @property
    def attempts(self) -> int:
        """How often it has begun: 1, and one more for each requeue."""
        return self.status.observation.attempt + 1

    # --- where it stands ---

    @property
    def status(self) -> Status:
        """What was last seen of it, and when."""
        status = self._session.tracker.observe(self._record)
        if status.observation.state.final and self._record.ended is None:
            self._record = self._record.with_end(status.observation)
        return status

    @property
    def state(self) -> JobState:
        """Where it stands."""
        return self.status.observation.state

    @property
    def reason(self) -> str:
        """Why, in words."""
        return self.status.observation.reason

    @property
    def reason_code(self) -> str:
        """Why, as a stable name (``saved_at_time_limit``)."""
        return self.status.observation.reason_code

    @property
    def exit_code(self) -> int | None:
        """Exit status of the training command, as a shell gives it (128 + n for a signal); None before the end."""
        return self.status.observation.exit_code

    def wait(self, timeout: float | None = None) -> JobState:
        """Wait for the job's end.

        Args:
            timeout: seconds; None waits for ever.

        Returns:
            The final state, or the present one when the time is up.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while not (state := self.state).final and (end is None or time.monotonic() < end):
            time.sleep(min(0.2, self._session.tracker.interval(self.method)))
        return state

    # --- what it says ---

    def log(self, tail: int | None = None) -> str:
        """The log's text, secrets masked.

        Args:
            tail: only so many last lines; None gives all.
        """
        found = [self.mask("\n".join(line.text for line in self._lines(path, tail))) for path in self.logs.values()]
        return "\n".join(text for text in found if text)

    def _lines(self, path: Path | follow.Source, tail: int | None) -> Iterable[follow.Line]:
        return follow.lines(path) if tail is None else follow.tail(path, tail)

    @property
    def log_source(self) -> Path | follow.Source:
        """Its log, to be read by offset: a file, or one on a login node; of an array, that of the last task that has begun."""
        return list(self.logs.values())[-1]

    @property
    def _is_array(self) -> bool:
        return self._record.submission is not None and bool(self._record.submission.extra.get("array"))

    @property
    def logs(self) -> dict[str, Path | follow.Source]:
        """The logs by array task, in order; one with an empty name where the job is no array."""
        return self._task_logs() or {"": self._record.log}

    def _task_logs(self) -> dict[str, Path | follow.Source]:
        tasks = self._record.here.task_logs() if self._is_array else {}
        return {f"task{number}": self._record.readable(path.name) for number, path in tasks.items()}

    def follow(self, offset: int = 0) -> Iterator[tuple[int, str]]:
        """The log's lines from a byte offset on, as they come, until the job has ended.

        Args:
            offset: 0, or an offset that an earlier `follow` gave. An array's logs are followed from their beginning.

        Yields:
            (offset to go on from, line without its end); secrets masked.
        """
        if self._is_array:
            yield from self._follow_tasks()
            return
        for line in follow.follow(follow.LogFile(self.log_source, offset), lambda: self.state.final, lambda: time.sleep(0.1)):
            yield line.offset, self.mask(line.text)

    def _follow_tasks(self) -> Iterator[tuple[int, str]]:
        logs = follow.LogSet({})
        while True:
            over = self.state.final
            for label, path in self._task_logs().items():
                logs.add(label, path)
            for label, line in [*logs.read(), *(logs.flush() if over else ())]:
                yield line.offset, self.mask(f"[{label}] {line.text}")
            if over:
                return
            time.sleep(0.1)

    def metrics(self) -> list[MetricPoint]:
        """Every training and validation step that the log tells of, in its order."""
        return reading.read_points(self.log_source)

    @property
    def progress(self) -> Progress:
        """Step, epoch, loss and what else the log tells of how far it is."""
        return reading.read_progress(self.log_source)

    @property
    def checkpoint(self) -> Path | None:
        """The newest complete checkpoint; of a job with a login node, a path there, not older than 20 s."""
        return self._record.checkpoint()

    @property
    def model_path(self) -> Path | None:
        """The consolidated model (Hugging Face format) of the newest checkpoint that has one."""
        return self._record.model()

    def diagnosis(self) -> Diagnosis | None:
        """Why it failed: cause, evidence, line, rank, node, fix; None for a job that did not fail, or has not ended."""
        from automodel_nb.job.diagnosing import diagnosis

        return diagnosis(self)

    def mask(self, text: str) -> str:
        """A text with the values of this job's secrets masked."""
        values = tuple(value for name in self._record.secrets if (value := os.environ.get(name)))
        if self._masker is None or self._masker[0] != values:
            self._masker = values, Masker(values)
        return self._masker[1].mask(text)

    # --- what can be done to it ---

    def cancel(self) -> None:
        """Ask it to stop.

        An interactive job is asked to save and stop, a second call interrupts it, a third kills it; others are cancelled.

        Raises:
            JobError: it belongs to another user, or cannot be reached from this machine.
        """
        self._own("cancelled")
        hosts.again()
        if self.state.final or self._record.submission is None:
            return
        launcher(self.method).stop(self._record.ref(), _LADDER[min(self._stops, len(_LADDER) - 1)])
        self._stops += 1
        self._session.tracker.poke(self.method)

    def down(self) -> None:
        """Remove its SkyPilot cluster and all that is on the disks; a job that still runs on it is cancelled first.

        Raises:
            JobError: it is no SkyPilot job, belongs to another user, or its cluster cannot be removed.
        """
        self.cancel()
        self.wait(timeout=30)
        take_down(self._record)

    def resume(self, overrides: dict[str, str] | None = None) -> Job:
        """Launch it again from its newest complete checkpoint.

        Args:
            overrides: further ``--set`` values, dotted path to text.

        Returns:
            The new job, linked to this one.

        Raises:
            JobError: there is no complete checkpoint, or the job still runs.
            LaunchError: it cannot be launched again; nothing was.
        """
        from automodel_nb.job.resuming import resume

        self._own("resumed")
        hosts.again()
        if not self.state.final and self.state is not JobState.UNKNOWN:
            raise JobError(f"{self.id} is {self.state}; it can be resumed once it has ended")
        record = resume(self._record, self._session.store, overrides or {})
        self._session.tracker.poke(record.method)
        return Job(record, self._session)

    def _own(self, what: str) -> None:
        if self._record.uid not in (None, os.getuid()):
            raise JobError(f"{self.id} belongs to {self._record.user}; it can be read here but not {what}")
