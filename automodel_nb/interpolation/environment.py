"""``${VAR}`` in launcher fields. What is secret stays a name.

One syntax is ours, ``${VAR}``. What other tools write (``$VAR``, ``${VAR:-x}``, ``${oc.env:VAR}``, the bare name) is taken
literally, with a warning that a form can fix in one click.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from automodel_nb.errors import LaunchError
from automodel_nb.findings import Finding, Fix, Severity

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_REFERENCE = re.compile(rf"\$\{{({_NAME})\}}")
#: every `$` that means something somewhere: ours, other tools' braces, `$VAR`, `$(command)`
_DOLLAR = re.compile(rf"\$\{{(?P<ours>{_NAME})\}}|\$\{{[^}}]*\}}|\$(?P<bare>{_NAME})|\$\([^)]*\)")
_INSIDE = re.compile(rf"(?:oc\.env:|env:)?\s*(?P<name>{_NAME})")

_SECRET_WORDS = {"TOKEN", "TOKENS", "KEY", "KEYS", "APIKEY", "SECRET", "SECRETS", "PASSWORD", "PASSWD", "PASSPHRASE"}
_SECRET_WORDS |= {"CREDENTIAL", "CREDENTIALS"}
#: 40 hex digits are a Weights & Biases key, or a commit; the variable's name tells
_DIGEST_WORDS = {"COMMIT", "SHA", "SHA1", "HASH", "REV", "REVISION", "REF", "DIGEST", "CHECKSUM", "ETAG", "VERSION"}
_HEX40 = re.compile(r"(?<![A-Za-z0-9])[0-9a-f]{40}(?![A-Za-z0-9])")
_TOKEN = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"hf_[A-Za-z0-9]{24,}|api_org_[A-Za-z0-9]{24,}"  # Hugging Face: user and organisation
    r"|wandb_v\d_[A-Za-z0-9_]{20,}"
    r"|nvapi-[A-Za-z0-9_-]{20,}"
    r"|sk-[A-Za-z0-9_-]{20,}"  # OpenAI, Anthropic
    r"|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,}|glpat-[A-Za-z0-9_-]{20,}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}"
    r"|AIza[A-Za-z0-9_-]{35}"
    r"|xox[abprs]-[A-Za-z0-9-]{10,}"
    r")"
)


def looks_secret(name: str) -> bool:
    """Whether a variable of that name holds a secret: one of its ``_``-separated words says so.

    ``HF_TOKEN`` and ``aws_secret_access_key`` do, ``TOKENIZERS_PARALLELISM`` and ``MONKEY`` do not.
    """
    return not _SECRET_WORDS.isdisjoint(_words(name))


def literal_token(value: str, name: str = "") -> bool:
    """Whether a text holds a token of a known kind (``hf_…``, ``sk-…``, a Weights & Biases key).

    Args:
        value: the text.
        name: the variable it is for: 40 hex digits in ``GIT_COMMIT`` are no key.
    """
    return bool(_TOKEN.search(value) or (_HEX40.search(value) and _DIGEST_WORDS.isdisjoint(_words(name))))


def _words(name: str) -> set[str]:
    return set(re.split(r"[^A-Z0-9]+", name.upper()))


@dataclass(frozen=True, slots=True)
class EnvTemplate:
    """A value that travels by name: ``${HF_TOKEN}``, or a text around one. Its value is never shown.

    Attributes:
        names: the variables it takes its value from.
        template: the text as typed.
    """

    names: tuple[str, ...]
    template: str

    def resolve(self, environ: Mapping[str, str]) -> str:
        """The value, for the environment of a process and nothing else.

        Raises:
            LaunchError: a variable is not set.
        """
        for name in self.names:
            if name not in environ:
                raise LaunchError([_unset(name, environ, None, None, None, "cell")])
        return _REFERENCE.sub(lambda found: environ[found.group(1)], self.template)

    def __str__(self) -> str:
        return self.template


def env_value(
    key: str,
    text: str,
    environ: Mapping[str, str],
    *,
    field: str | None = None,
    line: int | None = None,
    column: int | None = None,
    source: str = "cell",
) -> tuple[str | EnvTemplate, list[Finding]]:
    """A value of ``env_vars``: ``${VAR}`` stays a name, all else is literal.

    Args:
        key: the variable to set.
        text: the scalar's own text.
        environ: this environment, where `${VAR}` will take its value from.
        field, line, column, source: place, for findings.
    """
    place = (field, line, column, source)
    variable = key if key.isupper() else {"wandb_key": "WANDB_API_KEY"}.get(key, key.upper())
    if literal_token(text, key):
        fix = Fix(f"take it out, set {variable} before Jupyter starts, and write ${{{variable}}}", field, f"${{{variable}}}")
        return "", [Finding("literal-secret", "error", f"`{key}` holds a token itself", *place[:3], fix, source)]
    # a finding quotes what it is about: never a part of a password
    findings = [] if looks_secret(key) and not _DOLLAR.fullmatch(text) else _syntax(text, *place, quoted=not looks_secret(key))
    names = tuple(dict.fromkeys(_REFERENCE.findall(text)))
    if names:
        return EnvTemplate(names, text), [*(_unset(name, environ, *place) for name in names if name not in environ), *findings]
    if len(text) > 1 and re.fullmatch(_NAME, text) and text in environ:
        message = f"`{text}` is taken as this very text, not as the value of the variable {text}"
        findings.append(_literal(message, f"${{{text}}}", *place))
    elif text and looks_secret(key) and not findings:
        message = f"the value of `{key}` stands in the text, where every reader of the notebook sees it"
        fix = Fix(f"set {variable} before Jupyter starts, and write ${{{variable}}}", field, f"${{{variable}}}")
        findings.append(Finding("secret-in-text", "warning", message, *place[:3], fix, source))
    return str(text), findings


def expand(
    text: str,
    environ: Mapping[str, str],
    *,
    field: str | None = None,
    line: int | None = None,
    column: int | None = None,
    source: str = "cell",
) -> tuple[str, list[Finding]]:
    """A value of any other launcher field, with ``${VAR}`` expanded; the text as it is where that is refused.

    Args:
        text: the scalar's own text.
        environ: this environment.
        field, line, column, source: place, for findings.
    """
    place = (field, line, column, source)
    if literal_token(text, (field or "").rpartition(".")[2]):
        fix = Fix("take it out; secrets go into env_vars, as ${VAR}", field)
        return "", [Finding("literal-secret", "error", "a token is written here itself", *place[:3], fix, source)]
    findings = _syntax(text, *place)
    for name in dict.fromkeys(_REFERENCE.findall(text)):
        if looks_secret(name):
            message = f"`${{{name}}}` is a secret by its name, and this field would show its value"
            findings.append(Finding("secret-shown", "error", message, *place[:3], Fix("secrets go into env_vars"), source))
        elif name not in environ:
            findings.append(_unset(name, environ, *place))
    if any(finding.severity == "error" for finding in findings):
        return str(text), findings
    return _REFERENCE.sub(lambda found: environ[found.group(1)], text), findings


Place = tuple[str | None, int | None, int | None, str]


def _syntax(
    text: str, field: str | None, line: int | None, column: int | None, source: str, *, quoted: bool = True
) -> list[Finding]:
    """A warning for each other way to write a variable; without `quoted`, a default in it is not repeated."""
    findings = []
    for found in _DOLLAR.finditer(text):
        if found["ours"]:
            continue
        written = found.group()
        inside = _INSIDE.match(written, 2) if written.startswith("${") else None
        name = found["bare"] or (inside["name"] if inside else None)
        if not quoted and not found["bare"]:
            written = f"${{{name}…}}" if name else "$(…)"
        message = f"`{written}` is taken literally: only `${{VAR}}` is replaced"
        if name:
            fixed = text[: found.start()] + f"${{{name}}}" + text[found.end() :]
            findings.append(_literal(message, fixed, field, line, column, source, shown=f"${{{name}}}"))
        else:
            findings.append(Finding("env-syntax", "warning", message, field, line, column, None, source))
    return findings


def _literal(
    message: str, value: str, field: str | None, line: int | None, column: int | None, source: str, shown: str | None = None
) -> Finding:
    return Finding("env-syntax", "warning", message, field, line, column, Fix(f"write {shown or value}", field, value), source)


def _unset(
    name: str, environ: Mapping[str, str], field: str | None, line: int | None, column: int | None, source: str
) -> Finding:
    near = get_close_matches(name, environ, 1, 0.8)
    fix = f"did you mean ${{{near[0]}}}?" if near else "set it before Jupyter starts, or with os.environ in a cell"
    if not near and looks_secret(name):
        fix = f'set it before Jupyter starts, or with os.environ["{name}"] = getpass.getpass() in a cell'
    severity: Severity = "error"
    return Finding(
        "unset-variable", severity, f"`${{{name}}}` is not set in this environment", field, line, column, Fix(fix), source
    )
