"""What the buttons of a live view do. Each runs in a thread of its own, so that the kernel is free, and ends in words."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from automodel_nb.errors import AutomodelError
from automodel_nb.job import clusters
from automodel_nb.job.handle import Job

#: Label, and the question that is asked before it is done.
_LADDER = (
    ("■ Stop", "Ask the training to save a checkpoint and stop?"),
    ("■ Interrupt", "Interrupt it without saving?"),
    ("■ Kill", "Kill it? What it has not saved is lost."),
)
_ASKED = (
    "Asked the training to save a checkpoint and stop.",
    "Interrupted.",
    "Killed.",
)
_CANCEL = ("■ Cancel", "Cancel the job?")
_CANCEL_CLOUD = ("■ Cancel", "Cancel the job? It is not asked to save first: what came after its last checkpoint is lost.")


def stop_action(job: Job, stops: int) -> dict[str, Any]:
    """The button that stops a job which was told so `stops` times already."""
    cancel = _CANCEL_CLOUD if job.method == "skypilot" else _CANCEL
    label, ask = _LADDER[min(stops, len(_LADDER) - 1)] if job.method == "interactive" else cancel
    return {"do": "stop", "label": label, "ask": ask}


def down_action(job: Job) -> list[dict[str, Any]]:
    """The button that takes the cluster of an ended job down; none where it is not up."""
    cluster = clusters.up(job.record) if clusters.idle(job.status.observation) else None
    if cluster is None:
        return []
    return [{"do": "down", "label": "■ Take down", "ask": f"Remove {cluster.name} and all that is on its disks?"}]


def down_words(job: Job) -> str:
    """Take a job's cluster down; what was done."""
    job.down()
    return f"The cluster {job.cluster} is taken down."


def resume_action(job: Job) -> list[dict[str, Any]]:
    """The button that resumes an ended job; none where there is nothing to resume from."""
    if job.state.ok or job.checkpoint is None:
        return []
    return [{"do": "resume", "label": "↻ Resume", "ask": None, "title": f"Launch it again from {job.checkpoint.name}"}]


def stopped_words(job: Job, stops: int) -> str:
    """What was done by the press number `stops` (from 0)."""
    return _ASKED[min(stops, len(_ASKED) - 1)] if job.method == "interactive" else "Asked the scheduler to cancel it."


def detached_words(job: Job) -> str:
    """What is to be known of a job that nobody looks at any more."""
    words = f"Detached; the job goes on. Come back with %automodel_attach {job.id}"
    if job.method == "skypilot" and not job.state.final:
        words += f"; it costs money: %automodel_cancel {job.id} --down ends it, and takes its cluster down"
    return words


def in_thread(deed: Callable[[], str], done: Callable[[str], None]) -> None:
    """Call `deed`; `done` gets its words, or the error's where it is one that a user can cause."""

    def run() -> None:
        try:
            words = deed()
        except AutomodelError as error:
            words = f"✗ {error}"
        done(words)

    threading.Thread(target=run, name="automodel_nb action", daemon=True).start()
