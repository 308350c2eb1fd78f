"""Clusters that cost money."""

from __future__ import annotations

import re
import threading
import time
from dataclasses import dataclass
from typing import Any

from automodel_nb.errors import AutomodelError
from automodel_nb.launchers.skypilot_client import call
from automodel_nb.launchers.skypilot_states import word

_OURS = re.compile(r"-([a-z0-9]{8})$")
_FRESH = 15.0  # seconds for which an answer is taken for the present state


@dataclass(frozen=True, slots=True)
class Cluster:
    """One cluster of the user's.

    Attributes:
        name: as SkyPilot has it.
        state: ``UP``, ``INIT`` (on its way, or not healthy) or ``STOPPED`` (its disks are kept).
        job_id: id of the job that it was made for; None for one that was not made by a launch of ours.
        since: when it was launched, UTC seconds.
        hourly: US dollars an hour for all its nodes while it is up; None where it is not known.
        autostop_minutes: idle time until it is stopped or removed; None where that never happens by itself.
        down: it is then removed, not stopped.
    """

    name: str
    state: str
    job_id: str | None
    since: float
    hourly: float | None
    autostop_minutes: int | None
    down: bool

    def cost(self, now: float | None = None) -> float | None:
        """What it has cost until now, as far as the hourly price tells."""
        if self.hourly is None:
            return None
        return self.hourly * max(0.0, (time.time() if now is None else now) - self.since) / 3600


@dataclass(frozen=True, slots=True)
class Look:
    """What SkyPilot said of the user's clusters.

    Attributes:
        clusters: those that were made for a job of ours, by the job's id.
        silent: why it is not known what is up; empty where it is.
    """

    clusters: dict[str, Cluster]
    silent: str = ""

    def up(self, job_id: str) -> Cluster | None:
        """The cluster of that job, where it costs money."""
        found = self.clusters.get(job_id)
        return found if found is not None and found.state != "STOPPED" else None


_lock = threading.Lock()
_last: tuple[float, Look] | None = None


def look(*, anew: bool = False) -> Look:
    """The user's clusters, asked for at most every 15 s by whoever shows them; with `anew`, now."""
    global _last
    with _lock:
        if anew or _last is None or time.monotonic() - _last[0] > _FRESH:
            try:
                seen = Look({cluster.job_id: cluster for cluster in clusters() if cluster.job_id})
            except AutomodelError as error:
                seen = Look({}, str(error))
            _last = time.monotonic(), seen
        return _last[1]


def clusters() -> list[Cluster]:
    """Every cluster that is not removed.

    Raises:
        UnreachableError: the API server does not answer.
        MissingDependencyError: SkyPilot is not installed.
    """
    return [_cluster(record) for record in call(lambda sky: sky.get(sky.status()), timeout=20)]


def _cluster(record: Any) -> Cluster:
    ours = _OURS.search(record.name)
    return Cluster(
        name=record.name,
        state=word(record.status),
        job_id=ours.group(1) if ours else None,
        since=float(record.launched_at or 0),
        hourly=_hourly(record),
        autostop_minutes=record.autostop if record.autostop >= 0 else None,
        down=bool(record.to_down),
    )


def _hourly(record: Any) -> float | None:
    try:
        price = float(record.handle.launched_resources.get_cost(3600)) * record.nodes
    except Exception:  # a handle of another version, or a cloud whose catalog is not here
        return None
    return price or None
