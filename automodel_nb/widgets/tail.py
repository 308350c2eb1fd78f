"""What of a growing log goes to a browser: its newest lines, numbered and coloured. All others are counted, not read.

A browser stalls on what nobody can read: at most CAP lines go out at a look, however many were written since the last one.
Lines are the log's physical ones (what stands between two newlines), so that the count of those that were left out is exact.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from automodel_nb.views import words
from automodel_nb.watching import ansi
from automodel_nb.watching.follow import LogFile, Source
from automodel_nb.watching.lines import body_of, clean, level_of, rank_of

CAP = 200  # lines a look
BACKLOG = 2_000  # lines of a log that is there already; sent CAP a look
LONGEST = 2_000  # characters of one line that are shown
_CARRIED = 1 << 16  # bytes of an unfinished line that are held
_OPENING = 100  # looks that a large log may take until its end is reached; then whatever is there is shown
_TIME = 0.05  # seconds that one look may read; what is left waits for the next

#: ``[number, level, rank, text]``: number of the physical line from 1; level ``E W I D`` or empty; rank or None; text, or
#: (colours) a list of ``[text, colour, flags]``, flags out of ``b`` bold, ``d`` dim, ``i`` italic, ``u`` underlined.
Row = list[Any]


@dataclass(slots=True)
class Batch:
    """What one look found.

    Attributes:
        rows: to show, oldest first.
        total: physical lines of the log so far.
        bar: a progress bar that is being redrawn on the last, unfinished line; empty where there is none.
        anew: the log began again: what was shown is no longer in it.
    """

    rows: list[Row] = field(default_factory=list)
    total: int = 0
    bar: str = ""
    anew: bool = False


class LogTail:
    """Follows one log for one viewer.

    Args:
        log: the file; it need not be there yet.
        mask: hides secrets in a line.
    """

    def __init__(self, log: Path | Source, mask: Callable[[str], str] = str) -> None:
        self._log = LogFile(log)
        self._mask = mask
        self._opening = _OPENING  # looks that are left until what was there already has been read
        self._begin()

    def _begin(self) -> None:
        self._total = 0
        self._unread = False
        self._rest = b""
        self._waiting: list[tuple[int, bytes]] = []
        self._levels: dict[int | None, str] = {}  # of the last line that had one, by rank
        self._bar = ""

    @property
    def waiting(self) -> bool:
        """True while there is more that can be sent without anyone writing."""
        return bool(self._waiting) or self._unread

    def look(self, *, last: bool = False) -> Batch | None:
        """What is new, at most CAP lines; None where nothing is.

        Args:
            last: nobody writes any more: an unfinished last line counts too.
        """
        before, anew = self._total, False
        keep = BACKLOG if self._opening else CAP
        newest: list[tuple[int, bytes]] = []
        deadline = time.monotonic() + _TIME
        self._unread = False
        while data := self._log.fetch():
            if self._log.reset:
                self._begin()
                before, newest, anew = 0, [], True
            newest = [*newest, *self._whole_lines(data, keep)][-keep:]
            if time.monotonic() > deadline:
                self._unread = True
                break
        if last and self._rest and not self._unread:
            self._total += 1
            newest.append((self._total, self._rest))
            self._rest = b""
        if self._total - before > CAP and not self._opening:
            self._waiting = []  # a flood: nobody waits for what was before
        self._waiting = [*self._waiting, *newest][-BACKLOG:]
        if self._total or self._rest:
            self._opening = self._opening - 1 if self._opening and self._unread else 0
        sent = [] if self._opening else self._waiting[:CAP]
        self._waiting = self._waiting[len(sent) :]
        bar = self._drawn()
        if self._opening or not (sent or anew or bar != self._bar or self._total != before):
            return None
        self._bar = bar
        return Batch([row for number, raw in sent for row in self._rows(number, raw)], self._total, bar, anew)

    def _whole_lines(self, data: bytes, keep: int) -> list[tuple[int, bytes]]:
        """The last `keep` of the lines that these bytes complete, with their numbers; all are counted."""
        block, newline, rest = (self._rest + data).rpartition(b"\n")
        if len(rest) > _CARRIED:  # of a bar the end counts, of a long text the start
            rest = rest[-_CARRIED:] if b"\r" in rest[-_CARRIED:] else rest[:_CARRIED]
        self._rest = rest
        if not newline:
            return []
        count = block.count(b"\n") + 1
        self._total += count
        if count > keep:
            at = len(block)
            for _ in range(keep):
                at = block.rfind(b"\n", 0, at)
            block = block[at + 1 :]
        raws = block.split(b"\n")
        return list(enumerate(raws, self._total - len(raws) + 1))

    def _drawn(self) -> str:
        """The bar on the unfinished line. Other unfinished text waits: it may be half a secret."""
        tail = self._rest[-4096:]
        if b"\r" not in tail and b"%|" not in tail:
            return ""
        return self._shown(clean(tail.decode("utf-8", "replace"))[-1])

    def _rows(self, number: int, raw: bytes) -> list[Row]:
        text = raw.decode("utf-8", "backslashreplace")
        return [self._row(number, line, text) for line in clean(text) or [""]]

    def _row(self, number: int, line: str, physical: str) -> Row:
        rank = rank_of(line)
        level = (level_of(line) or "")[:1]
        if level:
            self._levels[rank] = level
        elif body_of(line)[:1] in (" ", "\t"):
            level = self._levels.get(rank, "")  # the inside of a traceback goes with its head
        shown: Any = self._shown(line)
        if "\x1b[" in physical and "\r" not in physical and self._mask(line) == line:
            shown = self._pieces(physical)
        return [number, level, rank, shown]

    def _shown(self, line: str) -> str:
        text = words.clean(self._mask(line))
        return text if len(text) <= LONGEST else f"{text[:LONGEST]} … {len(text) - LONGEST:,} characters more"

    def _pieces(self, physical: str) -> list[list[str | None]] | str:
        pieces = [
            [words.clean(text), style.color, "".join(name[0] for name in _FLAGS if getattr(style, name))]
            for text, style in ansi.spans(physical)
        ]
        if sum(len(text or "") for text, *_ in pieces) > LONGEST or len(pieces) > 200:
            return self._shown(ansi.strip(physical))
        return pieces if any(colour or flags for _, colour, flags in pieces) else self._shown(ansi.strip(physical))


_FLAGS = ("bold", "dim", "italic", "underline")
