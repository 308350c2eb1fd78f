"""From what SkyPilot says of a cluster, a job on it, a managed job or a launch to an observation. Pure; no `sky` here."""

from __future__ import annotations

import re
from typing import Any

from automodel_nb.launchers.interactive import exit_words
from automodel_nb.launchers.skypilot_errors import Explained, first_line
from automodel_nb.states import SKYPILOT_STATES, JobState, Observation

#: Words for states of SkyPilot's whose name alone says too little.
_WORDS = {
    "SUBMITTED": "waiting for the managed-jobs controller",
    "STARTING": "SkyPilot is getting the instances",
    "SETTING_UP": "setup is running on the nodes",
    "RECOVERING": "its instances were taken away; SkyPilot starts it again on others",
    "FAILED_SETUP": "setup failed",
    "FAILED_DRIVER": "SkyPilot's own process on the cluster ended (often: the node ran out of memory)",
    "FAILED_PRECHECKS": "SkyPilot refused it before the start",
    "FAILED_NO_RESOURCE": "no cloud had the resources",
    "FAILED_CONTROLLER": "the managed-jobs controller failed",
    "CANCELLED": "cancelled",
}


def word(status: object) -> str:
    """A status of SkyPilot's (an enum, or its text) as its bare name: ``JobStatus.RUNNING`` becomes ``RUNNING``."""
    return str(getattr(status, "value", status)).rpartition(".")[2]


def of_job(record: Any, nodes: tuple[str, ...] = (), exit_code: int | None = None) -> Observation:
    """A job on a cluster, from its record in the cluster's queue."""
    native = word(record.status)
    state = SKYPILOT_STATES.get(native, JobState.UNKNOWN)
    return Observation(
        state,
        _reason(native, exit_code),
        native.lower() if native in _WORDS else "",
        exit_code=0 if state is JobState.COMPLETED else exit_code,
        started=_seconds(record.start_at),
        ended=_seconds(record.end_at),
        nodes=nodes,
        native=native,
    )


def of_managed(record: Any) -> Observation:
    """A managed job, from its record in the controller's queue."""
    native = word(record.status)
    state = SKYPILOT_STATES.get(native, JobState.UNKNOWN)
    why = first_line(record.failure_reason or "")
    found = re.search(r"exit code (\d+)", why)
    exit_code = 0 if state is JobState.COMPLETED else int(found.group(1)) if found and state is JobState.FAILED else None
    reason = _reason(native, exit_code)
    return Observation(
        state,
        f"{reason}: {why}" if why and reason and not found else reason or why,
        "exit_code" if exit_code else native.lower() if native in _WORDS else "",
        exit_code=exit_code,
        started=_seconds(record.start_at),
        ended=_seconds(record.end_at) if state.final else None,
        attempt=record.recovery_count or 0,
        native=native,
    )


def launching(progress: str | None) -> Observation:
    """The cluster is on its way; `progress` is SkyPilot's own word on how far."""
    return Observation(JobState.PENDING, first_line(progress or "") or "waiting for the cluster", "launching", native="INIT")


def launch_failed(why: Explained, cluster_is_there: str = "") -> Observation:
    """The launch itself failed.

    Args:
        why: what SkyPilot raised.
        cluster_is_there: the cluster's name where something of it may be left and cost money.
    """
    if why.message == "the launch was cancelled":
        state, code = JobState.CANCELLED, "launch_cancelled"
    else:
        state, code = JobState.FAILED, "launch_failed"
    left = f"; the cluster may be up: `!sky down {cluster_is_there}`" if cluster_is_there else ""
    return Observation(state, f"{why}{left}", code)


def lost(spot: bool, name: str) -> Observation:
    """The cluster of a running job is gone."""
    if spot:
        words = "its spot instances were taken away, and nothing starts it again: `managed: true` would"
        return Observation(JobState.PREEMPTED, words, "spot_preempted")
    return Observation(JobState.NODE_FAIL, f"the cluster {name} is gone: taken down, or its instances failed", "cluster_gone")


def unseen(name: str, status: str) -> Observation:
    """A job that nobody looked at until its cluster was gone or stopped: what became of it was known there only."""
    if status == "STOPPED":
        words = f"its cluster was idle and is stopped; how it ended: `!sky start {name}`, then `!sky queue {name}`"
        return Observation(JobState.UNKNOWN, words, "cluster_stopped")
    words = f"the cluster {name} is gone (taken down, or removed when it was idle), and with it how the job ended"
    return Observation(JobState.UNKNOWN, words, "cluster_gone")


def _reason(native: str, exit_code: int | None) -> str:
    if native == "FAILED" and exit_code is not None:
        return exit_words(exit_code)
    return _WORDS.get(native, "")


def _seconds(value: float | None) -> float | None:
    return value if value and value > 0 else None
