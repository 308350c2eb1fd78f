"""Defaults for launcher fields: of the site, the user, the project, and under a name (``--profile``).

    # automodel_nb.toml
    [slurm]
    account = "my_account"
    partition = "batch"

    [profiles.big.slurm]        # with --profile big
    nodes = 8

    [checks]                    # a finding that is graver here
    no-time = "error"

    [poll]                      # least seconds between two questions to the scheduler
    slurm = 30

A later file goes over an earlier one, field by field (`KEYED` fields key by key); a named profile over all of them; the
cell over everything. An empty value in the cell (``account:``) lifts a default.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args

from automodel_nb.errors import LaunchError
from automodel_nb.findings import Finding, Fix, Severity
from automodel_nb.paths import state_home
from automodel_nb.plan import METHODS

SITE = Path("/etc/automodel_nb.toml")
#: Fields whose keys are defaults of their own: a site's NCCL variables stay where a cell adds its token.
KEYED = frozenset({"env_vars", "extra_sbatch", "file_mounts"})
_TABLES = (*METHODS, "profiles", "checks", "poll")


class Default(str):
    """A value out of a profile, as text.

    Attributes:
        origin: the file (and named profile) that it comes from, for the form and the preview.
    """

    origin: str

    def __new__(cls, text: str, origin: str) -> Default:
        """Keep the text and where it is from."""
        value = super().__new__(cls, text)
        value.origin = origin
        return value


def defaults(profile: str | None, directory: Path) -> dict[str, dict[str, Any]]:
    """Fields by launch method.

    Args:
        profile: a named profile; None for the plain defaults.
        directory: where a project's file is looked for, and in its parents.

    Raises:
        LaunchError: a file that is not TOML, or no profile of that name.
    """
    merged: dict[str, dict[str, Any]] = {method: {} for method in METHODS}
    named: list[tuple[Path, Mapping[str, Any]]] = []
    known: list[str] = []
    for path, table in _tables(directory):
        _merge(merged, table, str(path))
        profiles = _profiles(table)
        known += profiles
        if profile is not None and profile in profiles:
            named.append((path, profiles[profile]))
    if profile is not None and not named:
        near = get_close_matches(profile, known, 1) or sorted(set(known))
        fix = Fix(f"there is {', '.join(near)}" if near else "profiles stand in automodel_nb.toml, as [profiles.NAME.slurm]")
        raise LaunchError([Finding("unknown-profile", "error", f"there is no profile {profile!r}", fix=fix)])
    for path, table in named:
        _merge(merged, table, f"{path}, profile {profile}")
    return merged


def names(directory: Path) -> list[str]:
    """The named profiles that ``--profile`` takes, sorted.

    Raises:
        LaunchError: a file that is not TOML.
    """
    return sorted({name for _, table in _tables(directory) for name in _profiles(table)})


def over(base: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """A section's `fields` over those of `base`: each in place of the other, `KEYED` ones key by key."""
    merged = dict(base)
    for name, value in fields.items():
        below = merged.pop(name, None)  # a key of the cell's, unlike a profile's, knows its place: it is the one to keep
        if name in KEYED and isinstance(below, Mapping) and isinstance(value, Mapping):
            value = {key: item for key, item in below.items() if key not in value} | dict(value)
        merged[name] = value
    return merged


def origins(section: Mapping[str, Any], prefix: str) -> dict[str, str]:
    """Where each value of a section that comes out of a profile is from, by dotted path."""
    found: dict[str, str] = {}
    for name, value in section.items():
        if isinstance(value, Mapping):
            found |= origins(value, f"{prefix}.{name}")
            continue
        first = next(iter(value), None) if isinstance(value, list) else value
        if isinstance(first, Default):
            found[f"{prefix}.{name}"] = first.origin
    return found


