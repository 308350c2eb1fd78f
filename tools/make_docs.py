"""Write the pages that are made from the code: docs/checks.md.

usage: make_docs.py [DIRECTORY]
"""

import sys
from pathlib import Path

from automodel_nb.checks import GROUPS, OTHERS

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


def cell(text: str) -> str:
    """A text as a cell of a Markdown table."""
    return text.replace("|", "\\|")


PAGES = {"checks.md": checks}


def main(directory: Path) -> None:
    for name, make in PAGES.items():
        (directory / name).write_text(make(), encoding="utf-8")
        print(directory / name)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS)
