"""Under the reading: places in a text as an editor counts them, and PyYAML's scanner with what events do not tell."""

from __future__ import annotations

import re
from bisect import bisect_right

import yaml

MAX_DEPTH = 64

_BREAK = re.compile(r"\r\n|\r|\n")
_BOM = "\ufeff"


class Places:
    """Lines and columns (1-based, as an editor counts them) of indexes in a text."""

    def __init__(self, text: str) -> None:
        # not PyYAML's own line numbers: it also ends a line at U+0085, U+2028 and U+2029, which no notebook does
        self._starts = [0, *(match.end() for match in _BREAK.finditer(text))]
        self._bom = text.startswith(_BOM)

    def __call__(self, index: int) -> tuple[int, int]:
        """(line, column) of a character."""
        line = bisect_right(self._starts, index)
        column = index - self._starts[line - 1] + 1
        return line, max(column - (self._bom and line == 1), 1)


class TooDeep(yaml.MarkedYAMLError):
    """More than `MAX_DEPTH` brackets, one in another."""


class Loader(yaml.SafeLoader):
    """Remembers where ``?`` (or the key itself) and ``-`` stood, which events do not tell."""

    head: int | None = None

    def fetch_flow_collection_start(self, TokenClass: type[yaml.Token]) -> None:
        """Refuse to go too deep: the scanner looks ahead, in time that grows with the square of the depth."""
        if self.flow_level >= MAX_DEPTH:
            raise TooDeep(problem_mark=self.get_mark())
        super().fetch_flow_collection_start(TokenClass)

    def event(self) -> yaml.Event:
        """The next event, with `head` of this one."""
        self.head = None
        return self.get_event()  # type: ignore[no-any-return, no-untyped-call]

    def tag(self, kind: type[yaml.Node], event: yaml.ScalarEvent | yaml.CollectionStartEvent) -> str:
        """The tag that is written, else the one that YAML 1.1 gives."""
        if event.tag is not None and event.tag != "!":
            return event.tag
        text = event.value if isinstance(event, yaml.ScalarEvent) else None
        return str(self.resolve(kind, text, event.implicit))  # type: ignore[no-untyped-call]

    def get_token(self) -> yaml.Token:
        """The next token, for the parser."""
        token: yaml.Token = super().get_token()  # type: ignore[no-untyped-call]
        if isinstance(token, yaml.KeyToken | yaml.BlockEntryToken):
            self.head = token.start_mark.index
        return token
