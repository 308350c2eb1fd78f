"""Values as AutoModel's own ``--a.b=value`` arguments, for what a cell adds to a recipe that lies in a file.

AutoModel (0.1 to 0.7, ``components/config/{_arg_parser,loader}.py``) reads an argument's text with ``ast.literal_eval``,
falling back to the text itself, and then treats the result as it treats a value out of the file: text is read *again*
the same way, ``$NAME`` in it is resolved in the job, and a key that is ``_target_`` or ends in ``_fn`` names something to
import. So a value travels when both ways end at the same place; ``"8"`` in a file is the number 8 to AutoModel, and ``--a=8``
is therefore right for it.

This is that reading without AutoModel; tests/automodel compare it with the real ones.
"""

from __future__ import annotations

import ast
import warnings

_WORDS = {"none": None, "None": None, "true": True, "True": True, "false": False, "False": False}
_LONGEST_LITERAL = 1000  # characters; AutoModel takes anything longer as plain text

# The long options that AutoModel's command lines (both generations) take for themselves, abbreviations included.
_AUTOMODEL_OPTIONS = ("config", "help", "nproc-per-node", "nproc_per_node")
# torchrun lets its script's arguments pass, but stops at one that abbreviates two of its own options (torch 2.13's parser).
_TORCHRUN_OPTIONS = (
    *("help", "nnodes", "standalone", "role", "module", "redirects", "tee"),
    *(
        spelling
        for option in (
            *("nproc-per-node", "rdzv-backend", "rdzv-endpoint", "rdzv-id", "rdzv-conf", "max-restarts", "monitor-interval"),
            *("start-method", "event-log-handler", "no-python", "run-path", "log-dir", "local-ranks-filter", "node-rank"),
            *("duplicate-stdout-filters", "duplicate-stderr-filters", "master-addr", "master-port", "local-addr", "logs-specs"),
            *("numa-binding", "signals-to-handle", "shutdown-timeout", "virtual-local-rank"),
        )
        for spelling in (option, option.replace("-", "_"))
    ),
)


class Reference(str):
    """Text in which AutoModel resolves ``$NAME`` and ``${NAME}`` where the job runs."""

    __slots__ = ()


class Target(str):
    """A dotted import path (``_target_``, ``*_fn``), which AutoModel replaces by what it names."""

    __slots__ = ()


def override_argument(path: str, value: object) -> str:
    """The argument that gives ``path`` what AutoModel would read for ``value`` in the file.

    Args:
        path: dotted, ``optimizer.lr``.
        value: as ``yaml.safe_load`` gives it.

    Raises:
        ValueError: AutoModel would not read it back equal; one line, without the value (it may be a secret).
    """
    key = _last_key(path)
    try:
        wanted = _as_in_file(value, key)
        for text in ([value] if isinstance(value, str) else []) + [_literal(value)]:
            if _fits_an_argument(text) and _same(reads_back(text, key), wanted):
                return scalar_override(path, text)
    except RecursionError:
        pass
    kind = {"dict": "mapping", "str": "text"}.get(name := type(value).__name__, name)
    raise ValueError(f"this {kind} cannot be an argument: AutoModel would not read it back equal; put {path} into the file")


def scalar_override(path: str, text: str) -> str:
    """``--path=text``, the text as AutoModel's own command line takes it.

    Raises:
        ValueError: AutoModel's command line would take the path for something else, or no argument can hold the text.
    """
    _last_key(path)
    if not _fits_an_argument(text):
        raise ValueError(f"the value of {path} holds a character that no argument can hold; put it into the file")
    return f"--{path}={text}"


def reads_back(text: str, key: str = "") -> object:
    """What AutoModel makes of ``--…key=text``: plain Python values, `Reference` and `Target` where more happens in the job."""
    return _as_in_file(_translated(text), key)


def _as_in_file(value: object, key: str) -> object:
    """ConfigNode._wrap: what AutoModel makes of a value loaded from YAML."""
    if isinstance(value, dict):
        return {name: _as_in_file(item, name if isinstance(name, str) else "") for name, item in value.items()}
    if isinstance(value, list):
        return [_as_in_file(item, "") for item in value]
    if not isinstance(value, str):
        return value
    if key == "_target_" or key.endswith("_fn"):
        return Target(value)
    return Reference(value) if "$" in value else _translated(value)


def _translated(text: str) -> object:
    """translate_value: a Python literal where the text is one, else the text."""
    if text in _WORDS:
        return _WORDS[text]
    if len(text) > _LONGEST_LITERAL:
        return text
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the compiler's remarks on text that was never meant as Python
        try:
            return ast.literal_eval(text)
        except Exception:  # as AutoModel does: SyntaxError, ValueError, MemoryError, RecursionError, …
            return text


def _literal(value: object) -> str:
    """``repr``, with an infinity written as the literal that overflows to it (``inf`` is no literal)."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_literal(name)}: {_literal(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal, value)) + "]"
    return {"inf": "1e999", "-inf": "-1e999"}.get(text := repr(value), text)


def _same(one: object, other: object) -> bool:
    """Equal, and of equal types all the way down: ``1``, ``1.0`` and ``True`` are three values."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        return len(one) == len(other) and all(_same(a, b) and _same(one[a], other[b]) for a, b in zip(one, other, strict=True))
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return repr(one) == repr(other) if isinstance(one, float) else one == other


def _last_key(path: str) -> str:
    """The last key of a path that AutoModel's command line takes as a path."""
    keys = path.split(".")
    if not all(keys):
        raise ValueError(f"{path!r} is not a dotted path such as optimizer.lr")
    if "=" in path or path.startswith("-") or not _fits_an_argument(path):
        raise ValueError(
            f"the key {path!r} cannot be an argument of AutoModel's (it holds '=' or starts with '-'); put it into the file"
        )
    if len(keys) == 1 and _is_an_option(path):
        raise ValueError(f"--{path} is an option of AutoModel's or torchrun's own command line; put {path} into the file")
    return keys[-1]


def _is_an_option(name: str) -> bool:
    if any(option.startswith(name) for option in _AUTOMODEL_OPTIONS):
        return True
    return name not in _TORCHRUN_OPTIONS and sum(option.startswith(name) for option in _TORCHRUN_OPTIONS) > 1


def _fits_an_argument(text: str) -> bool:
    """An argument is bytes without NUL; half a surrogate pair, which YAML can escape, has no bytes."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)
