"""The one line of a failing log that says why.

When one worker fails, all others fail too: their collectives break ("Connection closed by peer"), torchrun kills them and ends
with a banner of its own, whose "Root Cause" can name a rank that only suffered. So the first traceback that is nobody's
aftermath is the reason; the banner is asked only where no line says more (a worker that was killed prints nothing).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from automodel_nb.watching.lines import body_of, clean, rank_of
from automodel_nb.watching.logfile import LogFile, Source

Kind = Literal["exception", "scheduler", "crash", "message", "torchrun", "aftermath"]


@dataclass(frozen=True, slots=True)
class ErrorLine:
    """Why a job failed.

    Attributes:
        number: of the physical line, from 1.
        text: in one line: ``OutOfMemoryError: CUDA out of memory. …``.
        rank: that failed, where it is known.
        kind: what says so: an ``exception`` of the training; the ``scheduler`` (slurmstepd, srun); a ``crash`` that Python or
            the C library reports; a ``message`` of a command or of AutoModel's CLI; ``torchrun``'s banner; or only the
            ``aftermath`` of a failure that left nothing in this log.
    """

    number: int
    text: str
    rank: int | None = None
    kind: Kind = "exception"


_ROOT_CAUSE = "Root Cause (first observed failure):"
_TRACEBACK = "Traceback (most recent call last):"
_EXCEPTION = re.compile(r"(?:[A-Za-z_]\w*\.)*(_?[A-Z]\w*|(?<=\.)\w*error)(?::(?: (.*))?)?")
_CHAIN = re.compile(r"During handling of the above exception|The above exception was the direct cause")
_AFTERMATH = re.compile(
    r"ChildFailedError|SignalException|RendezvousClosedError|Connection (?:closed|reset) by peer|Broken pipe|connectFullMesh"
    r"|Dist(?:Backend|Network|Store)Error|NCCL (?:error|communicator)|nccl\w*Error|(?i:watchdog caught collective)"
    r"|Socket Timeout|NVMLError"  # the last is ft_launcher's without a GPU: it goes on
)
_SCHEDULER = re.compile(r"(?:slurmstepd|srun|slurmd|sbatch)(?:-\S+)?: (?:error|fatal): (?P<text>.*)")
_STEP_ENDED = re.compile(r"\S+: tasks? \S+: |Timed out|\*\*\* STEP \S+ ON \S+ CANCELLED AT \S+ \*\*\*")  # the others, by srun
_CRASH = re.compile(
    r"Fatal Python error: .*|terminate called .*"
    r"|(?:\S+: line \d+: +\d+ )?(?:Segmentation fault|Bus error|Aborted|Killed|User defined signal 1)(?: .*)?"
)
_MESSAGE = re.compile(
    r"(?:\S+: )?(?:line \d+: )?\S+: (?:command not found|No such file or directory|Permission denied|cannot execute.*)"
    r"|(?:\S+: )?(?i:error|fatal(?: error)?): .+"
    # AutoModel's CLI has no log handler yet when it says these
    r"|YAML config must specify a recipe|Unknown recipe class .|parsing YAML file .+ failed|Local/interactive execution"
)
# What one of the patterns above cannot do without; a block of lines that has none of it is not looked at.
_SIGNS = (
    b"Traceback (most recent call last)",
    *(
        b"rror: ",
        b"RROR: ",
        b"atal: ",
        b"ATAL: ",
        b" | ERROR | ",
        b" | CRITICAL | ",
        b"Fatal Python error",
        b"terminate called",
    ),
    *(b"Segmentation fault", b"Bus error", b"Aborted", b"Killed", b"User defined signal", b"not found", b"No such file"),
    *(
        b"Permission denied",
        b"cannot execute",
        b"must specify a recipe",
        b"Unknown recipe",
        b"atal error: ",
        b"parsing YAML file",
    ),
    *(b"Local/interactive execution", _ROOT_CAUSE.encode()),
)
_STEP = " | epoch "
_ENOUGH_STEPS = 3  # the other ranks may still log one or two when one has failed
_BLOCK = 1 << 16
_LONGEST = 1 << 20  # of a line without an end, only this much is kept
_BANNER_FIELD = re.compile(r"\s+(rank|exitcode)\s*: (-?\d+) \([^)]*\)\s*(?:\((SIG\w+)\))?")


def first_error(lines: Iterable[str]) -> ErrorLine | None:
    """The line that says why, out of the physical lines of one attempt; None where nothing in them looks like an error.

    It answers what *a failed* log says. A log of a job that ended well may hold a caught exception too.
    """
    scan = _Scan()
    for number, line in enumerate(lines, 1):
        scan.physical(number, line)
    return scan.result()


def first_error_in(source: str | os.PathLike[str] | Source, offset: int = 0) -> ErrorLine | None:
    """``first_error`` of a log from an offset on, fast where the log is large; lines are counted from there."""
    log, search = LogFile(source, offset), ErrorSearch()
    while data := log.fetch(_BLOCK):
        search.feed(data)
    return search.result()


class ErrorSearch:
    """``first_error`` of a log as it grows: each byte is looked at once."""

    def __init__(self) -> None:
        self._scan = _Scan()
        self._rest = b""
        self._number = 0

    def feed(self, data: bytes) -> None:
        """The next bytes; large ones are best cut into blocks of some 64 KiB, since a block without a sign is passed over."""
        scan = self._scan
        block, newline, self._rest = (self._rest + data).rpartition(b"\n")
        if newline:
            if scan.reading or any(sign in block for sign in _SIGNS):
                for i, raw in enumerate(block.split(b"\n"), self._number + 1):
                    scan.physical(i, raw.decode("utf-8", "backslashreplace"))
            else:
                scan.trained(block.count(_STEP.encode()))
            self._number += block.count(b"\n") + 1
        self._rest = self._rest[-_LONGEST:]

    def so_far(self) -> ErrorLine | None:
        """What the whole lines up to here say; the job may still get over it."""
        return self._scan.result()

    def result(self) -> ErrorLine | None:
        """What the log says, for one that nobody writes any more; call it once."""
        self._scan.physical(self._number + 1, self._rest.decode("utf-8", "backslashreplace"))
        return self._scan.result()


class _Scan:
    """One pass over the lines. Keeps of each kind the first."""

    def __init__(self) -> None:
        self.found: dict[Kind, ErrorLine] = {}
        self.traceback: set[int | None] = set()  # ranks (None: no prefix) that are in the middle of one
        self.chained: set[int | None] = set()  # ranks of which the next exception comes out of the last one
        self.last: dict[int | None, ErrorLine] = {}
        self.steps = 0  # since the last find
        self.banner: dict[str, tuple[str, str | None]] | None = None  # of torchrun, from its root cause on

    @property
    def reading(self) -> bool:
        """True within a traceback or banner: the next line counts whatever it is."""
        return bool(self.traceback) or self.banner is not None

    def physical(self, number: int, line: str) -> None:
        for text in clean(line):
            self.line(number, rank_of(text), body_of(text))

    def line(self, number: int, rank: int | None, body: str) -> None:
        if _STEP in body:
            self.trained(1)
        elif body.startswith(_TRACEBACK):
            self.traceback.add(rank)
        elif body.startswith(f"Original {_TRACEBACK}"):  # of a data loader's worker, quoted in the exception before it
            self.traceback.add(rank)
            self.chained.add(rank)
        elif rank in self.traceback:
            if match := _EXCEPTION.fullmatch(body):
                self.traceback.discard(rank)
                name, message = match.groups()
                self.exception(ErrorLine(number, f"{name}: {message}" if message else name, rank), body)
        elif _CHAIN.match(body):
            self.chained.add(rank)
        elif body == _ROOT_CAUSE:
            self.banner = {}
        elif self.banner is not None and (match := _BANNER_FIELD.match(body)):
            self.banner[match[1]] = (match[2], match[3])
            if match[1] == "exitcode":
                self.add(_of_banner(number, self.banner))
        else:
            self.other(number, rank, body)

    def exception(self, error: ErrorLine, body: str) -> None:
        cause = self.last.get(error.rank) if error.rank in self.chained else None
        self.chained.discard(error.rank)
        if _AFTERMATH.search(body) or (cause and cause.kind == "aftermath"):
            error = replace(error, kind="aftermath")
        if cause and self.found.get(cause.kind) is cause:  # what it became says more than what it was
            del self.found[cause.kind]
        self.last[error.rank] = error
        self.add(error)

    def other(self, number: int, rank: int | None, body: str) -> None:
        if match := _SCHEDULER.match(body):
            aftermath = _STEP_ENDED.match(match["text"])
            self.add(ErrorLine(number, body, None, "aftermath" if aftermath else "scheduler"))
        elif _CRASH.fullmatch(body):
            abort = "Abort" in body and "aftermath" in self.found  # the watchdog of a rank whose peer is gone
            self.add(ErrorLine(number, body, rank, "aftermath" if abort or _AFTERMATH.search(body) else "crash"))
        elif _MESSAGE.match(body):
            self.add(ErrorLine(number, body, rank, "message"))
        elif " | ERROR | " in body or " | CRITICAL | " in body:
            self.add(ErrorLine(number, body.split(" | ", 3)[-1], rank, "message"))

    def trained(self, steps: int) -> None:
        """Training went on: whatever was found was caught, or survived by a restart."""
        self.steps += steps
        if self.steps >= _ENOUGH_STEPS and (self.found or self.banner is not None):
            self.found.clear()
            self.banner = None

    def add(self, error: ErrorLine) -> None:
        self.steps = 0
        self.found.setdefault(error.kind, error)

    def result(self) -> ErrorLine | None:
        sure = [self.found[kind] for kind in ("exception", "scheduler", "crash") if kind in self.found]
        if sure:
            return min(sure, key=lambda error: error.number)
        banner, aftermath = self.found.get("torchrun"), self.found.get("aftermath")
        if banner and aftermath and banner.rank == aftermath.rank:
            banner = None  # it blames a rank that only suffered
        killed = banner if banner and "SIG" in banner.text else None
        return killed or self.found.get("message") or banner or aftermath


def _of_banner(number: int, fields: dict[str, tuple[str, str | None]]) -> ErrorLine:
    rank = fields.get("rank", ("", None))[0]
    code, signal = fields["exitcode"]
    end = f"was killed by {signal}" if signal else f"ended with exit code {code}"
    return ErrorLine(number, f"rank {rank or '?'} {end}", int(rank) if rank else None, "torchrun")
