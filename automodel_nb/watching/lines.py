r"""One line of a log: what to show of it, who wrote it, how grave it is.

A *physical* line is what stands between two newlines of the file. tqdm draws its bar with carriage returns and no newline,
so that AutoModel's log records (0.5.0 and newer) come glued behind bars: ``\rTraining: 45%|… tps=417]2026-12-01 02:48:05 |
INFO | …``. ``clean`` turns one physical line into the lines a person wants to read.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from automodel_nb.watching.ansi import strip

Level = Literal["DEBUG", "INFO", "WARNING", "ERROR"]

# Written before a line, outermost first: SkyPilot's "(head, rank=0, pid=7, ip=10.0.0.1) " or "(task, pid=7) ", srun --label's
# " 3: ", torchrun --tee's "[default0]:", torch's "[rank1]: " (its excepthook writes it before each line of a traceback).
_PREFIX = re.compile(
    r"(?:\([^()\s,]+(?:, rank=(?P<sky>\d+))?, pid=\d+(?:, ip=[^()\s]+)?\) )?"
    r"(?: {0,4}(?P<task>\d{1,5}): )?(?:\[(?!rank\d)[A-Za-z_]\w*?(?P<local>\d+)\]:)?(?:\[rank(?P<rank>\d+)\]:? ?)?"
)
_TEE = re.compile(r"(?:.*[ )])?\[(?!rank\d)[A-Za-z_]\w*?\d+\]:")
# tqdm's bar: with a total ("desc: 45%|##  | 18/40 [00:19<00:13, 1.63step/s, loss=6.3]")
# and without one ("desc: 18it [00:19, 1.6it/s]")
_BAR = re.compile(r"[^|\[\]]{0,200}?(?:\d{1,3}%\|[^|]*\| *[\d.]+\w*/[\d.?]+\w* |\d[\d.]*\w* )\[\d+:\d\d[^\[\]]*\] *")
_DRAWN = re.compile(r"[\d\s.,:;#=<>|/%()\[\]▏▎▍▌▋▊▉█━╸╺⠀-⣿-]+")


def clean(line: str) -> list[str]:
    """The lines to show for one physical line: no escape sequences, no overwritten bars, each glued record on its own.

    A bar that ends the physical line is what a terminal would leave standing, and stays. Where the physical line has a
    prefix (``[default0]:``), each of its lines gets it. ``torchrun --tee`` makes a newline of each carriage return, so that
    redraws are physical lines: behind its prefix only a full bar stays, and an empty line goes.
    """
    if "\r" not in line and "%|" not in line:
        text = strip(line).rstrip()
        return [] if text.endswith("]:") and _TEE.fullmatch(text) else [text]
    parts = [text for part in line.split("\r") if (text := strip(part)).strip()]
    if not parts:
        return [""]
    prefix = _prefix(parts[0])
    shown = []
    for i, text in enumerate(parts):
        own = _prefix(text) or prefix
        body = text[len(_prefix(text)) :]
        last = i + 1 == len(parts)
        if bar := _BAR.match(body):
            if rest := body[bar.end() :].rstrip():
                shown.append(rest if _prefix(rest) else own + rest)
            elif last and ("100%|" in body or not _TEE.fullmatch(own)):
                shown.append(own + body.rstrip())
        elif body.strip() and (last or not _redrawn(body, parts[i + 1])):
            shown.append(own + body.rstrip())
    return shown


def _prefix(text: str) -> str:
    match = _PREFIX.match(text)
    return match.group() if match else ""


def _redrawn(text: str, following: str) -> bool:
    """True where the next text is the same drawing with other numbers (a progress display that is not tqdm's)."""
    skeleton = _DRAWN.sub("", text)
    return len(skeleton) < len(text) and skeleton == _DRAWN.sub("", following)


class Origin(NamedTuple):
    """Who wrote a line, as far as its prefix says.

    Attributes:
        rank: global rank (``[rank1]:``).
        local_rank: rank on its node (``[default1]:`` of torchrun --tee).
        node: index of the node in the job (srun --label with one task a node; SkyPilot's ``rank=``).
    """

    rank: int | None = None
    local_rank: int | None = None
    node: int | None = None


def origin_of(line: str) -> Origin:
    """The ranks and the node that the prefix of a clean line names."""
    match = _PREFIX.match(line)
    if not match or not match.group():
        return Origin()
    sky, task, local, rank = (None if text is None else int(text) for text in match.group("sky", "task", "local", "rank"))
    return Origin(rank, local, sky if task is None else task)


def rank_of(line: str) -> int | None:
    """The rank that wrote a clean line: the global one where it is named, else the one on its node; None where neither is."""
    origin = origin_of(line)
    return origin.local_rank if origin.rank is None else origin.rank


def body_of(line: str) -> str:
    """A clean line without its prefix."""
    return line[len(_prefix(line)) :]


_RECORD_LEVEL = re.compile(r"(?:^|\d )\| (DEBUG|INFO|WARNING|ERROR|CRITICAL) \| ")
_GLOG = re.compile(r"([IWEF])\d{4} \d\d:\d\d:\d\d")
_ERROR = re.compile(
    r"(?:slurmstepd|srun|sbatch|slurmd): (?:error|fatal)|Traceback \(most recent call last\)|\[?(?:ERROR|FATAL|CRITICAL)\b"
    r"|(?i:error): |Fatal Python error|(?:[A-Za-z_][\w.]*\.)?[A-Z]\w*(?:Error|Exception|Interrupt|Exit)(?:: |$)"
)
_WARNING = re.compile(r"\[?WARN(?:ING)?\b|(?i:warning): |\S+:\d+: \w*Warning: |.{0,80}\bNCCL WARN ")
_GLOG_LEVELS: dict[str, Level] = {"I": "INFO", "W": "WARNING", "E": "ERROR", "F": "ERROR"}
_LEVELS: dict[str, Level] = {"DEBUG": "DEBUG", "INFO": "INFO", "WARNING": "WARNING", "ERROR": "ERROR", "CRITICAL": "ERROR"}


def level_of(line: str) -> Level | None:
    """How grave a clean line says it is (records, glog, Slurm's own, warnings, tracebacks); None where it does not say."""
    body = body_of(line)
    if match := _RECORD_LEVEL.search(body, 0, 80):
        return _LEVELS[match.group(1)]
    if match := _GLOG.match(body):
        return _GLOG_LEVELS[match.group(1)]
    if _ERROR.match(body):
        return "ERROR"
    return "WARNING" if _WARNING.match(body) else None
