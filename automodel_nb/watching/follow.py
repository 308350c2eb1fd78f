"""Following logs: all lines, the last lines, lines as they come, several files in order."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping

from automodel_nb.hosts import Piece
from automodel_nb.watching.logfile import CHUNK, MAX_LINE, FileSource, Line, LineSplitter, LogFile, Reset, Source

__all__ = [
    "CHUNK",
    "MAX_LINE",
    "FileSource",
    "Line",
    "LineSplitter",
    "LogFile",
    "LogSet",
    "Piece",
    "Reset",
    "Source",
    "end_of",
    "follow",
    "lines",
    "tail",
]

_TAIL_BLOCK = 1 << 16


def lines(source: str | os.PathLike[str] | Source, offset: int = 0) -> Iterator[Line]:
    """All lines that are there now, an unfinished last one included. Reads a chunk at a time."""
    log, splitter = LogFile(source, offset), LineSplitter(offset)
    while data := log.fetch():
        yield from splitter.feed(data)
    yield from splitter.flush()


def tail(source: str | os.PathLike[str] | Source, count: int) -> list[Line]:
    """The last ``count`` physical lines, read from the end; with the offsets to follow on from.

    An unfinished last line counts and has ``ended=False``: to follow a log that still grows, go on from the offset of the
    last line that has ended.
    """
    source = source if not isinstance(source, str | os.PathLike) else FileSource(source)
    piece = source.read(0, 0)
    if piece is None or count <= 0:
        return []
    start, data = piece.size, b""
    while start and data[:-1].count(b"\n") < count:
        at = max(0, start - max(_TAIL_BLOCK, len(data)))  # doubles, so that long lines do not make it quadratic
        block = source.read(at, start - at)
        if block is None or len(block.data) < start - at:
            return []  # cut while we looked: the next look tells
        start, data = at, block.data + data
    if start:  # the first line is half a line, unless the block began behind a newline
        skip = data.index(b"\n") + 1
        start, data = start + skip, data[skip:]
    splitter = LineSplitter(start)
    return [*splitter.feed(data), *splitter.flush()][-count:]


def end_of(source: str | os.PathLike[str] | Source, count: int) -> bytes:
    """The last ``count`` bytes, fewer where there are no more (or they are no longer there)."""
    source = source if not isinstance(source, str | os.PathLike) else FileSource(source)
    piece = source.read(0, 0)
    last = source.read(max(0, piece.size - count), count) if piece else None
    return last.data if last else b""


def follow(
    log: LogFile,
    ended: Callable[[], bool],
    wait: Callable[[], object] = lambda: time.sleep(0.5),
) -> Iterator[Line]:
    """Lines as they come, until ``ended()`` and nothing is left; then an unfinished last line too.

    Args:
        log: read by nobody else.
        ended: asked *before* each look, so that what the job wrote right before its end is not missed.
        wait: called where there was nothing new.
    """
    while True:
        last_look = ended()
        new = log.read()
        yield from new
        if not new and not log.more:
            if last_look:
                yield from log.flush()
                return
            wait()


class LogSet:
    """Several logs in order: attempts, ranks, array tasks.

    Each look reads the files in the order in which they were added, each to its end, so that a finished attempt comes
    whole before the next one.
    """

    def __init__(
        self, sources: Mapping[str, str | os.PathLike[str] | Source], offsets: Mapping[str, int] | None = None
    ) -> None:
        self.logs: dict[str, LogFile] = {}
        for label, source in sources.items():
            self.add(label, source, (offsets or {}).get(label, 0))

    def add(self, label: str, source: str | os.PathLike[str] | Source, offset: int = 0) -> None:
        """One more log, behind the others; one that is there already is left as it is."""
        self.logs.setdefault(label, LogFile(source, offset))

    @property
    def offsets(self) -> dict[str, int]:
        """Where each log is resumed."""
        return {label: log.offset for label, log in self.logs.items()}

    def read(self) -> Iterator[tuple[str, Line]]:
        """The lines that are new, with the label of their log."""
        for label, log in self.logs.items():
            yield from ((label, line) for line in log.read())
            while log.more:
                yield from ((label, line) for line in log.read())

    def flush(self) -> Iterator[tuple[str, Line]]:
        """All that is left, unfinished last lines included."""
        for label, log in self.logs.items():
            yield from ((label, line) for line in log.flush())
