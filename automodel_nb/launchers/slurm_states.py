"""What squeue and sacct print, as observations. Pure but for the marks and the log's end in a job's own directory."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from pydantic_core import PydanticCustomError

from automodel_nb.configs.values import wall_time
from automodel_nb.launchers.base import JobRef
from automodel_nb.launchers.interactive import at_limit, exit_words, read_exit_code
from automodel_nb.states import SLURM_STATES, JobState, Observation
from automodel_nb.watching.follow import end_of
from automodel_nb.watching.remote import look_anew

#: squeue's columns; the command is last, since a path may hold anything. ``-o`` is read by every release, ``-O`` and
#: ``--json`` differ between them.
SQUEUE_FORMAT = "%A|%F|%K|%T|%r|%S|%e|%P|%N|%o"
SACCT_FORMAT = "JobID,State,ExitCode,Start,End,NodeList"

#: Slurm's reasons for waiting, https://slurm.schedmd.com/job_reason_codes.html
_WAITING = {
    "None": "waiting for its turn",
    "Resources": "waiting for resources",
    "Priority": "waiting: jobs of higher priority are before it",
    "Dependency": "waiting for the jobs it depends on",
    "DependencyNeverSatisfied": "will never start: a job it depends on did not end as asked",
    "BeginTime": "waiting for its start time",
    "JobHeldUser": "held (`scontrol release` lets it go)",
    "JobHeldAdmin": "held by an administrator",
    "JobArrayTaskLimit": "waiting: the array's limit of tasks at a time is reached",
    "PartitionDown": "waiting: the partition is down",
    "PartitionInactive": "waiting: the partition is not active",
    "PartitionNodeLimit": "will not start: more nodes than the partition allows",
    "PartitionTimeLimit": "will not start: more time than the partition allows",
    "ReqNodeNotAvail": "waiting: a node that it asks for is not available",
    "Reservation": "waiting for its reservation",
    "NodeDown": "waiting: a node that it asks for is down",
    "BadConstraints": "will not start: no node fulfils its constraints",
    "AssocGrpGRES": "waiting: the account's limit of GPUs is reached",
    "AssociationJobLimit": "waiting: the account's limit of jobs is reached",
}
_LIMITS = {"QOS": "QOS", "Assoc": "account", "User": "user"}
#: How a job ended, in words; FAILED has its exit code.
_ENDED = {
    JobState.CANCELLED: "cancelled",
    JobState.TIMEOUT: "the time limit was reached",
    JobState.PREEMPTED: "preempted by a job of higher priority",
    JobState.NODE_FAIL: "a node failed",
    JobState.OUT_OF_MEMORY: "out of memory",
}
_WITH_CODE = (JobState.COMPLETED, JobState.FAILED, JobState.OUT_OF_MEMORY)
_MEMORY = re.compile(rb"slurmstepd[^\n]*error: (?:Detected \d+ oom.kill event|[^\n]*exceeded (?:job |step )?memory limit)")
_UNLIMITED = 365 * 86400  # seconds; what slurmctld reckons with where there is no limit
_TAIL = 65536  # bytes at a log's end in which slurmstepd's last words stand


@dataclass(frozen=True, slots=True)
class Row:
    """One line of squeue: a job, an array's task, or (folded) its tasks that wait."""

    id: str
    array: str
    task: str
    state: str
    reason: str
    start: float | None
    end: float | None
    partition: str
    nodes: tuple[str, ...]
    command: str


def squeue_rows(text: str) -> Iterator[Row]:
    """The rows of squeue's answer in `SQUEUE_FORMAT`; other lines (a cluster's name) are passed over."""
    for line in text.splitlines():
        cells = line.split("|", 9)
        if len(cells) == 10:
            id, array, task, state, reason, start, end, partition, nodes, command = cells
            yield Row(id, array, task, state, reason, _time(start), _time(end), partition, hostlist(nodes), command)


def observe(job: JobRef, rows: Sequence[Row]) -> Observation:
    """Where a job stands, from its rows in squeue (several for an array)."""
    if len(rows) == 1 and not rows[0].task.isdigit():
        return _of(job, rows[0], job.here.last_attempt(), None)
    parts = [_of(job, row, 0, int(row.task) if row.task.isdigit() else None) for row in rows]
    return _array(parts)


