"""What a host can do, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol


@dataclass(frozen=True, slots=True)
class Completed:
    """A command that ended: exit status (negative for a signal) and its output as text."""

    returncode: int
    stdout: str
    stderr: str


class Piece(NamedTuple):
    """A part of a file: its bytes, the size of the whole, and what tells one file from the next of that name."""

    data: bytes
    size: int
    identity: object


class Host(Protocol):
    """A machine that the user can run commands on."""

    @property
    def name(self) -> str:
        """The name that ssh knows it by; empty for this machine."""

    @property
    def environ(self) -> Mapping[str, str]:
        """The environment that a login there has; of a remote one, less what is secret by its name."""

    @property
    def home(self) -> str:
        """What `~` means there."""

    @property
    def uid(self) -> int:
        """The user's number there, which is the one that its Slurm knows."""

    def run(
        self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, stdin: str = "", timeout: float = 30
    ) -> Completed:
        """Run a command to its end.

        Args:
            argv: program and arguments; no shell reads them.
            env: the whole environment; None is that of a login.
            stdin: text for its standard input.
            timeout: seconds until it is given up.

        Raises:
            UnreachableError: it, or the host, did not answer in time.
            FileNotFoundError: there is no such program.
        """

    def run_all(self, commands: Sequence[Sequence[str]], *, timeout: float = 30) -> list[Completed | None]:
        """Run several commands in the environment of a login, in one trip; None for each that was not there, or too slow.

        On this machine the others are not asked where the first does not answer.

        Args:
            commands: programs and arguments.
            timeout: seconds for each.

        Raises:
            UnreachableError: the host does not answer.
        """
