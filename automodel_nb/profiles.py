"""Defaults for launcher fields: of the site, the user, the project, and under a name (``--profile``).

    # automodel_nb.toml
    [slurm]
    account = "my_account"
    partition = "batch"

    [profiles.big.slurm]        # with --profile big
    nodes = 8

    [checks]                    # a finding that is graver here
    no-time = "error"

A later file goes over an earlier one, field by field; a named profile over all of them; the cell over everything.
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
        profiles = table.get("profiles")
        if isinstance(profiles, Mapping):
            known += profiles
            if profile in profiles and isinstance(profiles[profile], Mapping):
                named.append((path, profiles[profile]))
    if profile is not None and not named:
        near = get_close_matches(profile, known, 1) or sorted(set(known))
        fix = Fix(f"there is {', '.join(near)}" if near else "profiles stand in automodel_nb.toml, as [profiles.NAME.slurm]")
        raise LaunchError([Finding("unknown-profile", "error", f"there is no profile {profile!r}", fix=fix)])
    for path, table in named:
        _merge(merged, table, f"{path}, profile {profile}")
    return merged


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
            table = table["tool"]["automodel_nb"]
        yield path, table


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
            merged[method] |= {name: _as_text(value, origin) for name, value in fields.items()}


def _as_text(value: Any, origin: str) -> Any:
    """TOML's types as the text that a user would type in the YAML: each field reads its type out of text."""
    if isinstance(value, Mapping):
        return {key: _as_text(item, origin) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_text(item, origin) for item in value]
    return Default(str(value).lower() if isinstance(value, bool) else str(value), origin)
