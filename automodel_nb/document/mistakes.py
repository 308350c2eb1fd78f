"""What PyYAML's scanner and parser say, in words for someone who wrote the text."""

from __future__ import annotations

import re
from dataclasses import dataclass

import yaml

from automodel_nb.errors import DocumentError
from automodel_nb.findings import Finding, Fix


def mistake(
    code: str,
    message: str,
    *,
    source: str,
    line: int | None = None,
    column: int | None = None,
    field: str | None = None,
    fix: str = "",
) -> DocumentError:
    """A `DocumentError` with one finding."""
    return DocumentError([Finding(code, "error", message, field, line, column, Fix(fix) if fix else None, source)])


@dataclass(frozen=True, slots=True)
class Problem:
    """A syntax error: where, and what to type."""

    code: str
    message: str
    index: int
    fix: str


_LINES = re.compile(r"(?m)^(?:\ufeff)?[ ]*(?P<rest>[^\r\n]*)")

#: (pattern of PyYAML's problem, message, what to type, True where the place is the one that PyYAML calls the context)
_WORDS: list[tuple[str, str, str, bool]] = [
    (
        r"could not find expected ':'",
        "this line is no `key: value`",
        "add the `:`, or indent it to belong to the line above",
        True,
    ),
    (r"found unexpected end of stream", "the quote that opens here is never closed", "close it", True),
    (r"found unexpected document separator", "the quote that opens here is never closed", "close it", True),
    (r"expected ',' or '}'", "the `{` that opens here is not closed, or a `,` is missing in it", "close it with `}`", True),
    (r"expected ',' or '\]'", "the `[` that opens here is not closed, or a `,` is missing in it", "close it with `]`", True),
    (
        r"expected <block end>",
        "this line is indented differently from its neighbours, or something follows a closed value",
        "indent it as the lines it belongs to",
        False,
    ),
    (r"expected the node content", "a value is missing here", "write one, or quote the text", False),
    (r"sequence entries are not allowed", "a list item (`- `) cannot stand here", "start it on a line of its own", False),
    (r"mapping keys are not allowed", "a key cannot stand here", "start it on a line of its own", False),
    (
        r"found unknown escape character",
        "this `\\` starts no escape that double quotes know",
        "use single quotes, or `\\\\`",
        False,
    ),
    (
        r"expected escape sequence",
        "the digits after `\\x`, `\\u` or `\\U` are missing here",
        "write all of them, or use single quotes",
        False,
    ),
    (r"found undefined tag handle", "a value cannot start with `!` here", "quote it", False),
    (r"duplicate %YAML directive", "a second %YAML line", "remove it", False),
    (r"found incompatible YAML document", "another YAML version than 1.x", "remove the %YAML line", False),
    (
        r"expected '<document start>'",
        "text follows where the document has ended",
        "remove it, or indent it to belong to the lines above",
        False,
    ),
    (
        r"expected a comment or a line break|expected chomping or indentation",
        "after `|` or `>` the text starts on the next line",
        "break the line here, or quote the value",
        False,
    ),
    (r"expected indentation indicator", "the indentation after `|` or `>` is 1 to 9", "write another digit", False),
    (
        r"expected alphabetic or numeric character",
        "`*` or `&` starts an alias or an anchor, and its name has letters, digits, - and _",
        "quote a value that starts with `*` or `&`",
        True,
    ),
]


def explain(error: yaml.MarkedYAMLError, text: str) -> Problem:
    """The place and the words for PyYAML's error."""
    problem = error.problem or "not YAML"
    mark = error.problem_mark or error.context_mark
    index = min(mark.index if mark else 0, len(text))
    if found := re.search(r"found character '(.+)' that cannot start any token", problem):
        return _character(found.group(1), text, index)
    if problem.startswith("mapping values are not allowed"):
        return _colon(text, index)
    for pattern, message, fix, at_context in _WORDS:
        if re.search(pattern, problem):
            if at_context and error.context_mark:
                index = min(error.context_mark.index, len(text))
            return Problem("yaml-syntax", message, index, fix)
    return Problem("yaml-syntax", f"not YAML: {problem}", index, "check this line")


def _colon(text: str, index: int) -> Problem:
    """Why a `: ` cannot stand at `index`: PyYAML says just that it cannot."""
    lines = [*_LINES.finditer(text, 0, index)]
    line = lines[-1]
    above = next((found for found in reversed(lines[:-1]) if found["rest"] and not found["rest"].startswith("#")), None)
    if ": " in line["rest"] or above is None:
        return Problem("yaml-syntax", "a second `: ` on this line", index, "quote the value that holds it")
    if missing := re.match(r"[\w.-]+:(?=[^\s/])", above["rest"]):
        at = above.start("rest") + missing.end()
        return Problem("yaml-syntax", "a space is missing behind this `:`", at, "write `key: value`")
    if ":" not in above["rest"]:
        return Problem(
            "yaml-syntax", "this line is no `key: value`", above.start("rest"), "add the `:`, or a quote that closes above"
        )
    return Problem(
        "yaml-syntax", "this line is indented deeper than its neighbour above", line.start("rest"), "indent it the same"
    )


def _character(character: str, text: str, index: int) -> Problem:
    if character != "\\t":
        return Problem("yaml-syntax", f"a value cannot start with `{character}`", index, "quote it")
    start = max(text.rfind("\n", 0, index), text.rfind("\r", 0, index)) + 1
    if not text[start:index].strip(" \t"):
        return Problem("yaml-tab", "a tab indents this line", index, "indent with spaces")
    return Problem(
        "yaml-tab", "a tab stands here, outside of a quoted value", index, "use a space, or delete it at the end of a line"
    )
