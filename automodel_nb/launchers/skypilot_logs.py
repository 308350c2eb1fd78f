"""A job's log, streamed into its directory, so that everything that reads a log works as for a job with a shared disk.

SkyPilot keeps the log on the cluster and streams it on demand, always from its beginning. A follower writes it to
``output.log`` at the offset where it belongs: two kernels that follow one job write the same bytes to the same places, and a
kernel that comes back writes over what it has. Only where the stream does not begin as the file does (a managed job that has
moved to another cluster) is it put behind what is there.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from automodel_nb.launchers.base import JobRef
from automodel_nb.launchers.skypilot_client import require_server, sdk
from automodel_nb.launchers.skypilot_errors import first_line, plain
from automodel_nb.states import Observation

_RETRY = 5.0  # seconds until a broken stream is asked for again
_SHORT_WAIT = 2.0  # seconds that a question for the state may take longer because the job has just ended
_LONG_WAIT = 90.0  # seconds that a stream may take in all; a managed job's ends up to 30 s after the job
_TRUSTED = 60.0  # seconds for which an open stream stands for a running job
_HEAD = 512  # bytes by which a stream is recognised
# what the client says of its own: a tree of hints, a spinner, the end that the state tells
_CHATTER = re.compile(r"\s*(?:[├└│⚙📋✓⠀-⣿]|Job finished|D \d\d-\d\d )|\s*\(Ctrl-C|To (?:cancel|stream|view|stop|log) ")
_ENDED = re.compile(r"failed with return code list: *\[([-\d, ]+)\]")
_TASKS = re.compile(r"task \d+: Exited with exit code (?!100\b)(\d+)")  # 100 is SkyPilot's own, of a job that failed
_lock = threading.Lock()
_followers: dict[str, Follower] = {}


def follow(job: JobRef) -> Follower:
    """The follower of a job in this process; started where there is none, or where it gave up."""
    with _lock:
        follower = _followers.get(job.id)
        if follower is None or not (follower.is_alive() or follower.complete):
            follower = _followers[job.id] = Follower(job)
            follower.start()
        return follower


def running(job: JobRef) -> Observation | None:
    """The job as it was last seen, where its stream still runs and so does it; None where SkyPilot is to be asked.

    A question to a cluster's queue starts Python on its head node through ssh, seconds of work. A stream ends with its job.
    Managed jobs are always asked about: one question is for all of them, and their streams run on through a recovery.
    """
    if job.submission.extra.get("managed"):
        return None
    with _lock:
        follower = _followers.get(job.id)
    if follower is None or follower.complete or not follower.is_alive():
        return None
    seen, when = follower.seen
    return seen if seen is not None and time.monotonic() - when < _TRUSTED else None


def saw(job: JobRef, observation: Observation | None) -> None:
    """Remember for `running` what SkyPilot said of a job; None makes it ask again."""
    with _lock:
        follower = _followers.get(job.id)
    if follower is not None:
        follower.seen = (observation, time.monotonic())


def clean(line: str) -> str | None:
    """A line of the stream as the file keeps it, without its newline; None for what is SkyPilot's own chatter."""
    text = plain(line).rstrip("\r\n")
    return None if not text or _CHATTER.match(text) else text  # what a node writes has a prefix, also where it is empty


def exit_code(text: str) -> int | None:
    """The exit status in the last report of a failure; that of the node which failed by itself, where several are named."""
    found = _ENDED.findall(plain(text))
    if not found:
        return None
    # on Slurm the list has what became of the first node, which may have been told to stop since another failed
    codes = [int(code) for code in [*_TASKS.findall(plain(text)), *found[-1].split(",")] if code.strip()]
    return next((code for code in codes if 0 < code < 128), next((code for code in codes if code), None))


class Follower(threading.Thread):
    """Writes one job's log until it ends.

    Attributes:
        complete: the stream came to its end.
        problem: why it broke off last; empty where it did not.
        seen: what SkyPilot last said of the job while it ran, and when (monotonic seconds).
    """

    def __init__(self, job: JobRef) -> None:
        super().__init__(name=f"skypilot-log-{job.id}", daemon=True)
        self.job = job
        self.complete = False
        self.problem = ""
        self.seen: tuple[Observation | None, float] = (None, 0.0)
        self._since = time.monotonic()
        self._over = threading.Event()

    def run(self) -> None:
        """Stream, and ask again where the stream breaks off."""
        while not self._over.is_set() and self.job.directory.is_dir():
            try:
                write(self.job.paths.log, _stream(self.job))
            except Exception as error:  # the network, the server, a cluster that is not up yet: the state tells, not the log
                self.problem = first_line(str(error)) or type(error).__name__
                self.seen = (None, 0.0)
                self._over.wait(_RETRY)
            else:
                self.complete = True
                return

    def finished(self) -> bool:
        """The job has ended: whether its log is here, or cannot be waited for any longer."""
        self.join(_SHORT_WAIT)
        if not self.complete and time.monotonic() - self._since < _LONG_WAIT:
            return False
        self._over.set()
        return True


def write(path: Path, lines: Iterable[str]) -> None:
    """Put the lines of a stream into a log, where they belong."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        present = os.pread(descriptor, _HEAD, 0)
        at, seen = 0, b""
        for text in lines:
            data = text.encode("utf-8", "replace") + b"\n"
            if at < len(present) and not data.startswith(present[at : at + len(data)]):
                at, data = os.fstat(descriptor).st_size, seen + data  # another stream than the file's: behind it
            if at < _HEAD:
                seen += data
            os.pwrite(descriptor, data, at)
            at += len(data)
    finally:
        os.close(descriptor)


def _stream(job: JobRef) -> Iterator[str]:
    require_server()
    sky = sdk()
    name = job.submission.cluster
    if job.submission.extra.get("managed"):
        raw: Any = sky.jobs.tail_logs(name=name, follow=True, preload_content=False)
    else:
        raw = sky.tail_logs(name, 1, True, preload_content=False)
    for line in raw:
        # None stands for a message to a spinner
        if line is not None and (text := clean(line)) is not None:
            yield text
