"""Undo and redo over immutable states."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")
DEPTH = 500  # states that are kept


class History(Generic[T]):
    """States in the order in which they were made.

    Args:
        first: the state to begin with; undo does not go behind it.
    """

    def __init__(self, first: T) -> None:
        self._past: list[T] = []
        self._future: list[T] = []
        self._step: object = None
        self.now = first

    def push(self, state: T, step: object = None) -> None:
        """Go on to `state`.

        Args:
            step: what is given with the same step as the last one (each letter typed into one field) is undone with it.
        """
        if step is None or step != self._step or self._future:
            self._past = [*self._past[1 - DEPTH :], self.now]
        self._future = []
        self._step = step
        self.now = state

    def replace(self, state: T) -> None:
        """`state` in place of the present one: nothing that could be undone."""
        self.now = state

    @property
    def can_undo(self) -> bool:
        """Whether there is a state before."""
        return bool(self._past)

    @property
    def can_redo(self) -> bool:
        """Whether a state was undone, and nothing was done since."""
        return bool(self._future)

    def undo(self) -> T:
        """Back to the state before; the present one where there is none."""
        if self._past:
            self._future.append(self.now)
            self.now = self._past.pop()
            self._step = None
        return self.now

    def redo(self) -> T:
        """Forward to the state that was undone last."""
        if self._future:
            self._past.append(self.now)
            self.now = self._future.pop()
            self._step = None
        return self.now
