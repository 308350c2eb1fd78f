"""Clusters that cost money, and which of them no job needs any more."""

from __future__ import annotations

import re
import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from automodel_nb.launchers.skypilot_client import call
from automodel_nb.launchers.skypilot_states import word

_OURS = re.compile(r"-([a-z0-9]{8})$")


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


def clusters() -> list[Cluster]:
    """Every cluster that is not removed.

    Raises:
        UnreachableError: the API server does not answer.
        MissingDependencyError: SkyPilot is not installed.
    """
    return [_cluster(record) for record in call(lambda sky: sky.get(sky.status()))]


def forgotten(found: Collection[Cluster], running: Collection[str]) -> list[Cluster]:
    """Those that are up for a job that has ended.

    Args:
        found: what `clusters` gave.
        running: ids of the jobs that have not ended.
    """
    return [cluster for cluster in found if cluster.state != "STOPPED" and cluster.job_id and cluster.job_id not in running]


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
