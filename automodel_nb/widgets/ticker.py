"""Threads that look again and again. They never print: what a thread prints lands in whichever cell runs just then."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable

Task = Callable[[], bool]


class Ticker:
    """One daemon thread that calls each of its tasks every so often, for as long as there are any.

    Args:
        name: of the thread.
        every: seconds between two rounds.
    """

    def __init__(self, name: str, every: float) -> None:
        self._name = name
        self._every = every
        self._tasks: list[Task] = []
        self._lock = threading.Lock()
        self._woken = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, task: Task) -> None:
        """Call `task` from now on, until it returns False (or fails, which is a bug and shown as one)."""
        with self._lock:
            if task not in self._tasks:
                self._tasks.append(task)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()

    def wake(self) -> None:
        """Begin the next round at once."""
        self._woken.set()

    def _run(self) -> None:
        while True:
            began = time.monotonic()
            with self._lock:
                tasks = list(self._tasks)
            over = [task for task in tasks if not _call(task)]
            with self._lock:
                self._tasks = [task for task in self._tasks if task not in over]
                if not self._tasks:
                    self._thread = None
                    return
            # at least as long idle as at work, so that the cell's own thread gets its share
            took = time.monotonic() - began
            self._woken.wait(max(self._every - took, took))
            self._woken.clear()


def _call(task: Task) -> bool:
    try:
        return task()
    except Exception:
        threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread())))
        return False


#: What is shown of states and metrics.
CARDS = Ticker("automodel_nb cards", 1.0)
#: What is shown of logs; apart from the cards, since a scheduler that does not answer must not hold up a log.
LOGS = Ticker("automodel_nb logs", 0.1)
#: Logs that are read over a network: each look is a trip, and may take long.
REMOTE_LOGS = Ticker("automodel_nb remote logs", 2.0)
