"""From evidence to a state: what the launcher saw, the exit-code files, the log and the checkpoints.

The order: the scheduler decides the state while it knows the job. An exit-code file gives code and end time, and the
state once the scheduler has forgotten. Then slurmstepd's own last line in the log. Else UNKNOWN, with what was last seen.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from automodel_nb.job.record import JobRecord
from automodel_nb.launchers.interactive import at_limit, exit_words, read_exit_code
from automodel_nb.states import JobState, Observation
from automodel_nb.watching.checkpoints import step_of
from automodel_nb.watching.follow import Source, end_of
from automodel_nb.watching.progress import Progress

_TAIL = 65536  # bytes at the log's end in which slurmstepd's last words stand
# exact texts: slurmstepd writes them into the job's own output file when it ends a job
_STEPD = re.compile(
    r"slurmstepd[^\n]*error: \*\*\* (?:JOB|STEP) \S+ ON \S+ CANCELLED AT \S+(?P<why> DUE TO [A-Z ]+?)?(?:,[^*\n]*)? \*\*\*"
)
_STEPD_STATES = {
    "DUE TO TIME LIMIT": (JobState.TIMEOUT, "the time limit was reached"),
    "DUE TO PREEMPTION": (JobState.PREEMPTED, "preempted by a job of higher priority"),
    "DUE TO JOB REQUEUE": (JobState.PREEMPTED, "requeued"),
    "DUE TO NODE FAILURE": (JobState.NODE_FAIL, "a node failed"),
    "": (JobState.CANCELLED, "cancelled"),
}


def forgotten(record: JobRecord) -> Observation:
    """The state of a job that its scheduler no longer knows, from the files it left."""
    paths = record.here
    attempt = paths.last_attempt()
    if ended := read_exit_code(paths, attempt):
        code, when = ended
        state = JobState.COMPLETED if code == 0 else JobState.FAILED
        words = "" if code == 0 else exit_words(code)
        return Observation(state, words, "exit_code" if code else "", exit_code=code, ended=when, attempt=attempt)
    if last := last_words(record.log):
        state, words = last
        return Observation(state, f"{words} (from the log)", "last_words", attempt=attempt)
    if not paths.root.is_dir():
        return Observation(JobState.UNKNOWN, f"its directory is gone: {paths.root}", "directory_gone")
    return Observation(
        JobState.UNKNOWN, "the scheduler has forgotten the job, and it left no exit code", "forgotten", attempt=attempt
    )


def last_words(log: Path | Source) -> tuple[JobState, str] | None:
    """What slurmstepd wrote last about the job's end; None where it wrote nothing."""
    try:
        text = end_of(log, _TAIL).decode("utf-8", "replace")
    except OSError:
        return None
    found = list(_STEPD.finditer(text))
    if not found:
        return None
    return _STEPD_STATES.get((found[-1]["why"] or "").strip(), _STEPD_STATES[""])


def refine(observation: Observation, record: JobRecord, progress: Callable[[], Progress]) -> Observation:
    """Say at the end what a scheduler cannot: whether it saved, at which step, or that there was nothing to train.

    Args:
        observation: a final one.
        record: the job.
        progress: reads the job's log; called only where it is needed.
    """
    if not observation.state.final or (observation.state.ok and observation.reason_code):
        return observation
    seen = progress()
    saved = _saved_words(record, seen)
    if observation.state is JobState.COMPLETED:
        if at_limit(record.here, observation.attempt) and not _trained_to_the_end(seen):
            words = f"the time limit was near: {saved}"
            return replace(observation, state=JobState.TIMEOUT, reason=words, reason_code="saved_at_time_limit")
        if seen.preempted and not _trained_to_the_end(seen):
            return replace(observation, state=JobState.PREEMPTED, reason=saved, reason_code="saved_on_signal")
        if seen.last is None and seen.resumed_from:
            words = f"nothing was left to train: {Path(seen.resumed_from).name} already is the last step"
            return replace(observation, reason=words, reason_code="nothing_to_train")
        return observation
    if seen.preempted:
        code = {
            JobState.TIMEOUT: "saved_at_time_limit",
            JobState.PREEMPTED: "saved_at_preemption",
            JobState.CANCELLED: "saved_and_stopped",
        }.get(observation.state)
        if code:
            return replace(observation, reason=f"{observation.reason}; {saved}".lstrip("; "), reason_code=code)
    return observation


def _trained_to_the_end(seen: Progress) -> bool:
    return seen.step is not None and seen.total_steps is not None and seen.step + 1 >= seen.total_steps


def _saved_words(record: JobRecord, seen: Progress) -> str:
    newest = record.checkpoint()
    if newest is None:
        return "told to save, but there is no complete checkpoint"
    step = step_of(newest)
    if seen.step is not None and step is not None and step < seen.step:
        return f"told to save; the newest complete checkpoint is of step {step}"
    return f"saved at step {step}" if step is not None else f"saved {newest.name}"
