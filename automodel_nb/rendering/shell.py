"""Words of a shell command: quoted, unless they are shell already."""

from __future__ import annotations

import shlex
from collections.abc import Iterable


class Raw(str):
    """A word that is shell text as it stands (``"$AUTOMODEL_JOB_DIR"/recipe.yaml``)."""

    __slots__ = ()


#: The job's own directory; set when the job starts, so that no script holds a time or an id.
JOB_DIR = Raw('"$AUTOMODEL_JOB_DIR"')


def in_job_dir(name: str) -> Raw:
    """A file in the job's own directory, as a word."""
    return Raw(f"{JOB_DIR}/{shlex.quote(name)}")


def join(words: Iterable[str]) -> str:
    """One command line out of words."""
    return " ".join(word if isinstance(word, Raw) else shlex.quote(word) for word in words)
