"""What is kept of a job: one readable JSON file, enough to find, judge and repeat it from any kernel. No secret in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from automodel_nb import hosts
from automodel_nb.launchers.base import JobRef, Submission
from automodel_nb.paths import JobPaths, copies
from automodel_nb.plan import Request
from automodel_nb.states import JobState, Observation
from automodel_nb.watching import checkpoints, checkpoints_there
from automodel_nb.watching.remote import RemoteLog, remote_log

VERSION = 1


class RecordError(ValueError):
    """A file that is not a record we can read; the message says why in a few words."""


@dataclass(frozen=True)
class JobRecord:
    """One job.

    Attributes:
        id: unique, eight lower-case letters and digits.
        name, method: as in the plan.
        created: UTC seconds since the epoch.
        user, machine: who launched it, and on which machine the notebook ran.
        directory: the job's own directory, absolute (on `submission.host` for a job launched over ssh).
        chdir: working directory of the training.
        yaml: the document as typed.
        command: the training command line.
        request: what it was planned from, for `resume` and ``--from``.
        submission: what the launcher must remember; None while the launch is under way.
        checkpoint_dir: where AutoModel writes checkpoints, absolute.
        secrets: names of environment variables whose values are masked in what is shown.
        resumed_from: id of the job whose checkpoint this one started from.
        ended: the final observation, once there is one.
    """

    id: str
    name: str
    method: str
    created: float
    user: str
    machine: str
    directory: str
    chdir: str
    yaml: str
    command: str
    request: Request
    submission: Submission | None = None
    checkpoint_dir: str | None = None
    secrets: tuple[str, ...] = ()
    resumed_from: str | None = None
    ended: Observation | None = None
    uid: int | None = field(default=None, compare=False)

    def ref(self) -> JobRef:
        """The job as its launcher sees it. Raises ValueError for a launch that never was submitted."""
        if self.submission is None:
            raise ValueError(f"{self.id} was never submitted")
        directory, remote = Path(self.directory), self.remote
        return JobRef(self.id, directory, self.submission, self.created, self.name, remote, copies(self.id) if remote else None)

    @property
    def remote(self) -> str:
        """The login node by which it is asked about, over ssh; empty where that is this machine (or was needed never)."""
        at = self.submission
        if self.method != "slurm" or at is None or not at.host or at.extra.get("node") == hosts.hostname():
            return ""
        return hosts.host(at.host).name

    @property
    def here(self) -> JobPaths:
        """File names where this process can read what the job left: its directory, or the copies of it."""
        return JobPaths(copies(self.id) if self.remote else Path(self.directory))

    def readable(self, name: str) -> Path | RemoteLog:
        """A log of that name in the job's directory, to be read by offset."""
        return (
            remote_log(self.remote, f"{self.directory}/{name}", self.here.root / name) if self.remote else self.here.root / name
        )

    def checkpoint(self, *, anew: bool = False) -> Path | None:
        """The newest complete checkpoint, a path where the job ran; with `anew`, a login node is asked now."""
        if self.checkpoint_dir is None:
            return None
        if self.remote:
            return checkpoints_there.look(self.remote, self.checkpoint_dir, anew=anew).newest
        return checkpoints.newest_checkpoint(self.checkpoint_dir)

    def model(self) -> Path | None:
        """The newest model that transformers loads, a path where the job ran."""
        if self.checkpoint_dir is None:
            return None
        if self.remote:
            return checkpoints_there.look(self.remote, self.checkpoint_dir).model
        return checkpoints.model_path(self.checkpoint_dir)

    @property
    def log(self) -> Path | RemoteLog:
        """The job's log, to be read by offset."""
        return self.readable(self.here.log.name)

    def with_end(self, observation: Observation) -> JobRecord:
        """The record of a job that has ended."""
        return replace(self, ended=observation)


def dump(record: JobRecord) -> str:
    """The record as JSON text."""
    data = asdict(record)
    del data["uid"]  # the file's owner says it
    return json.dumps({"version": VERSION, **data}, indent=1, ensure_ascii=False) + "\n"


def load(text: str, uid: int | None = None) -> JobRecord:
    """Read a record.

    Args:
        text: the file's text.
        uid: the file's owner.

    Raises:
        RecordError: damaged, foreign, or written by a newer automodel_nb.
    """
    try:
        data = json.loads(text)
    except ValueError:
        raise RecordError("is not JSON (damaged)") from None
    if not isinstance(data, dict) or "version" not in data:
        raise RecordError("is not a job record")
    if data.pop("version") != VERSION:
        raise RecordError("was written by another version of automodel_nb")
    try:
        return JobRecord(
            **data
            | {
                "request": Request(**_tuples(data["request"], "ignore")),
                "submission": Submission(**data["submission"]) if data.get("submission") else None,
                "secrets": tuple(data.get("secrets") or ()),
                "ended": _observation(data["ended"]) if data.get("ended") else None,
                "uid": uid,
            }
        )
    except (TypeError, KeyError, ValueError):
        raise RecordError("has other fields than a job record") from None


def _observation(data: Mapping[str, Any]) -> Observation:
    return Observation(**{**_tuples(data, "nodes"), "state": JobState(data["state"])})


def _tuples(data: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {**data, **{name: tuple(data[name]) for name in names if name in data}}
