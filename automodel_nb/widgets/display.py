"""Outputs that can be changed later, by display handle: they survive in the saved file and need no front-end package."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from IPython import get_ipython
from IPython.display import display


def in_notebook() -> bool:
    """True where a front end shows HTML and can replace an output; False in a terminal and in plain Python."""
    shell = get_ipython()
    return shell is not None and hasattr(shell, "kernel")


class Output:
    """One output of the running cell. Made in the cell's own thread; `show` may then be called from any.

    In a terminal nothing can be replaced: only the first and the final text are printed.
    """

    def __init__(self) -> None:
        slots = _slots.get()
        self._slot = slots.take(self) if slots else None
        self._handle: Any = self._slot.handle if self._slot else None
        self._last: tuple[str, str] | None = None

    def show(self, html: str, text: str, *, final: bool = True) -> None:
        """Show, or replace what was shown.

        Args:
            html: for front ends.
            text: for terminals and plain viewers.
            final: False for a state that a terminal need not print.
        """
        if (html, text) == self._last or (self._slot and self._slot.owner is not self):
            return
        self._last = (html, text)
        if not in_notebook():
            if final:
                sys.stdout.write(text.rstrip("\n") + "\n")
                sys.stdout.flush()
            return
        bundle = {"text/html": html, "text/plain": text}
        if self._handle is None:
            self._handle = display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)


@dataclass
class _Slot:
    handle: Any
    owner: Output | None = None


class Slots:
    """Empty outputs of the running cell, kept for what a button shows there once the cell has ended.

    A button's own outputs land in no cell: only an output that is there already can be changed. Whatever is shown in the
    slots a second time takes the place of the first.
    """

    def __init__(self, count: int) -> None:
        empty = {"text/html": "", "text/plain": ""}
        self._slots = [_Slot(display(empty, raw=True, display_id=True)) for _ in range(count)]
        self._next = 0

    def take(self, owner: Output) -> _Slot | None:
        """The next slot; None where all are taken."""
        if self._next == len(self._slots):
            return None
        slot = self._slots[self._next]
        self._next += 1
        slot.owner = owner
        return slot

    @contextlib.contextmanager
    def used(self) -> Iterator[None]:
        """Outputs that are made meanwhile (in this thread) take the slots."""
        self._next = 0
        token = _slots.set(self)
        try:
            yield
        finally:
            _slots.reset(token)


_slots: ContextVar[Slots | None] = ContextVar("automodel_nb slots", default=None)


def in_slots() -> bool:
    """Whether what is shown now goes into slots."""
    return _slots.get() is not None
