"""This machine."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from automodel_nb.errors import UnreachableError
from automodel_nb.hosts.base import Completed


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


class LocalHost:
    """See `Host`."""

    name = ""

    @property
    def environ(self) -> Mapping[str, str]:
        """This process's own."""
        return os.environ

    @property
    def home(self) -> str:
        """The user's home directory."""
        return os.path.expanduser("~")

    @property
    def uid(self) -> int:
        """The user's number."""
        return os.getuid()

    def run(
        self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, stdin: str = "", timeout: float = 30
    ) -> Completed:
        """See `Host.run`."""
        return run(argv, env=env, stdin=stdin, timeout=timeout)

    def run_all(self, commands: Sequence[Sequence[str]], *, timeout: float = 30) -> list[Completed | None]:
        """See `Host.run_all`."""
        answers: list[Completed | None] = []
        for argv in commands:
            try:
                answers.append(run(argv, timeout=timeout))
            except (OSError, UnreachableError):
                answers.append(None)
                if len(answers) == 1:
                    return [None] * len(commands)
        return answers


LOCAL = LocalHost()
