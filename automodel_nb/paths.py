"""The one place that knows file names: of the state directory, and of a job's own directory."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


def state_home() -> Path:
    """``$AUTOMODEL_NB_HOME``, else ``~/.automodel_nb``. Not created here."""
    return Path(os.environ.get("AUTOMODEL_NB_HOME") or "~/.automodel_nb").expanduser()


def from_home(text: str, home: str) -> str:
    """A path whose ``~`` is filled in: of a user's home directory anywhere."""
    return home + text[1:] if text == "~" or text.startswith("~/") else text


def directory_name(job: str) -> str:
    """A job's name as the first part of its directory's name: no slash, and short enough for what follows it."""
    return job.replace("/", "-").encode()[:180].decode("utf-8", "ignore")


def copies(job_id: str) -> Path:
    """Where copies lie of what a job wrote on its login node: its log, and the marks of its attempts."""
    return state_home() / "remote" / job_id


@dataclass(frozen=True, slots=True)
class JobPaths:
    """Names inside one job's directory (created 0700 by the launcher)."""

    root: Path

    @property
    def recipe(self) -> Path:
        """What AutoModel reads: the user's text, less the launcher section."""
        return self.root / "recipe.yaml"

    @property
    def script(self) -> Path:
        """What runs on this node (interactive)."""
        return self.root / "launch.sh"

    @property
    def sbatch(self) -> Path:
        """What sbatch was given."""
        return self.root / "launch.sbatch"

    @property
    def log(self) -> Path:
        """Standard output and error of the job, whole; appended to by every attempt."""
        return self.root / "output.log"

    def task_logs(self) -> dict[int, Path]:
        """The logs of an array's tasks that have begun, by task."""
        found = {int(path.stem.removeprefix("output.task")): path for path in self.root.glob("output.task[0-9]*.log")}
        return dict(sorted(found.items()))

    @property
    def checkpoints(self) -> Path:
        """AutoModel's checkpoint_dir where the recipe names none."""
        return self.root / "checkpoints"

    @property
    def chain(self) -> Path:
        """Slurm's ids of the jobs that follow the first of a chain, one a line."""
        return self.root / "chain"

    @property
    def supervisor(self) -> Path:
        """JSON: pid, start time and boot id of the process that watches over an interactive job."""
        return self.root / "supervisor.json"

    def exit_code(self, attempt: int = 0, task: int | None = None) -> Path:
        """One file for each attempt and array task: ``exit_code``, ``exit_code.1``, ``exit_code.task3.1``."""
        return self._mark("exit_code", attempt, task)

    def started(self, attempt: int = 0, task: int | None = None) -> Path:
        """Left by each attempt of a Slurm job when it begins, so that no older attempt's exit code is taken for its own."""
        return self._mark("started", attempt, task)

    def last_attempt(self, task: int | None = None) -> int:
        """The number of the last attempt that began; 0 for the first, and where none has begun."""
        attempt = 0
        while self.started(attempt + 1, task).exists():
            attempt += 1
        return attempt

    def _mark(self, name: str, attempt: int, task: int | None) -> Path:
        parts = [name, *([f"task{task}"] if task is not None else []), *([str(attempt)] if attempt else [])]
        return self.root / ".".join(parts)
