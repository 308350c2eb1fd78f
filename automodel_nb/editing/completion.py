"""What Tab proposes in a cell of ours: options of the magic, launcher keys at their level, values that are known.

Nothing is asked that takes time: of a cluster, what is known by now. A half-written cell is the usual case, not a mistake.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from automodel_nb.configs import FaultTolerance, FieldDoc, VolumeMapping, fields
from automodel_nb.editing import controls
from automodel_nb.editing.choices import VARIABLES, choices, cluster
from automodel_nb.editing.where import Where, where
from automodel_nb.errors import LaunchError
from automodel_nb.interpolation.environment import looks_secret
from automodel_nb.plan import METHODS
from automodel_nb.profiles import names

_MAGIC = re.compile(r"\s*%{1,2}(?P<name>automodel_\w+)(?P<rest>\s.*)?$")
_WITH_METHOD = ("automodel_launch", "automodel_new", "automodel_form")


@dataclass(frozen=True)
class Proposal:
    """What could stand in place of `fragment`, the characters before the cursor."""

    fragment: str
    texts: tuple[str, ...] = ()


def complete(
    text: str, row: int, column: int, options: Mapping[str, Sequence[str]], environ: Mapping[str, str] = os.environ
) -> Proposal | None:
    """What Tab proposes; None where the cell is none of ours.

    Args:
        text: the whole cell.
        row, column: of the cursor, 0-based.
        options: by magic (``automodel_launch``), the options of its line.
        environ: names of variables come from here.
    """
    lines = text.split("\n")
    if row >= len(lines):
        return None
    line = lines[row][:column]
    if found := _MAGIC.match(line):
        return _on_line(found["name"], found["rest"], options) if found["rest"] else None
    first = next((index for index, other in enumerate(lines) if other.strip()), 0)
    magic = _MAGIC.match(lines[first])
    if magic is None or magic["name"] != "automodel_launch" or not lines[first].lstrip().startswith("%%") or row <= first:
        return None
    place = where(lines[first + 1 :], row - first - 1, column)
    if place is None:
        return Proposal("")
    method = next((word for word in (magic["rest"] or "").split() if word in METHODS), None)
    if place.key is None:
        return _keys(place, method, lines[row][column:], environ)
    return _values(place, environ)


def _on_line(name: str, rest: str, options: Mapping[str, Sequence[str]]) -> Proposal:
    words = rest.split()
    fragment = "" if rest[-1:].isspace() else words.pop()
    before = words[-1] if words else ""
    if before == "--profile":
        return _fitting(fragment, _profiles())
    if before == "--set":
        return _fitting(fragment, [f"{method}.{doc.name}=" for method in METHODS for doc in fields(method)])
    if before.startswith("-") and before not in ("-n", "--dry-run", "--wait", "--detach", "--all"):
        return Proposal(fragment)  # the value of an option: a file, which others complete, or a name
    free = [option for option in options.get(name, ()) if option not in words or option in ("--set", "--ignore")]
    if fragment.startswith("-"):
        return _fitting(fragment, free)
    methods = METHODS if name in _WITH_METHOD and not any(word in METHODS for word in words) else ()
    return _fitting(fragment, [*methods, *(() if fragment else free)])


def _profiles() -> list[str]:
    try:
        return names(Path.cwd())
    except (LaunchError, OSError):
        return []


def _keys(place: Where, method: str | None, after: str, environ: Mapping[str, str]) -> Proposal:
    path, section = place.path, place.path[0] if place.path else None
    known: Iterable[tuple[str, bool]] = ()  # name, and whether its value begins on the next line
    if not path and not place.flow:
        known = [(name, True) for name in METHODS if method in (None, name) and not place.used & set(METHODS)]
    elif section in METHODS and len(path) == 1:
        known = [(doc.name, doc.kind in ("mapping", "list") and not place.flow) for doc in _docs(section)]
    elif section in METHODS and path[1:] == ("fault_tolerance",):
        known = [(name, False) for name in FaultTolerance.model_fields]
    elif section in METHODS and path[1:] in (("extra_mounts", "-"), ("nemo_mount",)):
        known = [(name, False) for name in VolumeMapping.model_fields]
    elif section in METHODS and path[1:] == ("env_vars",):
        known = [(name, False) for name in dict.fromkeys([*filter(looks_secret, sorted(environ)), *VARIABLES])]
    colon = re.match(r"[\w.-]*[\"']?\s*:", after) is not None
    return _fitting(
        place.typed,
        [name if colon else f"{name}:" if block else f"{name}: " for name, block in known if name not in place.used],
    )


def _values(place: Where, environ: Mapping[str, str]) -> Proposal:
    section, key = place.path[0] if place.path else None, place.key
    if section not in METHODS:
        return Proposal(place.typed)
    if place.path[1:] == ("env_vars",) or key in ("hf_token", "wandb_key"):
        secrets = [name for name in sorted(environ) if looks_secret(name)]
        return _fitting(place.typed, [f"${{{name}}}" if place.quoted else f'"${{{name}}}"' for name in secrets], "\"'${")
    doc = next((doc for doc in _docs(section) if doc.name == key), None)
    if key == "read_only" or doc is None or len(place.path) > 1:
        return _fitting(place.typed, controls.YES_NO if key == "read_only" else ())
    kind = controls.control(section, doc)
    if kind == "choice":
        return _fitting(place.typed, controls.choices(doc))
    if kind in ("switch", "restarts"):
        return _fitting(place.typed, controls.YES_NO)
    facts = cluster().look() if section == "slurm" else None
    texts = [choice.value for choice in choices(doc.name, facts, environ)] or ([doc.example] if doc.example else [])
    return _fitting(place.typed, [text if place.quoted else _quoted(doc, text) for text in texts], "\"'")


def _docs(method: str) -> tuple[FieldDoc, ...]:
    return fields(method)


def _quoted(doc: FieldDoc, text: str) -> str:
    """A value as a YAML that reads ``10:00:00`` as a number wants it."""
    return text if re.fullmatch(r"[\w./@~+-]+(:[A-Za-z][\w./-]*)?", text) else f'"{text}"'


def _fitting(fragment: str, texts: Iterable[str], ignored: str = "") -> Proposal:
    """Those that begin with the fragment, quotes and the like aside."""
    start = fragment.lstrip(ignored).lower()
    return Proposal(fragment, tuple(text for text in dict.fromkeys(texts) if text.lstrip(ignored).lower().startswith(start)))
