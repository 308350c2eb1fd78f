"""A log on disk, read by offset.

Written for shared file systems: no inotify (it does not see what other nodes write), no decision on times of change, the
file opened anew at each look (attributes are cached for as long as it is open).

Offsets are bytes. The offset that comes with a line is the one *behind* it, newline included: to go on after a line, in
another kernel or tomorrow, start at its offset.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from automodel_nb.hosts import Piece

#: Bytes fetched at a time.
CHUNK = 1 << 20
#: A physical line longer than this is handed out in pieces: a bar that is redrawn for hours has no newline.
MAX_LINE = 1 << 20
_PROOF = 32  # bytes before the offset that are read again, to see that they are still the same


class Line(NamedTuple):
    r"""One physical line.

    Attributes:
        offset: of the byte behind it.
        text: without its newline; bytes that are not UTF-8 show as ``\xff``. Carriage returns and colours are in it.
        ended: False where its newline is not in it: the last line of a finished file, or a piece of a line over MAX_LINE.
    """

    offset: int
    text: str
    ended: bool = True


class Source(Protocol):
    """Where bytes come from; one call is one trip (a remote reader needs no other)."""

    def read(self, offset: int, limit: int) -> Piece | None:
        """Up to ``limit`` bytes from ``offset``; None where there is no such file (yet)."""


class FileSource:
    """A file of this machine, opened anew for each read."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def read(self, offset: int, limit: int) -> Piece | None:
        """See Source. A stale handle (NFS: replaced on another node) counts as no file at this look."""
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno == errno.ESTALE:
                return None
            raise
        try:
            stat = os.fstat(fd)
            parts, at = [], offset
            while at - offset < limit and (data := os.pread(fd, limit - (at - offset), at)):
                parts.append(data)
                at += len(data)
        except OSError as error:
            if error.errno == errno.ESTALE:
                return None
            raise
        finally:
            os.close(fd)
        return Piece(b"".join(parts), max(stat.st_size, at if parts else 0), (stat.st_dev, stat.st_ino))


class Reset(NamedTuple):
    """The file began anew; what was not read of the old one is gone."""

    reason: Literal["truncated", "replaced"]
    offset: int


class LineSplitter:
    """Bytes in, physical lines out; how the bytes were cut does not matter. Holds at most MAX_LINE bytes and one chunk."""

    def __init__(self, offset: int = 0) -> None:
        self.offset = offset  # behind the last line handed out
        self._parts: list[bytes] = []
        self._held = 0

    def feed(self, data: bytes) -> list[Line]:
        """The lines that these bytes complete."""
        lines: list[Line] = []
        head, newline, rest = data.partition(b"\n")
        self._parts.append(head)
        self._held += len(head)
        if newline:
            self._end(b"".join(self._parts), lines)
            *whole, last = rest.split(b"\n")
            for raw in whole:
                self._end(raw, lines)
            self._parts, self._held = [last], len(last)
        if self._held > MAX_LINE:
            left = self._cut(b"".join(self._parts), lines)
            self._parts, self._held = [left], len(left)
        return lines

    def flush(self) -> list[Line]:
        """What is left without a newline, as a line; for a file that nobody writes any more."""
        raw, self._parts, self._held = b"".join(self._parts), [], 0
        return [self._line(raw, ended=False)] if raw else []

    def _end(self, raw: bytes, lines: list[Line]) -> None:
        if len(raw) > MAX_LINE:
            raw = self._cut(raw, lines)
        self.offset += 1
        lines.append(self._line(raw))

    def _cut(self, raw: bytes, lines: list[Line]) -> bytes:
        """Hand out pieces (behind the last carriage return, else behind a whole character) until the rest is short enough."""
        while len(raw) > MAX_LINE:
            at = raw.rfind(b"\r", 0, MAX_LINE) + 1
            if not at:
                at = MAX_LINE
                while at > MAX_LINE - 4 and raw[at] & 0xC0 == 0x80:
                    at -= 1
            lines.append(self._line(raw[:at], ended=False))
            raw = raw[at:]
        return raw

    def _line(self, raw: bytes, ended: bool = True) -> Line:
        self.offset += len(raw)
        return Line(self.offset, raw.decode("utf-8", "backslashreplace"), ended)


class LogFile:
    """One log, from an offset on. Each byte is handed out once.

    Attributes:
        reset: what happened to the file before the bytes of the last look, which are then its first; None (nearly always)
            where it only grew.
        more: True where the last look found bytes, so that another look at once may find more.
    """

    def __init__(self, source: str | os.PathLike[str] | Source, offset: int = 0) -> None:
        self._source: Source = FileSource(source) if isinstance(source, str | os.PathLike) else source
        self._fetched = offset
        self._proof = b""
        self._identity: object = None
        self._shrunk = False
        self._splitter = LineSplitter(offset)
        self.reset: Reset | None = None
        self._began: Reset | None = None  # a new file of which no byte has been handed out yet
        self.more = False

    @property
    def offset(self) -> int:
        """Behind the last line handed out: where another follower goes on."""
        return self._splitter.offset

    def read(self, limit: int = CHUNK) -> list[Line]:
        """The whole lines that are new, out of at most ``limit`` further bytes; an unfinished last line waits.

        Where ``reset`` is set after the call, the lines are the first of the new content.
        """
        data = self.fetch(limit)
        return self._splitter.feed(data) if data else []

    def fetch(self, limit: int = CHUNK) -> bytes:
        """The next bytes, for a reader that wants no lines (LogParser); do not mix with ``read`` on one LogFile."""
        self.reset, self.more = None, False
        before = len(self._proof)
        piece = self._source.read(self._fetched - before, limit + before)
        if piece is None:
            return b""
        reason = self._changed(piece)
        if piece.size < self._fetched and reason == "truncated" and not self._shrunk:
            self._shrunk = True  # a size can be out of date on a shared file system: believed at the second look
            return b""
        self._shrunk = False
        if reason:
            self._began = self._began or Reset(reason, self.offset)
            self._fetched, self._proof, before = 0, b"", 0
            self._splitter = LineSplitter()
            piece = self._source.read(0, limit)
            if piece is None:
                return b""
        self._identity = piece.identity
        data = piece.data[before:]
        if data:
            self.reset, self._began = self._began, None
        self._fetched += len(data)
        self.more = bool(data)
        self._proof = (self._proof + data[-_PROOF:])[-_PROOF:]
        return data

    def flush(self) -> list[Line]:
        """All that is left, an unfinished last line included. For a log that nobody writes any more."""
        lines = self.read()
        while self.more:
            lines += self.read()
        return lines + self._splitter.flush()

    def _changed(self, piece: Piece) -> Literal["truncated", "replaced"] | None:
        if self._identity is not None and piece.identity != self._identity:
            return "replaced"
        if piece.size < self._fetched:
            return "truncated"
        # Cut to nothing and already longer than before: only the content tells.
        return None if piece.data.startswith(self._proof) else "truncated"
