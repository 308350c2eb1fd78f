"""A ``%%automodel_launch`` cell as text: its first line, and the YAML below."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from automodel_nb.errors import LaunchError
from automodel_nb.findings import Finding, Fix

MAGIC = "%%automodel_launch"


@dataclass(frozen=True)
class Options:
    """What a cell's first line says beside the method, as `api.plan_of` takes it.

    Attributes:
        others: words that the plan does not depend on (``--wait``), kept for the cell.
    """

    file: str | None = None
    overrides: Mapping[str, str] = field(default_factory=dict)
    profile: str | None = None
    host: str | None = None
    name: str | None = None
    ignore: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    @property
    def words(self) -> list[str]:
        """The options as words of the line."""
        pairs = [("-c", self.file), ("--profile", self.profile), ("--host", self.host), ("--name", self.name)]
        pairs += [("--set", f"{path}={text}") for path, text in self.overrides.items()]
        pairs += [("--ignore", code) for code in self.ignore]
        return [word for name, value in pairs if value is not None for word in (name, value)] + list(self.others)


@dataclass(frozen=True)
class Cell:
    """What a cell says: the method of its first line (None where it names none), its options, its YAML."""

    method: str | None
    options: Options
    yaml: str

    @property
    def text(self) -> str:
        """The cell's text."""
        words = [MAGIC, *([self.method] if self.method else []), *map(shlex.quote, self.options.words)]
        return " ".join(words) + "\n" + self.yaml


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _wrong(f"the cell's first line: {message}")


def _parser() -> _Parser:
    parser = _Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("method", nargs="?")
    parser.add_argument("-c", "--config")
    parser.add_argument("--from", dest="base")
    parser.add_argument("--set", action="append", default=[])
    for name in ("--name", "--profile", "--host", "--as"):
        parser.add_argument(name)
    parser.add_argument("--ignore", action="append", default=[])
    for name in ("--wait", "--detach"):
        parser.add_argument(name, action="store_true")
    parser.add_argument("-n", "--dry-run", action="store_true")
    return parser


def read(text: str) -> Cell:
    """Read a cell's text; without a first line of ours, all of it is YAML.

    Raises:
        LaunchError: the first line has what a form cannot hold.
    """
    first, _, rest = text.lstrip().partition("\n")
    if not first.startswith(MAGIC):
        return Cell(None, Options(), text)
    try:
        given = _parser().parse_args(shlex.split(first.removeprefix(MAGIC)))
    except ValueError as error:
        raise _wrong(f"the cell's first line: {str(error).lower()}") from None
    if given.base is not None:
        raise _wrong("the form edits a text, and `--from` has none", f"am.form(am.attach({given.base!r}).yaml)")
    others = [word for word, on in (("--wait", given.wait), ("--detach", given.detach)) if on]
    others += ["--as", vars(given)["as"]] if vars(given)["as"] else []
    overrides = dict(pair.partition("=")[::2] for pair in given.set)
    options = Options(given.config, overrides, given.profile, given.host, given.name, tuple(given.ignore), tuple(others))
    return Cell(given.method, options, rest)


def _wrong(message: str, fix: str = "") -> LaunchError:
    return LaunchError([Finding("cell", "error", message, fix=Fix(fix) if fix else None)])
