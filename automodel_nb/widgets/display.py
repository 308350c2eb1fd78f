"""Outputs that can be changed later, by display handle: they survive in the saved file and need no front-end package."""

from __future__ import annotations

import sys
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
        self._handle: Any = None
        self._last: tuple[str, str] | None = None

    def show(self, html: str, text: str, *, final: bool = True) -> None:
        """Show, or replace what was shown.

        Args:
            html: for front ends.
            text: for terminals and plain viewers.
            final: False for a state that a terminal need not print.
        """
        if (html, text) == self._last:
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
