"""The records on disk, under the rules of shared file systems.

One file a job, written whole and renamed into place; no locks, no appends, no decision on a modification time. Two
kernels may write the same record: each writes a whole one, and the last rename wins.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from automodel_nb.errors import JobError, JobNotFoundError
from automodel_nb.job.record import JobRecord, RecordError, dump, load
from automodel_nb.paths import state_home

_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"  # none that look alike


def new_id() -> str:
    """Eight letters and digits: 10^12 possible ones, easy to read out and to type."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(8))


class JobStore:
    """The records below ``$AUTOMODEL_NB_HOME/jobs``.

    Attributes:
        skipped: after `records`, one line for each file that is not a record we can read.
    """

    def __init__(self, home: Path | None = None) -> None:
        self.directory = (home or state_home()) / "jobs"
        self.skipped: list[str] = []

    def save(self, record: JobRecord) -> None:
        """Write a record. Raises JobError where it cannot be written (full or read-only disk, another user's record)."""
        if record.uid not in (None, os.getuid()):
            raise JobError(f"the record of {record.id} belongs to another user")
        path = self._path(record.id)
        part = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(part, "x", encoding="utf-8", opener=_private) as file:
                file.write(dump(record))
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, path)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise JobError(f"cannot write the job's record: {error.strerror}: {path}") from None

    def load(self, job_id: str) -> JobRecord:
        """One record. Raises JobNotFoundError; JobError where its file cannot be read as one."""
        path = self._path(job_id)
        try:
            return self._read(path)
        except FileNotFoundError:
            raise JobNotFoundError(f"there is no job {job_id!r}; `%automodel_jobs` lists them") from None
        except (OSError, RecordError) as error:
            raise JobError(f"{path} {error}") from None

    def remove(self, job_id: str) -> None:
        """Forget a job (a launch that was refused)."""
        self._path(job_id).unlink(missing_ok=True)

    def records(self) -> list[JobRecord]:
        """Every record, newest first; see `skipped` for the files that were passed over."""
        self.skipped = []
        found = []
        for path in self._files():
            try:
                found.append(self._read(path))
            except FileNotFoundError:
                continue  # removed meanwhile
            except (OSError, RecordError) as error:
                self.skipped.append(f"{path} {error}; skipped")
        return sorted(found, key=lambda record: (record.created, record.id), reverse=True)

    def resumption_of(self, job_id: str) -> str:
        """The id of the newest job that went on from this one; empty where there is none."""
        return next((record.id for record in self.records() if record.resumed_from == job_id), "")

    def _files(self) -> Iterator[Path]:
        try:
            with os.scandir(self.directory) as entries:
                names = sorted(entry.name for entry in entries)
        except FileNotFoundError:
            return
        for name in names:
            if name.endswith(".json") and not name.startswith("."):
                yield self.directory / name

    def _read(self, path: Path) -> JobRecord:
        with open(path, encoding="utf-8", errors="replace") as file:
            record = load(file.read(), os.fstat(file.fileno()).st_uid)
        if record.id != path.stem:
            raise RecordError(f"holds the record of {record.id!r}")
        return record

    def _path(self, job_id: str) -> Path:
        if not job_id.isalnum():
            raise JobNotFoundError(f"{job_id!r} is not a job id; `%automodel_jobs` lists them")
        return self.directory / f"{job_id}.json"


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