def _of(job: JobRef, row: Row, attempt: int, task: int | None) -> Observation:
    state = SLURM_STATES.get(row.state, JobState.UNKNOWN)
    if state is JobState.PENDING:
        return Observation(
            state, waiting(row.reason), row.reason.split(",")[0], attempt=attempt, estimate=row.start, native=row.state
        )
    if not state.final:
        limit = row.end - row.start if state is JobState.RUNNING and row.start and row.end else math.inf
        known = limit if limit < _UNLIMITED else None
        return Observation(state, started=row.start, nodes=row.nodes, attempt=attempt, time_limit=known, native=row.state)
    ended = read_exit_code(job.here, attempt, task)
    code = ended[0] if ended else 0 if state is JobState.COMPLETED else None
    return final(job, state, code, row.start, row.end, row.nodes, attempt, row.state)


def final(
    job: JobRef,
    state: JobState,
    code: int | None,
    start: float | None,
    end: float | None,
    nodes: tuple[str, ...],
    attempt: int,
    native: str,
) -> Observation:
    """A job that has ended, with the reason in words.

    Slurm calls a job FAILED whose step ran out of memory; slurmstepd says so in the log.
    """
    if state is JobState.FAILED and _out_of_memory(job):
        state = JobState.OUT_OF_MEMORY
    if not nodes:
        start = None  # it never ran: what Slurm gives as its start is its end
    words = _ENDED.get(state, "")
    reason_code = {JobState.FAILED: "exit_code"}.get(state, "" if state.ok else state.lower())
    if state is JobState.FAILED:
        words = exit_words(code) if code is not None else f"Slurm calls it {native}"
    return Observation(state, words, reason_code, code, start, end, nodes, attempt, native=native)


def waiting(reason: str) -> str:
    """A reason for waiting in words; Slurm's own word where it is not a known one."""
    code = re.split(r"[,:]", reason)[0].strip()
    if words := _WAITING.get(code):
        return words + (f" ({reason.partition(',')[2].strip(' _')})" if "," in reason else "")
    for prefix, whose in _LIMITS.items():
        if code.startswith(prefix):
            return f"waiting: a limit of the {whose} is reached ({code})"
    return f"waiting: {reason}"


def sacct_observations(jobs: Iterable[JobRef], text: str) -> dict[str, Observation]:
    """Final states out of sacct's answer in `SACCT_FORMAT`, by job id. A state that is not final is not believed: slurmctld
    no longer knows the job, so it does not run, and slurmdbd was not told of its end (yet).
    """
    rows: dict[str, list[list[str]]] = {}
    for line in text.splitlines():
        cells = line.split("|")
        if len(cells) == 6:
            rows.setdefault(re.split(r"[._]", cells[0])[0], []).append(cells)
    found = {}
    for job in jobs:
        parts = []
        steps = rows.get(job.submission.scheduler_id, [])
        short_of_memory = {cells[0].rpartition(".")[0] for cells in steps if "." in cells[0] and "OUT_OF_ME" in cells[1]}
        for id, native, code, start, end, nodes in steps:
            if "." in id:
                continue
            state = SLURM_STATES.get(native.split(" ")[0], JobState.UNKNOWN)
            if state is JobState.FAILED and id in short_of_memory:
                state = JobState.OUT_OF_MEMORY
            if state.final:
                task = int(found_task[1]) if (found_task := re.search(r"_(\d+)$", id)) else None
                attempt = job.here.last_attempt(task)
                # sacct drops the highest bit: a crash's 139 is 11 there
                own = read_exit_code(job.here, attempt, task)
                shown = own[0] if own else status(code) if state in _WITH_CODE else None
                parts.append(final(job, state, shown, _time(start), _time(end), _nodes(nodes), attempt, native))
        if parts:
            found[job.id] = parts[0] if len(parts) == 1 else _array(parts)
    return found


