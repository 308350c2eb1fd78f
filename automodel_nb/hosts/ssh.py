"""A login node by ssh: one connection, two shells in it (one for commands, one that reads files), few trips."""

from __future__ import annotations

import contextlib
import os
import shlex
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from automodel_nb.errors import UnreachableError
from automodel_nb.hosts.base import Completed, Piece
from automodel_nb.hosts.channel import Answer, Channel, ChannelError, command_line
from automodel_nb.hosts.connection import check_name, control_path, is_this_machine, problem, ssh_argv

Role = Literal["commands", "files"]
_CONNECT = 30.0  # seconds for a connection, proxies and the start-up files of the shell included
_PAUSES = (5.0, 10.0, 20.0, 40.0, 60.0)  # seconds between two tries at a host that does not answer
_WHO = r"""printf '\nlogin\0%s\0%s\0%s\0%s\0' "$(uname -n)" "$(id -u)" "$(id -un)" "$HOME"
env -0 2>/dev/null || env | tr '\n' '\0'"""


class BrokenOff(UnreachableError):
    """The connection ended, or was too slow, while a request was under way: whether it was carried out is not known."""


@dataclass(frozen=True)
class Login:
    """What a login on a host has.

    Attributes:
        node: the name of the machine that answered (there may be several behind one name).
        uid, user, home: who we are there.
        environ: its environment, less what is secret by its name.
    """

    node: str
    uid: int
    user: str
    home: str
    environ: Mapping[str, str]


class SshHost:
    """See `Host`. Threads may share it.

    Attributes:
        round_trips: requests so far, those that made the connections not counted.
        process: the process it belongs to.
        sharing: False once it is known that each shell needs a connection of its own.
    """

    def __init__(self, name: str) -> None:
        check_name(name)
        self.name = name
        self.process = os.getpid()
        self.round_trips = 0
        self.sharing = True
        self._channels: dict[Role, Channel] = {}
        self._locks: dict[Role, threading.Lock] = {"commands": threading.Lock(), "files": threading.Lock()}
        self._connecting = threading.Lock()
        self._login: Login | None = None
        self._refused = ""
        self._failed = ""
        self._failures = 0
        self._next_try = 0.0

    @cached_property
    def is_here(self) -> bool:
        """Whether it is this very machine."""
        return is_this_machine(self.name)

    @property
    def login(self) -> Login:
        """Who we are there; connects where that is not known yet. Raises UnreachableError."""
        if self._login is None:
            with self._locks["commands"]:
                self._channel("commands")
        assert self._login is not None
        return self._login

    @property
    def environ(self) -> Mapping[str, str]:
        """See `Host.environ`."""
        return self.login.environ

    @property
    def home(self) -> str:
        """See `Host.home`."""
        return self.login.home

    @property
    def uid(self) -> int:
        """See `Host.uid`."""
        return self.login.uid

    def run(
        self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, stdin: str = "", timeout: float = 30
    ) -> Completed:
        """See `Host.run`."""
        answer = self.sh(command(argv, env, stdin), timeout=timeout)
        if answer.returncode == 127:
            raise FileNotFoundError(2, f"there is no such program on {self.name}", argv[0])
        return _completed(answer)

    def run_all(self, commands: Sequence[Sequence[str]], *, timeout: float = 30) -> list[Completed | None]:
        """See `Host.run_all`."""
        lines = [f"t=; command -v timeout >/dev/null && t='timeout {timeout:g}'"]
        lines += [f"$t {shlex.join(argv)} </dev/null 2>/dev/null; printf '\\0%s\\0' \"$?\"" for argv in commands]
        words = self.sh("\n".join(lines), timeout=timeout * len(commands) + 5).stdout.split(b"\0")
        pairs = [(words[at].decode("utf-8", "replace"), int(words[at + 1])) for at in range(0, len(words) - 1, 2)]
        return [Completed(code, text, "") if code not in (124, 127) else None for text, code in pairs]

    def sh(self, script: str, *, timeout: float = 30, role: Role = "commands") -> Answer:
        """Run a text for `sh` in the environment of a login, without input.

        Raises:
            BrokenOff: the connection ended meanwhile; where the script changes something, whether it did is not known.
            UnreachableError: there is no connection.
        """
        with self._locks[role]:
            channel = self._channel(role)
            self.round_trips += 1
            try:
                return channel.request(script, timeout)
            except ChannelError as error:
                self._channels.pop(role, None)
                raise BrokenOff(str(self._unreachable(error))) from None
            except BaseException:
                self._channels.pop(role, None)
                raise

    def read(self, path: str, offset: int, limit: int) -> Piece | None:
        """A part of a file, by the shell that reads files; None where there is no such file. Raises UnreachableError."""
        name = shlex.quote(path)
        script = f"s=$(wc -c <{name}) || exit 2\necho $s\n" + (
            f'[ "$s" -le {offset} ] || tail -c +{offset + 1} {name} | head -c {limit}' if limit else ""
        )
        try:
            answer = self.sh(f"[ -f {name} ] || exit 3\n{script}", role="files")
        except UnreachableError:
            if self._channels.get("commands") is None:
                raise  # else: only one shell is let in, and it reads files as well
            answer = self.sh(f"[ -f {name} ] || exit 3\n{script}")
        if answer.returncode in (2, 3):
            return None
        size, _, data = answer.stdout.partition(b"\n")
        return Piece(data, max(int(size), offset + len(data)) if data else int(size), None)

    @property
    def silent(self) -> str:
        """Why there is no connection; empty where there is one, or none was needed yet."""
        return self._refused or self._failed

    def ready(self, role: Role) -> bool:
        """Whether a request would find a shell; where it would not, one is started by a thread that nobody waits for."""
        channel = self._channels.get(role)
        if channel and channel.alive:
            return True
        with contextlib.suppress(UnreachableError):
            self._may_try()
            if not self._locks[role].locked():
                threading.Thread(target=self._prepare, args=(role,), name=f"ssh {self.name}", daemon=True).start()
        return False

    def _prepare(self, role: Role) -> None:
        with contextlib.suppress(UnreachableError), self._locks[role]:
            self._channel(role)

    def again(self) -> None:
        """See `hosts.again`."""
        self._refused = ""
        self._failures, self._next_try = 0, 0.0

    def hurry(self) -> None:
        """Do not wait before the next try at a host that did not answer."""
        self._next_try = 0.0

    def close(self) -> None:
        """End the shells; the shared connection ends by itself after a while without use."""
        for role in list(self._channels):
            with self._locks[role]:
                if channel := self._channels.pop(role, None):
                    channel.close()

    def _channel(self, role: Role) -> Channel:
        """The living shell for a role, or a new one. The caller holds the role's lock."""
        channel = self._channels.get(role)
        if channel and channel.alive:
            return channel
        if channel:
            channel.close()
            del self._channels[role]
        with self._connecting:  # one connection at a time: the second shell finds the first one's
            self._may_try()
            try:
                channel = Channel(ssh_argv(self.name, command_line()))
            except FileNotFoundError:
                raise UnreachableError("there is no `ssh` on this machine (OpenSSH's client)") from None
            try:
                answer = channel.request(_WHO, _CONNECT)
            except ChannelError as error:
                raise self._unreachable(error) from None
            self._login = _login(answer)
            self._failed, self._failures, self._next_try = "", 0, 0.0
            self._channels[role] = channel
            self.sharing = os.path.exists(control_path(self.name)) and "mux_client_request_session" not in answer.stderr
        return channel

    def _may_try(self) -> None:
        if self._refused and not os.path.exists(control_path(self.name)):
            raise UnreachableError(self._refused)
        if time.monotonic() < self._next_try:
            raise UnreachableError(self._failed)

    def _unreachable(self, error: ChannelError) -> UnreachableError:
        """Note a failure, so that nobody runs against a closed door."""
        what = problem(self.name, error.stderr, error.returncode)
        self._refused = what.message if what.refused else ""
        self._failed = what.message
        self._next_try = time.monotonic() + _PAUSES[min(self._failures, len(_PAUSES) - 1)]
        self._failures += 1
        return UnreachableError(what.message)