def severities(directory: Path) -> dict[str, Severity]:
    """The severity of findings by code, where a file's ``[checks]`` raises one.

    Raises:
        LaunchError: a file that is not TOML, or a word that is no severity.
    """
    raised: dict[str, Severity] = {}
    for path, table in _tables(directory):
        given = table.get("checks")
        for code, word in given.items() if isinstance(given, Mapping) else ():
            severity = next((known for known in get_args(Severity) if known == word), None)
            if severity is None:
                fix = Fix("write hint, warning or error")
                raise LaunchError([Finding("profile", "error", f"{path}: [checks] {code} = {word!r} is no severity", fix=fix)])
            raised[code] = severity
    return raised


def floors(directory: Path) -> dict[str, float]:
    """Least seconds between two questions to a scheduler, by launch method, where a file's ``[poll]`` says so.

    Raises:
        LaunchError: a file that is not TOML, an unknown method, or no number of seconds.
    """
    found: dict[str, float] = {}
    for path, table in _tables(directory):
        for method, seconds in table.get("poll", {}).items():
            if method not in METHODS or isinstance(seconds, bool) or not isinstance(seconds, int | float) or seconds <= 0:
                fix = Fix("write seconds, such as `slurm = 30`")
                raise LaunchError([Finding("profile", "error", f"{path}: [poll] {method} = {seconds!r} is no pause", fix=fix)])
            found[method] = float(seconds)
    return found


def _tables(directory: Path) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """The tables that apply, the weakest first: site, user, project."""
    project = next(
        (path for folder in (directory, *directory.resolve().parents) for path in _project_files(folder) if path.is_file()),
        None,
    )
    for path in (SITE, state_home() / "config.toml", project):
        if path is None:
            continue
        try:
            table: Mapping[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            continue
        except (OSError, UnicodeError, tomllib.TOMLDecodeError) as error:
            raise LaunchError([Finding("profile", "error", f"{path} cannot be read: {error}")]) from None
        if path.name == "pyproject.toml":
            table = table.get("tool", {}).get("automodel_nb", {})
        _check(path, table)
        yield path, table


def _check(path: Path, table: Mapping[str, Any]) -> None:
    """A table that is never read is a typo: told, since defaults that silently do not apply are worse than an error."""
    tables = {"": (table, _TABLES), **{f"profiles.{name}.": (given, METHODS) for name, given in _profiles(table).items()}}
    for prefix, (given, allowed) in tables.items():
        for name, value in given.items():
            if name not in allowed or not isinstance(value, Mapping):
                near = get_close_matches(name, allowed, 1, 0.6)
                fix = Fix(f"did you mean [{prefix}{near[0]}]?" if near else f"there is {', '.join(f'[{t}]' for t in allowed)}")
                what = f"[{prefix}{name}] is no table that is read" if name not in allowed else f"{prefix}{name} is no table"
                raise LaunchError([Finding("profile", "error", f"{path}: {what}", fix=fix)])


def _profiles(table: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    given = table.get("profiles")
    return {name: value for name, value in given.items() if isinstance(value, Mapping)} if isinstance(given, Mapping) else {}


def _project_files(folder: Path) -> Iterator[Path]:
    yield folder / "automodel_nb.toml"
    project = folder / "pyproject.toml"
    try:
        # most have no such table: a look at the text is cheaper than to parse each parent's
        if "[tool.automodel_nb" in project.read_text(encoding="utf-8", errors="replace"):
            yield project
    except OSError:
        return


def _merge(merged: dict[str, dict[str, Any]], table: Mapping[str, Any], origin: str) -> None:
    for method in METHODS:
        fields = table.get(method)
        if isinstance(fields, Mapping):
            merged[method] = over(merged[method], {name: _as_text(value, origin) for name, value in fields.items()})


def _as_text(value: Any, origin: str) -> Any:
    """TOML's types as the text that a user would type in the YAML: each field reads its type out of text."""
    if isinstance(value, Mapping):
        return {key: _as_text(item, origin) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_text(item, origin) for item in value]
    return Default(str(value).lower() if isinstance(value, bool) else str(value), origin)