def array_from_files(job: JobRef) -> Observation | None:
    """An array that Slurm has forgotten, by the exit codes of its tasks; None where there are none."""
    tasks = {int(m[1]) for path in job.here.root.glob("exit_code.task*") if (m := re.search(r"task(\d+)", path.name))}
    parts = []
    for task in sorted(tasks):
        attempt = job.here.last_attempt(task)
        if ended := read_exit_code(job.here, attempt, task):
            state = JobState.COMPLETED if ended[0] == 0 else JobState.FAILED
            parts.append(final(job, state, ended[0], None, ended[1], (), attempt, ""))
    return _array(parts) if parts else None


def _array(parts: Sequence[Observation]) -> Observation:
    """One state for an array: what still goes on, else how the worst task ended."""
    order = (JobState.RUNNING, JobState.STOPPING, JobState.PENDING, JobState.UNKNOWN)
    worst = min(parts, key=lambda part: (order.index(part.state) if part.state in order else 9, part.state.ok))
    counts: dict[JobState, int] = {}
    for part in parts:
        counts[part.state] = counts.get(part.state, 0) + 1
    words = ", ".join(f"{count} {state}" for state, count in counts.items())
    ended = max((part.ended for part in parts if part.ended), default=None) if worst.state.final else None
    return Observation(worst.state, f"tasks: {words}", worst.reason_code, worst.exit_code, worst.started, ended, worst.nodes)


def chain(job: JobRef, links: Mapping[str, Observation | None]) -> Observation | None:
    """One state for a chain: that of the job that runs, else of the next one, else of the last one that trained.

    Args:
        job: the chain.
        links: what is seen of each of its jobs, by Slurm's id, in their order; None where Slurm has forgotten it.
    """
    seen = [link for link in links.values() if link]
    running = [link for link in seen if not link.state.final and link.state is not JobState.PENDING]
    waiting_ = [link for link in seen if link.state is JobState.PENDING]
    attempt = job.here.last_attempt()
    trained = _trained(job, attempt)
    ended = read_exit_code(job.here, attempt) is not None and not at_limit(job.here, attempt)
    if running:
        return running[-1]
    if waiting_ and not ended:
        if trained is None:
            return waiting_[0]
        return replace(waiting_[0], reason=f"job {len(links) - len(waiting_) + 1} of {len(links)}: {waiting_[0].reason}")
    return links.get(trained) if trained else next(iter(links.values()), None)


def _trained(job: JobRef, attempt: int) -> str | None:
    """Slurm's id of the job that an attempt ran in, as its mark says."""
    try:
        return job.here.started(attempt).read_text().split()[1]
    except (OSError, IndexError):
        return None


def duration(limit: str) -> str:
    """A time limit as Slurm prints it, in words: ``1-12:00:00`` is ``1 day 12 hours``."""
    try:
        left = wall_time(limit).seconds
    except PydanticCustomError:
        return limit
    words = []
    for unit, seconds in (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1)):
        count, left = divmod(left, seconds)
        if count:
            words.append(f"{count} {unit}" + ("s" if count > 1 else ""))
    return " ".join(words)


def status(code: str) -> int | None:
    """Slurm's ``exit:signal`` as a shell's exit status; None where it is neither."""
    found = re.fullmatch(r"(\d+):(\d+)", code)
    if not found:
        return None
    return 128 + int(found[2]) if found[2] != "0" else int(found[1])


def hostlist(text: str) -> tuple[str, ...]:
    """The names that ``n[1-3,08],login`` stands for."""
    names: list[str] = []
    for prefix, ranges, suffix in re.findall(r"([^,\[\]]+)(?:\[([^\]]*)\])?([^,\[]*)", text):
        if not ranges:
            names.append(prefix + suffix)
        for part in ranges.split(",") if ranges else ():
            first, _, last = part.partition("-")
            if first.isdigit() and (last or first).isdigit():
                names += [f"{prefix}{n:0{len(first)}d}{suffix}" for n in range(int(first), int(last or first) + 1)]
    return tuple(names)


def _nodes(text: str) -> tuple[str, ...]:
    """The nodes in sacct's answer, which has words where there are none."""
    return () if text == "None assigned" else hostlist(text)


def _time(text: str) -> float | None:
    """UTC seconds of a time that a Slurm command printed under ``TZ=UTC``."""
    try:
        return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


def _out_of_memory(job: JobRef) -> bool:
    look_anew(job.log)
    try:
        return bool(_MEMORY.search(end_of(job.log, _TAIL)))
    except OSError:
        return False
