"""What the views are given: plain data, so that they know nothing of records, schedulers or files.

All times are UTC seconds since the epoch, all spans are seconds, None is "not known".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo

from automodel_nb.findings import Finding
from automodel_nb.states import JobState
from automodel_nb.watching.points import MetricPoint
from automodel_nb.watching.progress import Progress

NO_PROGRESS = Progress()


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a job did not succeed, as far as its log tells.

    Attributes:
        cause: one sentence.
        evidence: the lines of the log that say so, the decisive one first.
        where: ``rank 3 on node07, line 812``.
        fix: what to do.
    """

    cause: str
    evidence: Sequence[str] = ()
    where: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True)
class CardData:
    """One job, as a card shows it.

    Attributes:
        method: ``interactive``, ``slurm`` or ``skypilot``.
        reason: one or two sentences for a person: why it waits, how it ended.
        submitted, started, ended: when.
        estimate: when the scheduler expects to start it.
        time_limit: seconds from the start after which the scheduler ends it.
        as_of: when the scheduler last answered (or the job's own files were last read).
        unreachable: True where the scheduler does not answer now; what is shown is then of `as_of`.
        points: decimated by the caller to some thousands at most; in the order of the log.
        restarts: steps at which training went on after a stop, beyond those that the points show by going back.
        last_lines: the end of the log, may hold ANSI colours; no secret (masked by the caller).
        checkpoint: newest complete one. model_path: the consolidated model.
        config: ``(field, value)`` rows, the few that tell what was launched.
        command: the training command line.
        attempt: 0 for the first run.
        cost, hourly: US dollars until now, and an hour.
        cluster_up: what is to say of a cluster that is still up after its job's end.
        previous, next: ids of the jobs that this one resumes, and that resumes this one.
        zone: for clock times; None is this machine's.
    """

    job_id: str
    name: str
    method: str
    state: JobState
    reason: str = ""
    directory: str = ""
    log_path: str = ""
    scheduler_id: str = ""
    cluster: str = ""
    host: str = ""
    nodes: Sequence[str] = ()
    submitted: float | None = None
    started: float | None = None
    ended: float | None = None
    estimate: float | None = None
    time_limit: float | None = None
    as_of: float | None = None
    unreachable: bool = False
    exit_code: int | None = None
    progress: Progress = NO_PROGRESS
    points: Sequence[MetricPoint] = ()
    restarts: Sequence[int] = ()
    last_lines: Sequence[str] = ()
    checkpoint: str = ""
    model_path: str = ""
    tracker_url: str = ""
    failure: Failure | None = None
    findings: Sequence[Finding] = ()
    config: Sequence[tuple[str, str]] = ()
    command: str = ""
    attempt: int = 0
    cost: float | None = None
    hourly: float | None = None
    cluster_up: str = ""
    previous: str = ""
    next: str = ""
    zone: tzinfo | None = None

    @property
    def attach(self) -> str:
        """What to type in any notebook on the same file system to come back to this job."""
        return f"%automodel_attach {self.job_id}"


@dataclass(frozen=True, slots=True)
class JobRow:
    """One line of the table of jobs.

    Attributes:
        owner: user name where the record is another user's, else empty.
        note: one short remark (the reason of a pending job, "as of 14:02").
    """

    job_id: str
    name: str
    method: str
    state: JobState
    scheduler_id: str = ""
    submitted: float | None = None
    started: float | None = None
    ended: float | None = None
    progress: Progress = NO_PROGRESS
    loss: float | None = None
    owner: str = ""
    note: str = ""
