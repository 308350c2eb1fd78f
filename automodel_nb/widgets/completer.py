"""Tab in IPython's completer, which JupyterLab and the terminal both ask. It never waits long, and never raises."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from IPython.core.completer import CompletionContext, SimpleCompletion, SimpleMatcherResult

LONGEST = 1.0  # seconds; JupyterLab itself gives a kernel about as long
_IDENTIFIER = "automodel_nb"


def install(shell: Any, options: Mapping[str, Sequence[str]]) -> None:
    """Propose in cells of ours from now on; a second time in place of the first.

    Args:
        options: by magic (``automodel_launch``), the options of its line.
    """
    completer = getattr(shell, "Completer", None)
    if completer is None:
        return

    def match(context: CompletionContext) -> SimpleMatcherResult:
        # looked at before anything is imported: it is called for every cell of every notebook
        if "automodel_" not in context.full_text:
            return SimpleMatcherResult(completions=[])
        found = _in_time(context, options)
        if found is None:
            return SimpleMatcherResult(completions=[])
        fragment, texts = found
        # nothing else fits into a cell of ours; Jedi would take the YAML for Python
        return SimpleMatcherResult(
            completions=[SimpleCompletion(text=text, type="automodel") for text in texts],
            matched_fragment=fragment,
            suppress=True,
            ordered=True,
        )

    match.matcher_api_version = 2  # type: ignore[attr-defined]
    match.matcher_identifier = _IDENTIFIER  # type: ignore[attr-defined]
    match.matcher_priority = 1000  # type: ignore[attr-defined]
    others = [matcher for matcher in completer.custom_matchers if getattr(matcher, "matcher_identifier", None) != _IDENTIFIER]
    completer.custom_matchers = [match, *others]


def _in_time(context: CompletionContext, options: Mapping[str, Sequence[str]]) -> tuple[str, tuple[str, ...]] | None:
    """The proposals, None where there are none in time: a profile's file may lie on a file system that hangs."""
    found: list[tuple[str, tuple[str, ...]]] = []

    def look() -> None:
        try:
            from automodel_nb.editing.completion import complete

            proposal = complete(context.full_text, context.cursor_line, context.cursor_position, options)
            if proposal is not None:
                found.append((proposal.fragment, proposal.texts))
        except Exception:  # a Tab that does nothing is better than a traceback below a half-written cell
            return

    thread = threading.Thread(target=look, name="automodel_nb completion", daemon=True)
    thread.start()
    thread.join(LONGEST)
    return found[0] if found else None
