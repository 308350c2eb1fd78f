"""One question a tick to each scheduler, whoever asks: a panel, a table, `job.state`, `job.wait`.

There is no thread here. Whoever looks at a job calls `observe`; if the last answer is young enough it is taken, else
all jobs of that kind are asked about at once.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from automodel_nb.errors import UnreachableError
from automodel_nb.job import evidence
from automodel_nb.job.record import JobRecord
from automodel_nb.job.store import JobStore
from automodel_nb.launchers import launcher
from automodel_nb.launchers.base import Launcher
from automodel_nb.states import JobState, Observation
from automodel_nb.watching.reading import read_progress
from automodel_nb.watching.remote import look_anew

#: Seconds between two questions while something changes. A site raises it with ``[poll]`` of its file (`profiles.floors`).
FLOOR = {"interactive": 0.2, "slurm": 5.0, "skypilot": 5.0}
SLOWEST = 60.0  # seconds between two questions while nothing changes
NEAR = 1.0  # the same for jobs of this node, whose answer is in a file and in /proc
SUBMITTING_FOR = 120.0  # seconds after which a launch that wrote no submission is taken for broken off


@dataclass(frozen=True, slots=True)
class Status:
    """An observation and how old it is.

    Attributes:
        observation: what was last seen.
        as_of: when the scheduler last answered, UTC seconds.
        silent: why it does not answer now; empty where it does.
    """

    observation: Observation
    as_of: float
    silent: str = ""


@dataclass
class _Kind:
    """The rhythm in which one scheduler is asked."""

    interval: float
    asked: float = float("-inf")
    jobs: dict[str, JobRecord] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)  # held while it is asked; others are not kept waiting


#: Who is asked: a launch method, and the login node by which (empty for this machine).
_Whom = tuple[str, str]


class Tracker:
    """What is known of all jobs that this kernel looks at.

    Args:
        store: where final states are written.
        launchers: gives the launcher of a method.
        floor: least seconds between two questions, by method.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        store: JobStore | None = None,
        launchers: Callable[[str], Launcher] = launcher,
        floor: dict[str, float] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.floor = FLOOR | (floor or {})
        self._store = store
        self._launcher = launchers
        self._clock = clock
        self._lock = threading.RLock()
        self._kinds: dict[_Whom, _Kind] = {}
        self._known: dict[str, Status] = {}
        self._marks: dict[str, frozenset[str]] = {}

    def observe(self, record: JobRecord) -> Status:
        """Where a job stands."""
        return self.observe_all([record])[record.id]

    def observe_all(self, records: Iterable[JobRecord]) -> dict[str, Status]:
        """Where each job stands, at the price of at most one question to each scheduler."""
        statuses: dict[str, Status] = {}
        waiting: dict[_Whom, list[JobRecord]] = {}
        for record in records:
            if record.ended is not None:
                statuses[record.id] = Status(record.ended, record.ended.ended or record.created)
            elif record.submission is None:
                statuses[record.id] = _unsubmitted(record)
            else:
                waiting.setdefault((record.method, record.remote), []).append(record)
        for whom, group in waiting.items():
            kind = self._kind(whom)
            with kind.lock:
                self._tick(whom[0], kind, group)
                statuses |= {record.id: self._known[record.id] for record in group}
        return statuses

    def poke(self, method: str) -> None:
        """Ask anew at the next look: something was launched, or told to stop."""
        self._kind((method, ""))
        with self._lock:
            for (asked, _), kind in self._kinds.items():
                if asked == method:
                    kind.asked, kind.interval = float("-inf"), self.floor[method]

    def interval(self, method: str, host: str = "") -> float:
        """Seconds between two questions at present."""
        return self._kind((method, host)).interval

    def slowest(self, method: str) -> float:
        """Most seconds between two questions about jobs of a launch method."""
        return max(NEAR if method == "interactive" else SLOWEST, self.floor[method])

    def _kind(self, whom: _Whom) -> _Kind:
        with self._lock:
            return self._kinds.setdefault(whom, _Kind(self.floor[whom[0]]))

    def _tick(self, method: str, kind: _Kind, group: Sequence[JobRecord]) -> None:
        new = [record for record in group if record.id not in self._known]
        kind.jobs |= {record.id: record for record in group}
        since = self._clock() - kind.asked
        if not new and since < self.floor[method]:
            return  # nothing can make it be asked: what lies in the jobs' directories is not looked at either
        if method == "slurm" and (marks := {record.id: _marks(record) for record in group}).items() - self._marks.items():
            self._marks |= marks
            kind.interval = self.floor[method]  # one of them has begun or ended: its own files say so
        if not new and since < kind.interval:
            return
        kind.asked = self._clock()
        asked = [record for record in kind.jobs.values() if not self._final(record)]
        try:
            answers = self._launcher(method).poll([record.ref() for record in asked])
        except UnreachableError as error:
            kind.interval = min(self.slowest(method), kind.interval * 2)
            for record in asked:
                last = self._known.get(record.id)
                unknown = Observation(JobState.UNKNOWN, "the scheduler has not answered yet", "unreachable")
                self._known[record.id] = (
                    Status(last.observation, last.as_of, str(error)) if last else Status(unknown, time.time(), str(error))
                )
            return
        changed = False
        for record in asked:
            if record.id not in answers or answers[record.id].state.final:
                look_anew(record.log)
            observation = answers.get(record.id) or evidence.forgotten(record)
            observation = evidence.refine(observation, record, lambda record=record: read_progress(record.log))  # type: ignore[misc]
            before = self._known.get(record.id)
            changed |= before is None or before.observation != observation
            self._known[record.id] = Status(observation, time.time())
            if observation.state.final and self._store is not None:
                self._store.save(record.with_end(observation))
        kind.interval = self.floor[method] if changed else min(self.slowest(method), kind.interval * 1.5)
        kind.jobs = {record.id: record for record in asked if not self._final(record)}

    def _final(self, record: JobRecord) -> bool:
        known = self._known.get(record.id)
        return known is not None and known.observation.state.final


def _marks(record: JobRecord) -> frozenset[str]:
    """What the attempts and array tasks of a job leave in its directory when they begin and when they end."""
    try:
        names = os.listdir(record.here.root)
    except OSError:
        return frozenset()
    return frozenset(name for name in names if name.startswith(("started", "exit_code")))


def _unsubmitted(record: JobRecord) -> Status:
    if time.time() - record.created < SUBMITTING_FOR:
        return Status(Observation(JobState.SUBMITTING), time.time())
    words = "the launch was broken off before the job was submitted"
    return Status(Observation(JobState.UNKNOWN, words, "launch_broken_off"), record.created)