def command(argv: Sequence[str], env: Mapping[str, str] | None, stdin: str = "") -> str:
    """A command as text for `sh`.

    With an environment, every value is handed to a second shell through a pipe by a builtin: neither `env NAME=value` nor
    any other argument list holds it.
    """
    words = shlex.join(argv)
    given = f"printf %s {shlex.quote(stdin)} | " if stdin else "exec "
    if env is None:
        return f"{given}{words}"
    exports = "\n".join(f"export {name}={shlex.quote(value)}" for name, value in env.items())
    program = shlex.quote(argv[0])
    # looked for on the login's PATH: the one in `env` may be meant for other machines
    inner = shlex.quote(f'{exports}\n{given}"$1" {shlex.join(argv[1:])}')
    return (
        f"p=$(command -v {program}) || {{ echo {program}: not found >&2; exit 127; }}\n"
        f'printf %s {inner} | env -i /bin/sh -c \'eval "$(cat)"\' sh "$p"'
    )


def _login(answer: Answer) -> Login:
    from automodel_nb.interpolation import looks_secret

    words = answer.stdout.rpartition(b"\nlogin\0")[2].decode("utf-8", "surrogateescape").split("\0")
    node, uid, user, home, *rest = words
    pairs = (word.partition("=") for word in rest)
    environ = {name: value for name, equals, value in pairs if equals and name.isidentifier() and not looks_secret(name)}
    return Login(node, int(uid), user, home, environ)


def _completed(answer: Answer) -> Completed:
    return Completed(answer.returncode, answer.stdout.decode("utf-8", "replace"), answer.stderr)
