"""What would be submitted: every file, the command, the environment, and what was found."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence

from automodel_nb.findings import Finding
from automodel_nb.views import words
from automodel_nb.views.findings import findings_html, findings_text
from automodel_nb.views.html import FONT, GREEN, LINE, MUTED, RED, bare_code, details, esc, pairs, pre, tag
from automodel_nb.views.html import command as command_block


def preview_html(
    files: Mapping[str, str],
    command: str,
    submit: Sequence[str] = (),
    environment: Mapping[str, object] | None = None,
    findings: Iterable[Finding] = (),
    diff: str = "",
) -> str:
    """The plan as HTML. `environment` values that are no text (markers of secrets) are shown as they print."""
    found = tuple(findings)
    stopped = any(finding.severity == "error" for finding in found)
    title = (
        "Nothing was launched, and nothing can be until the errors are gone."
        if stopped
        else "Nothing was launched. This is what would be submitted."
    )
    parts = [tag("div", tag("strong", title), "margin-bottom:4px"), findings_html(found)]
    if command:
        parts.append(_named("Training command", command_block(command)))
    if submit:
        parts.append(_named("Submitted with", command_block(shlex.join(submit))))
    if diff:
        parts.append(details("Changes to the recipe", pre(_diff(diff)), is_open=True))
    scripts = [name for name in files if name != "recipe.yaml"]
    for name in [*scripts, *(name for name in files if name == "recipe.yaml")]:
        text = files[name]
        summary = f"{name} · {text.count(chr(10)) + (not text.endswith(chr(10)) and bool(text))} lines"
        parts.append(details(summary, pre(_commented(text)), is_open=name in scripts))
    if environment:
        rows = [
            (name, bare_code(value) if isinstance(value, str) else tag("em", esc(value), MUTED))
            for name, value in environment.items()
        ]
        parts.append(details(f"Environment · {len(environment)} variables", pairs(rows)))
    return tag(
        "div",
        "".join(parts),
        f"{FONT};font-size:13px;line-height:1.5;max-width:860px;border:{LINE};border-radius:8px;padding:12px 16px",
    )


def preview_text(
    files: Mapping[str, str],
    command: str,
    submit: Sequence[str] = (),
    environment: Mapping[str, object] | None = None,
    findings: Iterable[Finding] = (),
    diff: str = "",
) -> str:
    """The plan as plain text; the files as they would be written."""
    parts = [findings_text(findings)]
    parts += [_section("training command", command)] if command else []
    parts += [_section("submitted with", shlex.join(submit))] if submit else []
    parts += [_section("changes to the recipe", diff)] if diff else []
    parts += [_section(name, text) for name, text in files.items()]
    if environment:
        parts.append(_section("environment", "\n".join(f"{name}={value}" for name, value in environment.items())))
    return "\n\n".join([*(part for part in parts if part), "Nothing was launched."])


def _section(title: str, text: str) -> str:
    body = text.replace("\r\n", "\n")
    return f"── {words.one_line(title)} {'─' * max(3, 76 - len(title))}\n{words.clean(body).rstrip()}"


def _named(title: str, inner: str) -> str:
    return tag("div", title, f"{MUTED};margin:8px 0 2px") + inner


def _commented(text: str) -> str:
    """Comments step back; directives to Slurm, which look like comments, do not."""
    lines = (line.rstrip("\r") for line in text.split("\n"))
    return "\n".join(
        tag("span", esc(line), "opacity:.62")
        if line.lstrip().startswith("#") and not line.startswith(("#SBATCH", "#!"))
        else esc(line)
        for line in lines
    ).rstrip("\n")


def _diff(text: str) -> str:
    colours = {"+": f"background:{GREEN}2e", "-": f"background:{RED}2e"}
    lines = text.rstrip("\n").split("\n")
    if len(lines) > 1 and lines[0].startswith("--- ") and lines[1].startswith("+++ "):
        return tag("span", esc("\n".join(lines[:2])), MUTED) + "\n" + _diff("\n".join(lines[2:]))
    return "\n".join(tag("span", esc(line), colours.get(line[:1], "")) if line[:1] in colours else esc(line) for line in lines)
