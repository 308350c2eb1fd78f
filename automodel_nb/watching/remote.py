"""A log on a login node, with a copy here: each byte travels once, whoever reads and however often.

The copy lies below the state directory, so that a notebook that comes back (or has no network) goes on from what it has.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from functools import cache
from pathlib import Path

from automodel_nb import hosts
from automodel_nb.errors import UnreachableError
from automodel_nb.hosts import Piece
from automodel_nb.watching.logfile import CHUNK

_PROOF = 64  # bytes before the end of the copy that are fetched again, to see that it still is a copy
_FASTEST, _SLOWEST = 0.4, 2.0  # seconds between two looks, while the log grows and while it does not


@cache
def remote_log(host: str, path: str, copy: Path) -> RemoteLog:
    """The log of that path, the same object for all who read it."""
    return RemoteLog(host, path, copy)


def look_anew(log: object) -> None:
    """Have the next read ask the host, where the log is on one: what a job wrote before its end is then seen."""
    if isinstance(log, RemoteLog):
        log.poke()


class RemoteLog:
    """See `watching.logfile.Source`.

    Args:
        host: name of the login node.
        path: absolute, there.
        copy: where its copy lies here.

    Attributes:
        silent: why the host did not answer at the last look; empty where it did.
    """

    def __init__(self, host: str, path: str, copy: Path) -> None:
        self.host, self.path, self.copy = host, path, copy
        self.silent = ""
        self._lock = threading.Lock()
        self._size = 0  # of the log, as last seen
        self._generation = 0
        self._shrunk = False
        self._patient = True
        self._next_look, self._pause = 0.0, _FASTEST

    def __str__(self) -> str:
        return self.path

    def poke(self) -> None:
        """See `look_anew`; the next read waits for a connection."""
        self._next_look, self._patient = 0.0, True

    def read(self, offset: int, limit: int) -> Piece | None:
        """See Source. While the host does not answer, what is here."""
        with self._lock:
            if time.monotonic() >= self._next_look:
                self._look()
            while (have := self._have()) is not None and have < min(self._size, offset + limit) and not self.silent:
                if offset - have > CHUNK:  # somebody wants the end of a long log
                    return self._directly(offset, limit)
                self._fetch(have)
                if self._have() == have:
                    break
            if have is None:
                return None
            data = b""
            if limit and have > offset:
                with open(self.copy, "rb") as file:
                    data = os.pread(file.fileno(), limit, offset)
            return Piece(data, max(self._size, have), self._generation)

    def _look(self) -> None:
        before, generation = self._have() or 0, self._generation
        self._fetch(before)
        grew = self._generation != generation or (self._have() or 0) > before
        self._pause = _FASTEST if grew else min(_SLOWEST, self._pause * 1.5)
        self._next_look = time.monotonic() + self._pause

    def _fetch(self, have: int) -> None:
        """Up to a chunk more of the log, behind what the copy has."""
        start = max(0, have - _PROOF)
        piece = self._ask(start, CHUNK)
        if piece is None:
            return
        if piece.size < have and not self._shrunk:
            self._shrunk = True  # a size can be out of date on a shared file system: believed at the second look
            return
        self._shrunk = False
        if have and piece.data[: have - start] != self._end(start):
            self._begin_anew()
            have, start = 0, 0
            piece = self._ask(0, CHUNK) or piece
        self._size = piece.size
        self._append(have, piece.data[have - start :])

    def _ask(self, offset: int, limit: int) -> Piece | None:
        """A piece from the host; None where it does not answer, or has no such file."""
        try:
            host = hosts.host(self.host)
            if not isinstance(host, hosts.SshHost):
                raise UnreachableError(f"{self.host} is this machine")
            if self._patient:
                host.hurry()
            elif not host.ready("files"):  # nobody who looks on waits for a new connection
                raise UnreachableError(host.silent or f"connecting to {self.host}")
            piece = host.read(self.path, offset, limit)
        except UnreachableError as error:
            self.silent = str(error)
            return None
        finally:
            self._patient = False
        self.silent = ""
        return piece

    def _directly(self, offset: int, limit: int) -> Piece | None:
        piece = self._ask(offset, limit)
        return Piece(b"" if piece is None else piece.data, self._size, self._generation)

    def _have(self) -> int | None:
        """Bytes in the copy; None where there is none."""
        try:
            return self.copy.stat().st_size
        except FileNotFoundError:
            return None

    def _end(self, start: int) -> bytes:
        with open(self.copy, "rb") as file:
            return os.pread(file.fileno(), _PROOF, start)

    def _append(self, at: int, data: bytes) -> None:
        """Write what was fetched. Two notebooks that do so at the same time write the same bytes to the same place."""
        self.copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(self.copy, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if os.fstat(fd).st_size >= at:
                os.pwrite(fd, data, at)
        finally:
            os.close(fd)

    def _begin_anew(self) -> None:
        """The log is another one: so is the copy, for whoever still writes to the old one."""
        self._generation += 1
        part = self.copy.with_name(f".{self.copy.name}.{secrets.token_hex(4)}")
        part.touch(mode=0o600)
        os.replace(part, self.copy)
