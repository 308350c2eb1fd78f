"""Where commands run: this machine. Only this module starts processes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from automodel_nb.errors import UnreachableError


@dataclass(frozen=True, slots=True)
class Completed:
    """A command that ended: exit status (negative for a signal) and its output as text."""

    returncode: int
    stdout: str
    stderr: str


def run(
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    stdin: str | None = None,
    cwd: Path | str | None = None,
    timeout: float = 30,
) -> Completed:
    """Run a command to its end on this machine.

    Args:
        argv: program and arguments; no shell reads them.
        env: the whole environment; None passes this process's own.
        stdin: text for its standard input; None is an empty one.
        timeout: seconds until it is killed.

    Raises:
        UnreachableError: it did not end in time.
        FileNotFoundError: there is no such program.
    """
    try:
        done = subprocess.run(
            list(argv),
            env=None if env is None else dict(env),
            input=stdin or "",
            cwd=cwd,
            timeout=timeout,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
            # out of the notebook's process group: the stop button must not reach a sbatch half way
            start_new_session=True,
        )
    except subprocess.TimeoutExpired:
        raise UnreachableError(f"`{Path(argv[0]).name}` did not answer within {timeout:g} s") from None
    return Completed(done.returncode, done.stdout, done.stderr)


def hostname() -> str:
    """This machine's name, as records keep it."""
    return os.uname().nodename
