"""The states of a job, and the table from each scheduler's own states to them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class JobState(StrEnum):
    """Where a job stands. The names are Slurm's where Slurm has one."""

    SUBMITTING = "SUBMITTING"
    PENDING = "PENDING"
    RUNNING = "RUNNING"
    STOPPING = "STOPPING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    TIMEOUT = "TIMEOUT"
    PREEMPTED = "PREEMPTED"
    NODE_FAIL = "NODE_FAIL"
    OUT_OF_MEMORY = "OUT_OF_MEMORY"
    UNKNOWN = "UNKNOWN"

    @property
    def final(self) -> bool:
        """True where nothing will change any more without a new launch. UNKNOWN is not final: evidence may still come."""
        return self not in _ALIVE

    @property
    def ok(self) -> bool:
        """True where the job did what was asked."""
        return self is JobState.COMPLETED


_ALIVE = {JobState.SUBMITTING, JobState.PENDING, JobState.RUNNING, JobState.STOPPING, JobState.UNKNOWN}

#: Slurm's job states (squeue's %T, sacct's State, scontrol's JobState), https://slurm.schedmd.com/squeue.html#SECTION_JOB-STATE-CODES
SLURM_STATES: dict[str, JobState] = {
    "PENDING": JobState.PENDING,
    "CONFIGURING": JobState.PENDING,
    "REQUEUED": JobState.PENDING,
    "REQUEUE_FED": JobState.PENDING,
    "REQUEUE_HOLD": JobState.PENDING,
    "SPECIAL_EXIT": JobState.PENDING,
    "RESV_DEL_HOLD": JobState.PENDING,
    "RUNNING": JobState.RUNNING,
    "RESIZING": JobState.RUNNING,
    "SUSPENDED": JobState.RUNNING,
    "STOPPED": JobState.RUNNING,
    "SIGNALING": JobState.RUNNING,
    "STAGE_OUT": JobState.STOPPING,
    "COMPLETING": JobState.STOPPING,
    "COMPLETED": JobState.COMPLETED,
    "FAILED": JobState.FAILED,
    "BOOT_FAIL": JobState.NODE_FAIL,
    "LAUNCH_FAILED": JobState.FAILED,
    "RECONFIG_FAIL": JobState.FAILED,
    "CANCELLED": JobState.CANCELLED,
    "REVOKED": JobState.CANCELLED,
    "TIMEOUT": JobState.TIMEOUT,
    "DEADLINE": JobState.TIMEOUT,
    "PREEMPTED": JobState.PREEMPTED,
    "NODE_FAIL": JobState.NODE_FAIL,
    "OUT_OF_MEMORY": JobState.OUT_OF_MEMORY,
}

#: SkyPilot's job and managed-job states (sky.JobStatus, sky.jobs.ManagedJobStatus of 0.14).
SKYPILOT_STATES: dict[str, JobState] = {
    "INIT": JobState.PENDING,
    "PENDING": JobState.PENDING,
    "DEPRECATED_SUBMITTED": JobState.PENDING,
    "SUBMITTED": JobState.PENDING,
    "STARTING": JobState.PENDING,
    "SETTING_UP": JobState.PENDING,
    "RUNNING": JobState.RUNNING,
    "RECOVERING": JobState.PENDING,
    "CANCELLING": JobState.STOPPING,
    "SUCCEEDED": JobState.COMPLETED,
    "FAILED": JobState.FAILED,
    "FAILED_SETUP": JobState.FAILED,
    "FAILED_DRIVER": JobState.FAILED,
    "FAILED_PRECHECKS": JobState.FAILED,
    "FAILED_NO_RESOURCE": JobState.FAILED,
    "FAILED_CONTROLLER": JobState.FAILED,
    "CANCELLED": JobState.CANCELLED,
}


@dataclass(frozen=True, slots=True)
class Observation:
    """What is known of a job at one moment.

    Attributes:
        state: where it stands.
        reason: in words, for a person.
        reason_code: stable name (``saved_at_time_limit``), empty where there is nothing to tell.
        exit_code: of the training command; negative for a signal; None while unknown.
        started, ended: UTC seconds since the epoch.
        nodes: host names the job runs or ran on.
        attempt: 0 for the first run, one more for each requeue.
        estimate: start time the scheduler expects, UTC seconds.
        time_limit: seconds from the start after which the scheduler ends it; known while it runs.
        native: the scheduler's own word for the state.
    """

    state: JobState
    reason: str = ""
    reason_code: str = ""
    exit_code: int | None = None
    started: float | None = None
    ended: float | None = None
    nodes: tuple[str, ...] = field(default=())
    attempt: int = 0
    estimate: float | None = None
    time_limit: float | None = None
    native: str = ""
