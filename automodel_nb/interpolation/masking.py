"""Hiding known secret values in text that is shown."""

from __future__ import annotations

import re
from collections.abc import Iterable


class Masker:
    """Hides known secret values in text that is shown, also where a value lies across two chunks.

    Args:
        values: secret values; those under 8 characters are left alone, since they occur by chance.
    """

    MASK = "***"
    SHORTEST = 8

    def __init__(self, values: Iterable[str]) -> None:
        # a value of several lines (a PEM key) is also known by each long line of it, as logs are shown by lines
        whole = {value for value in values if len(value) >= self.SHORTEST}
        lines = {line for value in whole for line in value.splitlines() if len(line.strip()) >= 2 * self.SHORTEST}
        self._values = sorted(whole | lines, key=lambda value: (-len(value), value))
        self._pattern = re.compile("|".join(map(re.escape, self._values))) if self._values else None
        self._held = ""

    def __repr__(self) -> str:
        return f"<Masker of {len(self._values)} values>"

    def mask(self, text: str) -> str:
        """`text` with each known value replaced by ``***``."""
        return self._pattern.sub(self.MASK, text) if self._pattern else text

    def feed(self, chunk: str) -> str:
        """What can be shown after this chunk; an end that may be the start of a value is held back."""
        if self._pattern is None:
            return chunk
        text = self._held + chunk
        hold = self._hold(text, 0)
        shown, at = [], 0
        for found in self._pattern.finditer(text):
            if found.start() >= hold:
                break
            shown += [text[at : found.start()], self.MASK]
            at = found.end()
        hold = hold if hold >= at else self._hold(text, at)
        shown.append(text[at:hold])
        self._held = text[hold:]
        return "".join(shown)

    def flush(self) -> str:
        """The rest, at the end of the stream."""
        rest, self._held = self.mask(self._held), ""
        return rest

    def _hold(self, text: str, start: int) -> int:
        """Where the earliest end of `text` begins that could go on to become a value."""
        longest = len(self._values[0]) - 1
        for index in range(max(start, len(text) - longest), len(text)):
            tail = text[index:]
            if any(len(tail) < len(value) and value.startswith(tail) for value in self._values):
                return index
        return len(text)
