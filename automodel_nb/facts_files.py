"""What this machine's file systems say of a few paths; bounded in time, since a dead mount answers never."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

Answer = TypeVar("Answer")

#: File system types that other nodes can see as well.
SHARED = frozenset({"nfs", "nfs4", "lustre", "gpfs", "beegfs", "ceph", "cifs", "smb3", "afs", "9p", "pvfs2", "orangefs",
                    "wekafs", "glusterfs", "panfs", "virtiofs", "fhgfs", "quobyte", "daos", "vastfs"})  # fmt: skip
#: File system types that exist on this machine alone; others (fuse, overlay, autofs) may be either.
LOCAL = frozenset({"tmpfs", "ramfs", "devtmpfs", "ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "vfat"})


@dataclass(frozen=True, slots=True)
class PathFacts:
    """One path, as seen from here.

    Attributes:
        path: absolute.
        exists: whether anything is there.
        is_dir: whether it is a directory.
        nearest: the nearest directory above (or itself) that exists.
        filesystem: type of the file system that `nearest` lies on (``nfs4``, ``ext4``); empty where it is not known.
        free: bytes that this user can write there; None where it is not known.
        size: bytes of a file, or of the files right in a directory (a model's weights); 0 where nothing is there.
    """

    path: str
    exists: bool
    is_dir: bool
    nearest: str
    filesystem: str = ""
    free: int | None = None
    size: int = 0

    @property
    def elsewhere(self) -> bool:
        """True where nothing of the path is known here but the root: it may be a disk that only the nodes have."""
        return not self.exists and self.nearest == "/"


def look(paths: Iterable[str], seconds: float = 0.6) -> dict[str, PathFacts]:
    """Look at absolute paths; one that does not answer in time is left out, and so is silence about it."""
    mounts = _mounts()
    return bounded({path: lambda path=path: _facts(path, mounts) for path in paths}, seconds)  # type: ignore[misc]


def bounded(questions: Mapping[str, Callable[[], Answer]], seconds: float) -> dict[str, Answer]:
    """The answers that come in time. A question that hung before is not asked again while it still hangs."""
    answers: dict[str, Answer] = {}
    todo = [name for name in questions if not (name in _hanging and _hanging[name].is_alive())]

    def ask(names: list[str], asked: list[str]) -> None:
        for name in names:
            asked.append(name)
            with contextlib.suppress(OSError):
                answers[name] = questions[name]()

    end = time.monotonic() + seconds
    while todo and time.monotonic() < end:
        # one thread for all, and where one question hangs, a second for those behind it; daemons, since Python waits at its
        # end for every other kind of thread, and this one may never end
        asked: list[str] = []
        thread = threading.Thread(target=ask, args=(todo, asked), daemon=True)
        thread.start()
        thread.join(seconds / 3)
        if not thread.is_alive() or not asked:
            break
        _hanging[asked[-1]] = thread
        todo = todo[todo.index(asked[-1]) + 1 :]
    return dict(answers)


_hanging: dict[str, threading.Thread] = {}


def _facts(path: str, mounts: list[tuple[str, str]]) -> PathFacts:
    exists, is_dir = os.path.exists(path), os.path.isdir(path)
    nearest = path
    while not os.path.isdir(nearest):
        nearest = os.path.dirname(nearest)
    real = os.path.realpath(nearest)
    filesystem = next((kind for point, kind in mounts if real == point or real.startswith(point.rstrip("/") + "/")), "")
    try:
        disk = os.statvfs(nearest)
        free: int | None = disk.f_bavail * disk.f_frsize
    except OSError:
        free = None
    return PathFacts(path, exists, is_dir, nearest, filesystem, free, _size(path, is_dir) if exists else 0)


def _size(path: str, is_dir: bool) -> int:
    if not is_dir:
        return os.stat(path).st_size
    total = 0
    with os.scandir(path) as entries:
        for number, entry in enumerate(entries):
            if number > 1000:  # no model's directory
                return 0
            if entry.is_file():
                total += entry.stat().st_size
    return total


def _mounts(table: Path = Path("/proc/self/mountinfo")) -> list[tuple[str, str]]:
    """(mount point, type), the longest mount point first."""
    try:
        lines = table.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        before, separator, after = line.partition(" - ")
        if separator:
            point = before.split()[4].encode("utf-8", "surrogateescape").decode("unicode_escape", "replace")
            found.append((point, after.split()[0]))
    return sorted(found, key=lambda mount: len(mount[0]), reverse=True)
