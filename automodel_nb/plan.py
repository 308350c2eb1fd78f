"""A plan: everything that a launch would do, as plain data. A preview is a trip that stopped here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from automodel_nb.findings import Finding
from automodel_nb.interpolation import EnvTemplate

Method = Literal["interactive", "slurm", "skypilot"]
METHODS: tuple[Method, ...] = ("interactive", "slurm", "skypilot")

#: What stands in a preview where the launch puts a path of its own.
JOB_DIR_PLACEHOLDER = "<job directory>"


@dataclass(frozen=True, slots=True)
class SetAtStart:
    """An environment value that is known only when the job starts; prints as what it will be."""

    what: str

    def __str__(self) -> str:
        return f"<set at start: {self.what}>"

    __repr__ = __str__


#: A value of the job's environment: text, a template that keeps a secret's name, or one that is set at the start.
EnvironmentValue = str | EnvTemplate | SetAtStart


class Config(Protocol):
    """What every launcher section has in common (see ``configs.LauncherConfig``)."""

    job_name: str | None
    job_dir: str


@dataclass(frozen=True)
class Request:
    """What the user asked for: enough to make the same plan again, tomorrow, in another kernel.

    Attributes:
        text: the cell's text, with ``{{ name }}`` filled in; empty where only a file was given.
        file: absolute path of ``-c FILE``; None without one.
        file_text: that file's text at the time of the launch.
        method: the method that was chosen (never None in a plan).
        overrides: dotted path to text, as given by ``--set``.
        profile, host, name: as given.
        cwd: absolute working directory of the notebook.
    """

    text: str
    file: str | None = None
    file_text: str | None = None
    method: str | None = None
    overrides: Mapping[str, str] = field(default_factory=dict)
    profile: str | None = None
    host: str | None = None
    name: str | None = None
    ignore: tuple[str, ...] = ()
    cwd: str = ""


@dataclass(frozen=True)
class Plan:
    """What would be launched. Made by ``automodel_nb.preview``; nothing in it has happened.

    Attributes:
        method: ``interactive``, ``slurm`` or ``skypilot``.
        name: the job's name.
        command: the training command line, as a shell reads it; ``$AUTOMODEL_JOB_DIR`` is the job's own directory.
        submit: the command that would be run to submit it; the job's own directory stands as a placeholder.
        files: name to text, byte for byte what will be written into the job's directory.
        environment: the job's whole environment; a secret or a set-at-start value is an object that prints as such.
        findings: errors first; a launch is refused while there is an error.
        yaml: the document's text, as typed.
        diff: unified diff of the edits made to the recipe text; empty where there are none.
        config: the typed launcher section.
        request: what this plan was made from.
        job_dir: parent directory of the job's own directory.
        chdir: working directory of the training, absolute: what relative paths in the recipe mean.
        recipe_checkpoint_dir: the recipe's own ``checkpoint.checkpoint_dir``; None where the launcher passes one.
        host: the login node that it is submitted from, by ssh; `job_dir` and `chdir` are paths there. Empty for this machine.
        preemption_signal: the signal on which the training saves and stops (``SIGTERM``).
        origins: the file (and named profile) of each launcher value that comes out of a profile, by dotted path.
    """

    method: Method
    name: str
    command: str
    submit: Sequence[str]
    files: Mapping[str, str]
    environment: Mapping[str, EnvironmentValue]
    findings: tuple[Finding, ...]
    yaml: str
    config: Config
    request: Request
    job_dir: Path
    chdir: str
    diff: str = ""
    recipe_checkpoint_dir: str | None = None
    preemption_signal: str = "SIGTERM"
    host: str = ""
    origins: Mapping[str, str] = field(default_factory=dict)

    @property
    def view(self) -> Mapping[str, object]:
        """The arguments of `views.preview_html` and `views.preview_text`."""
        names = ("files", "command", "submit", "environment", "findings", "diff")
        return {name: getattr(self, name) for name in names}

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that stop a launch."""
        return tuple(finding for finding in self.findings if finding.severity == "error")
