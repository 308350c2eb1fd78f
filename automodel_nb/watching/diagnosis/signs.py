"""What a failing log says in so many words, and what that means: one `Sign` for each cause that can be told.

A sign is looked for at the beginning of a clean line, behind the prefixes that say who wrote it: an INFO record that quotes
such words begins with its time, and is none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Sign:
    """One cause.

    Attributes:
        code: stable name; several signs may have the same.
        needles: one of them is in every such line: what a large log is searched for first.
        pattern: of the line; its named groups fill `cause` and `fix`.
        cause: one sentence.
        fix: what to do.
        weak: True for what happens to ranks whose peer is gone: it tells only where nothing else does.
    """

    code: str
    needles: tuple[str, ...]
    pattern: re.Pattern[str]
    cause: str
    fix: str
    weak: bool = False
    needle_bytes: tuple[bytes, ...] = field(default=(), compare=False)


def sign(code: str, needles: Sequence[str], pattern: str | Sequence[str], *, cause: str, fix: str, weak: bool = False) -> Sign:
    """A sign; `pattern` may be several, each for a whole beginning of the line."""
    patterns = [pattern] if isinstance(pattern, str) else pattern
    compiled = re.compile("|".join(f"(?:{one})" for one in patterns))
    return Sign(code, tuple(needles), compiled, cause, fix, weak, tuple(needle.encode() for needle in needles))


def raised(message: str, *names: str) -> str:
    """The pattern of a traceback's last line: an exception of one of these names (of any, without one), and its message."""
    return named(*names) + f": {message}"


def named(*names: str) -> str:
    """The pattern of an exception's name, with the modules before it."""
    any_of = "|".join(names) or r"[A-Z_]\w*"
    return rf"(?:[A-Za-z_]\w*\.)*(?:{any_of})\b"
