"""Write the pages that are made from the code: docs/checks.md, fields.md, magics.md, states.md.

usage: make_docs.py [DIRECTORY]
"""

import os
import sys
from pathlib import Path

from automodel_nb.checks import GROUPS, OTHERS
from automodel_nb.configs import fields
from automodel_nb.magics import AutomodelMagics
from automodel_nb.states import SKYPILOT_STATES, SLURM_STATES, JobState

DOCS = Path(__file__).parents[1] / "docs"

HEAD = """\
# Checks before a launch

Made by `tools/make_docs.py` from the rules' own docstrings in `automodel_nb/checks/`; do not edit.

An **error** stops the launch, a **warning** or **hint** does not. `--ignore CODE` passes over one (but for mistakes of the text
itself). A profile raises one, here so that no job is launched without a time limit:

    # automodel_nb.toml
    [checks]
    no-time = "error"

Rules look at what is known: a rule whose facts are missing (no AutoModel installed, no cluster that answers, a file system that
hangs) says nothing.
"""


def checks() -> str:
    """docs/checks.md."""
    parts = [HEAD]
    for title, rules in GROUPS.items():
        parts.append(f"\n## {title}\n\n| code | severity | the rule | where it comes from |\n|---|---|---|---|\n")
        parts += [f"| `{rule.code}` | {rule.severity} | {cell(rule.says)} | {cell(rule.source)} |\n" for rule in rules]
    parts.append("\n## Found elsewhere\n\nWhile the text is read, while the launch is planned, and by the scheduler.\n\n")
    parts.append("| code | severity | what it says |\n|---|---|---|\n")
    parts += [f"| `{code}` | {severity} | {cell(says)} |\n" for code, (severity, says) in sorted(OTHERS.items())]
    return "".join(parts)


def field_pages() -> str:
    """docs/fields.md."""
    parts = [
        "# Launcher fields\n\nMade by `tools/make_docs.py` from the descriptions in `automodel_nb/configs/`; do not edit.\n\n"
        "An unknown field is an error with its line and the nearest known one. `${NAME}` is replaced by the notebook's\n"
        "environment variable; in `env_vars`, `hf_token` and `wandb_key` it travels by name and never shows its value.\n"
    ]
    docs = {method: fields(method) for method in ("interactive", "slurm", "skypilot")}
    shared = (
        {doc.name for doc in docs["interactive"]} & {doc.name for doc in docs["slurm"]} & {doc.name for doc in docs["skypilot"]}
    )
    common = [doc for doc in docs["interactive"] if doc.name in shared]
    for title, rows in [
        ("All methods", common),
        *((f"`{method}:`", [doc for doc in rows if doc.name not in shared]) for method, rows in docs.items()),
    ]:
        parts.append(f"\n## {title}\n\n| field | meaning | default | example |\n|---|---|---|---|\n")
        for doc in rows:
            choices = f" One of {', '.join(f'`{choice}`' for choice in doc.choices)}." if doc.choices else ""
            unit = f" ({doc.unit})" if doc.unit else ""
            default = f"`{doc.default}`" if doc.default else "unset"
            example = f"`{cell(doc.example)}`" if doc.example else ""
            parts.append(f"| `{doc.name}` | {cell(doc.description)}{unit}{choices} | {cell(default)} | {example} |\n")
    return "".join(parts)


def magics() -> str:
    """docs/magics.md."""
    os.environ["COLUMNS"] = "100"  # as wide as argparse takes the terminal to be
    parts = [
        "# Magics\n\nMade by `tools/make_docs.py` from the magics themselves; do not edit. Each has `?` help.\n\n"
        "`$` and `{}` on a magic's line and in its cell are left alone; `{{ name }}` in the launcher section takes a value\n"
        "from the notebook.\n"
    ]
    for name, magic in vars(AutomodelMagics).items():
        if not name.startswith("automodel_"):
            continue
        help_text = magic.parser.format_help().replace("::\n\n", "").strip()
        parts.append(f"\n## `%{name}`\n\n```\n{help_text}\n```\n")
    return "".join(parts)


def states() -> str:
    """docs/states.md."""
    parts = [
        "# States\n\nMade by `tools/make_docs.py` from `automodel_nb/states.py`; do not edit.\n\n"
        "The scheduler decides the state while it knows the job; then the exit code that the job itself wrote; then\n"
        "slurmstepd's last words in the log; else the state is UNKNOWN, with the last evidence in words. A job that saved and\n"
        "stopped on a signal is TIMEOUT, PREEMPTED or CANCELLED although AutoModel exits with 0; the reason names the step.\n\n"
        "| state | final | Slurm's states | SkyPilot's states |\n|---|---|---|---|\n"
    ]
    for state in JobState:
        slurm, sky = (", ".join(name for name, to in table.items() if to is state) for table in (SLURM_STATES, SKYPILOT_STATES))
        parts.append(f"| {state.value} | {'yes' if state.final else 'no'} | {slurm} | {sky} |\n")
    return "".join(parts)


def cell(text: str) -> str:
    """A text as a cell of a Markdown table."""
    return text.replace("|", "\\|")


PAGES = {"checks.md": checks, "fields.md": field_pages, "magics.md": magics, "states.md": states}


def main(directory: Path) -> None:
    for name, make in PAGES.items():
        (directory / name).write_text(make(), encoding="utf-8")
        print(directory / name)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS)
