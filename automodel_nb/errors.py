"""What can go wrong, and how it is said.

    AutomodelError                  base; a notebook shows it as its own lines, without a traceback
    ├── LaunchError                 nothing was submitted, nothing is left behind; `.findings` says why
    │   ├── DocumentError           the text is not YAML that we read
    │   └── SubmissionError         the scheduler (or this node) refused the job
    ├── UsageError                  an option or argument that does not exist
    ├── MissingDependencyError      an optional package; the message holds the command that installs it
    └── JobError                    about a job that exists
        ├── JobNotFoundError        no record of that name
        ├── JobFailedError          a job that was waited for did not succeed
        └── UnreachableError        the scheduler or host does not answer; it changes no state

These are the user's (or the cluster's) mistakes. A bug of ours is any other exception and shows its traceback.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from automodel_nb.findings import Finding


class AutomodelError(Exception):
    """Base of all errors that a user can cause; shown in a notebook as plain lines."""

    def _render_traceback_(self) -> list[str]:
        # IPython asks an exception for this method and shows its lines in place of a traceback. IPython's own
        # UsageError would be silent for nbval (it makes no `error` output), so it is not used.
        return [f"{type(self).__name__}: {line}" if i == 0 else line for i, line in enumerate(str(self).splitlines() or [""])]


class LaunchError(AutomodelError):
    """Nothing was launched: no job, no file, no directory.

    Attributes:
        findings: why, errors first, each with its place in the document.
    """

    def __init__(self, findings: Iterable[Finding] | str) -> None:
        from automodel_nb.findings import Finding  # here, since a Finding is what an error is made of

        if isinstance(findings, str):
            findings = [Finding("launch", "error", findings)]
        self.findings: tuple[Finding, ...] = tuple(findings)
        errors = [finding for finding in self.findings if finding.severity == "error"] or list(self.findings)
        super().__init__("\n".join([*(str(finding) for finding in errors), "Nothing was launched."]))


class DocumentError(LaunchError):
    """The text is not YAML that can be read (syntax, duplicate key, size, …)."""


class SubmissionError(LaunchError):
    """The scheduler, the host or this node refused the job."""


class UsageError(AutomodelError):
    """A magic's option or argument that does not exist; the message holds what to type."""


class MissingDependencyError(AutomodelError):
    """An optional package is not installed; the message holds the command that installs it."""


class JobError(AutomodelError):
    """Base of errors about a job that exists."""


class JobNotFoundError(JobError):
    """No record of that id, name or scheduler id."""


class JobFailedError(JobError):
    """A job that was waited for ended without success."""


class UnreachableError(JobError):
    """The scheduler or the host does not answer in time. No state changes because of it."""
