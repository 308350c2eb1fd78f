"""What a launch method must be able to do, and the data that passes between it and the jobs room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from automodel_nb.paths import JobPaths
from automodel_nb.plan import Plan
from automodel_nb.states import Observation
from automodel_nb.watching.remote import RemoteLog, remote_log

#: The ladder of stopping: save a checkpoint and stop; interrupt; kill.
Stop = Literal["save", "interrupt", "kill"]


@dataclass(frozen=True, slots=True)
class Submission:
    """What a launcher must remember of a job, to find it again from another kernel. JSON types only, no secret.

    Attributes:
        scheduler_id: Slurm's job id, SkyPilot's job id; the supervisor's pid for an interactive job.
        cluster: Slurm's or SkyPilot's cluster name, empty where there is one only.
        host: the login node that was reached by ssh, by the name that ssh knows; the machine an interactive job runs on.
        message: what the scheduler said that the user should see (site messages), masked.
        extra: anything else the launcher needs (request id, boot id, …).
    """

    scheduler_id: str
    cluster: str = ""
    host: str = ""
    message: str = ""
    extra: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JobRef:
    """A job as a launcher sees it: its submission and its directory.

    Attributes:
        remote: the login node by which it is asked about, over ssh; empty where its directory is this machine's too.
        copies: where copies of its marks are kept here, for a job with a login node.
    """

    id: str
    directory: Path
    submission: Submission
    created: float
    name: str = ""
    remote: str = ""
    copies: Path | None = None

    @property
    def paths(self) -> JobPaths:
        """File names inside the job's directory, where the job is."""
        return JobPaths(self.directory)

    @property
    def here(self) -> JobPaths:
        """The same names where this process can read what the job left: its directory, or the copies of it."""
        return JobPaths(self.copies or self.directory)

    @property
    def log(self) -> Path | RemoteLog:
        """Its log, to be read by offset."""
        return remote_log(self.remote, str(self.paths.log), self.here.log) if self.remote else self.here.log


class Launcher(Protocol):
    """One launch method.

    A launcher keeps nothing between calls: what it must remember is in the Submission.
    """

    method: str

    def submit(self, plan: Plan, directory: Path, job_id: str, environ: Mapping[str, str]) -> Submission:
        """Start the job whose files lie in `directory` (made, 0700, with `plan.files` written).

        Args:
            plan: what to start.
            directory: the job's own directory, absolute.
            job_id: the record's id, unique; usable as a scheduler's comment or name to find the job again.
            environ: the environment that `${VAR}` takes its values from (this process's).

        Raises:
            SubmissionError: refused; nothing runs. The caller removes the directory.
        """
        ...

    def poll(self, jobs: Sequence[JobRef]) -> Mapping[str, Observation]:
        """One question to the scheduler for all `jobs` (by id). A job that it has forgotten is absent from the answer.

        Raises:
            UnreachableError: it does not answer; no state changes.
        """
        ...

    def stop(self, job: JobRef, how: Stop) -> None:
        """Ask a job to stop.

        Raises:
            JobError: it cannot be asked from here; the message says from where.
            UnreachableError: the scheduler does not answer.
        """
        ...


def resolve(environment: Mapping[str, object], environ: Mapping[str, str], at_start: Mapping[str, str]) -> dict[str, str]:
    """The job's environment with every value filled in, for the process that starts it. Never stored or shown.

    Args:
        environment: `Plan.environment`.
        environ: where `${VAR}` takes its value from.
        at_start: values of the set-at-start names; a set-at-start name without one is left out.
    """
    from automodel_nb.interpolation import EnvTemplate
    from automodel_nb.plan import SetAtStart

    values: dict[str, str] = {}
    for name, value in environment.items():
        if isinstance(value, EnvTemplate):
            values[name] = value.resolve(environ)
        elif isinstance(value, SetAtStart):
            if name in at_start:
                values[name] = at_start[name]
        else:
            values[name] = str(value)
    return values
