"""What in a log may tell why the job failed, collected in one pass over it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from automodel_nb.watching.diagnosis import machine, training
from automodel_nb.watching.diagnosis.signs import Sign
from automodel_nb.watching.errors_in_log import ErrorLine, ErrorSearch
from automodel_nb.watching.lines import body_of, clean, origin_of
from automodel_nb.watching.logfile import LogFile, Source

#: The surest first: an earlier sign wins over a later one, wherever both are in a log.
SIGNS: tuple[Sign, ...] = (*machine.SIGNS, *training.SIGNS)
_BLOCK = 1 << 16
_ENOUGH_STEPS = 3  # training went on: what was found before was caught, or survived by a restart
_STEP = " | epoch "
_WORLD = re.compile(r"> initializing torch distributed with (\d+) workers|World size: (\d+)")
_STEPD = re.compile(
    r"slurmstepd[^\n]*error: \*\*\* (?:JOB|STEP) \S+ ON (?P<node>\S+) CANCELLED AT \S+(?P<why> DUE TO [A-Z ]+)?"
)
_NODE = re.compile(r"(?:slurmstepd-|srun: error: )(?P<node>[\w.-]+?):")
_FAILED_NODE = re.compile(
    r"srun: error: Node failure on (?P<node>\S+)|srun: error: (?P<other>\S+): .*(?:Communication|node fail)"
)
_SUFFERING = ("Connection closed by peer", "Connection reset by peer", "Timed out waiting", "Watchdog caught", "NCCL error")
_NEEDLES = tuple(
    dict.fromkeys(
        [needle for sign in SIGNS for needle in sign.needle_bytes]
        + [
            b"> initializing torch distributed",
            b"World size: ",
            b"slurmstepd",
            b"Node failure on",
            b"Root Cause",
            b"exitcode  :",
        ]
        + [text.encode() for text in _SUFFERING]
    )
)
_HURRY = re.compile(b"|".join(map(re.escape, _NEEDLES)))


@dataclass(frozen=True, slots=True)
class Match:
    """A sign's first line in the log.

    Attributes:
        number: of the physical line, from 1.
        text: the clean line without its prefix.
        rank: that wrote it; task: its node's index, where srun or SkyPilot says it; node: named in the line.
        groups: of the sign's pattern.
    """

    sign: Sign
    number: int
    text: str
    rank: int | None = None
    task: int | None = None
    node: str | None = None
    groups: dict[str, str | None] = field(default_factory=dict)


@dataclass
class Clues:
    """Attributes: `error` is the log's first real error, `matches` the signs that were found, in the table's order.

    Attributes:
        world_size: as AutoModel says it.
        suffering: ranks that only saw their peer go, or waited for it in vain.
        scheduler_word: slurmstepd's last line on the job's end; failed_node: that srun names.
        steps_since_error: training steps that were logged after the last find.
    """

    error: ErrorLine | None = None
    matches: dict[int, Match] = field(default_factory=dict)
    world_size: int | None = None
    suffering: set[int] = field(default_factory=set)
    scheduler_word: ErrorLine | None = None
    failed_node: str | None = None
    steps_since_error: int = 0

    def best(self, error: ErrorLine | None) -> Match | None:
        """The sign that tells most: that of the first error's own line, else the surest one of the log."""
        strong = [match for _, match in sorted(self.matches.items()) if not match.sign.weak]
        if error is not None:
            own = [match for match in strong if match.number == error.number]
            if own:
                return own[0]
        if strong:
            return strong[0]
        return next((match for _, match in sorted(self.matches.items())), None)


def clues_of(lines: Iterable[str]) -> Clues:
    """Of a log's physical lines."""
    scan = _Scan()
    for number, line in enumerate(lines, 1):
        scan.search.feed(line.encode("utf-8", "surrogateescape") + b"\n")
        scan.physical(number, line)
    return scan.result()


def clues_in(source: str | os.PathLike[str] | Source) -> Clues:
    """Of a file; stretches without any sign are passed over."""
    log, scan, rest, number = LogFile(source), _Scan(), b"", 0
    while data := log.fetch(_BLOCK):
        scan.search.feed(data)
        block, newline, rest = (rest + data).rpartition(b"\n")
        if not newline:
            continue
        if _HURRY.search(block):
            for index, raw in enumerate(block.split(b"\n"), number + 1):
                scan.physical(index, raw.decode("utf-8", "backslashreplace"))
        else:
            scan.trained(block.count(_STEP.encode()))
        number += block.count(b"\n") + 1
    scan.physical(number + 1, rest.decode("utf-8", "backslashreplace"))
    return scan.result()


class _Scan:
    def __init__(self) -> None:
        self.clues = Clues()
        self.search = ErrorSearch()

    def result(self) -> Clues:
        self.clues.error = self.search.result()
        return self.clues

    def physical(self, number: int, line: str) -> None:
        if _STEP in line:
            self.trained(line.count(_STEP))
        elif any(needle in line for needle in _TEXTS):
            for text in clean(line):
                self.line(number, text)

    def trained(self, steps: int) -> None:
        self.clues.steps_since_error += steps
        if self.clues.steps_since_error >= _ENOUGH_STEPS:
            self.clues.matches.clear()
            self.clues.suffering.clear()

    def line(self, number: int, text: str) -> None:
        clues, body, origin = self.clues, body_of(text), origin_of(text)
        rank = origin.rank if origin.rank is not None else origin.local_rank
        if world := _WORLD.search(body):
            clues.world_size = int(world[1] or world[2])
            return
        if stepd := _STEPD.search(body):
            if clues.scheduler_word is None or (stepd["why"] and " DUE TO " not in clues.scheduler_word.text):
                clues.scheduler_word = ErrorLine(number, body, None, "scheduler")
            return
        if failed := _FAILED_NODE.search(body):
            clues.failed_node = failed["node"] or failed["other"]
        if any(sign in body for sign in _SUFFERING):
            blamed = re.search(r"\[Rank (\d+)\]", body)
            who = int(blamed[1]) if blamed else rank
            if who is not None:
                clues.suffering.add(who)
        for index, sign in enumerate(SIGNS):
            if index not in clues.matches and any(needle in body for needle in sign.needles):
                found = sign.pattern.match(body)
                if found:
                    node = _NODE.match(body)
                    where = node["node"] if node else None
                    clues.matches[index] = Match(sign, number, body, rank, origin.node, where, found.groupdict())
                    clues.steps_since_error = 0


_TEXTS = tuple(needle.decode() for needle in _NEEDLES)
