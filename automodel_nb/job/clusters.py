"""The SkyPilot cluster of a job: whether it is still up, what it costs, and how it is removed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from automodel_nb.errors import JobError
from automodel_nb.job.record import JobRecord
from automodel_nb.job.tracker import Status
from automodel_nb.states import JobState, Observation

if TYPE_CHECKING:
    from automodel_nb.launchers.skypilot_clusters import Cluster


@dataclass(frozen=True, slots=True)
class Cost:
    """US dollars.

    Attributes:
        hourly: an hour, for all nodes.
        total: until now, or until the end.
    """

    hourly: float
    total: float


def has_one(record: JobRecord) -> bool:
    """Whether a cluster was made for the job that outlives it: not for a managed one, whose controller removes it."""
    return record.method == "skypilot" and not (record.submission and record.submission.extra.get("managed"))


def up(record: JobRecord) -> Cluster | None:
    """The job's cluster, where it is up. SkyPilot is asked at most every 15 s, and where it does not answer None is given."""
    if not has_one(record):
        return None
    from automodel_nb.launchers.skypilot_clusters import look

    return look().up(record.id)


def cost(record: JobRecord, status: Status, cluster: Cluster | None) -> Cost | None:
    """What a job on SkyPilot costs: by its cluster, else by the price at its launch while it ran; None where none is known."""
    if cluster is not None and cluster.hourly is not None:
        return Cost(cluster.hourly, cluster.cost() or 0.0)
    hourly = record.submission.extra.get("hourly") if record.submission else None
    seen = status.observation
    if not isinstance(hourly, float) or seen.started is None:
        return None
    return Cost(hourly, hourly * max(0.0, (seen.ended or status.as_of) - seen.started) / 3600)


def remarks(records: Sequence[JobRecord], statuses: dict[str, Status]) -> list[str]:
    """What a list of jobs says of clusters: those that are up with no job on them, each with what takes it down.

    Args:
        records: all that there are.
        statuses: of those that were asked about, by id.
    """
    if not any(has_one(record) for record in records):
        return []
    from automodel_nb.launchers.skypilot_clusters import look

    seen, known = look(), {record.id: record for record in records}
    said = [f"Which clusters are up is not known: {seen.silent}"] if seen.silent else []
    for job_id, cluster in seen.clusters.items():
        if cluster.state == "STOPPED":
            continue
        if job_id not in known:
            commands = f"!sky queue {cluster.name} tells, and !sky down {cluster.name} takes it down"
            said.append(f"Cluster {cluster.name} is up, {price(cluster)}; whether its job runs is not known here: {commands}")
        elif idle(statuses[job_id].observation) if job_id in statuses else known[job_id].ended is not None:
            down = f"%automodel_cancel {job_id} --down"
            said.append(f"Cluster {cluster.name} is up with no job on it: {price(cluster)}. It is taken down by {down}")
    return said


def idle(seen: Observation) -> bool:
    """Whether a job needs its cluster no more: it has ended, or nobody knows of it (not: nobody answers)."""
    return seen.state.final or (seen.state is JobState.UNKNOWN and seen.reason_code != "unreachable")


def price(cluster: Cluster) -> str:
    """``2.50 $ an hour, 0.42 $ so far``, and when it ends by itself."""
    total = cluster.cost()
    known = f"{cluster.hourly:.2f} $ an hour, {total:.2f} $ so far" if total is not None else "its price is not known"
    if cluster.autostop_minutes is None:
        return f"{known}, and it never stops by itself"
    return f"{known}, {'removed' if cluster.down else 'stopped'} after {cluster.autostop_minutes} idle minutes"


def take_down(record: JobRecord) -> None:
    """Remove the job's cluster and all that is on its disks. One that is gone already is no error.

    A managed job's cluster is its controller's, which removes it once the job has ended.

    Raises:
        JobError: it is no SkyPilot job, or SkyPilot refuses.
        UnreachableError: the API server does not answer.
    """
    if record.method != "skypilot":
        raise JobError(f"{record.id} is cancelled; it has no cluster that could be taken down")
    if not has_one(record):
        return
    from automodel_nb.launchers.skypilot import down
    from automodel_nb.launchers.skypilot_clusters import look

    found = look(anew=True).clusters.get(record.id)
    name = record.submission.cluster if record.submission else found.name if found else ""
    if name:
        down(name)
    look(anew=True)
