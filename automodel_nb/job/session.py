"""What one kernel has one of: the store and the tracker."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from automodel_nb.job.store import JobStore
from automodel_nb.job.tracker import Tracker
from automodel_nb.paths import state_home
from automodel_nb.profiles import floors


@dataclass
class Session:
    """A store and the tracker that writes final states into it."""

    store: JobStore
    tracker: Tracker = field(init=False)

    def __post_init__(self) -> None:
        self.tracker = Tracker(self.store, floor=floors(Path.cwd()))


def session() -> Session:
    """The session of the state directory that is in force now."""
    return _session(state_home())


@cache
def _session(home: Path) -> Session:
    return Session(JobStore(home))
