"""Write the pages that are made from the code: docs/checks.md, diagnosis.md, fields.md, magics.md, states.md.

usage: make_docs.py [DIRECTORY]
"""

import collections
import json
import os
import sys
from pathlib import Path

from automodel_nb.checks import GROUPS, OTHERS
from automodel_nb.configs import fields
from automodel_nb.magics import AutomodelMagics
from automodel_nb.states import SKYPILOT_STATES, SLURM_STATES, JobState, Observation
from automodel_nb.watching.diagnosis import diagnose_log
from automodel_nb.watching.diagnosis.clues import SIGNS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
LOGS = ROOT / "tests/data/logs"

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


DIAGNOSIS = """\
# Why a job failed

Made by `tools/make_docs.py` from `automodel_nb/watching/diagnosis/`; do not edit.

`job.diagnosis()` gives cause, evidence (the line of the log and its number), rank, node and fix, and where a changed value
would have avoided the failure, that value (`change`), for `%automodel_resume JOB --set …`; the job's card has it on top. The
first real error of the log comes first: a rank's own traceback that is nobody's aftermath, since torchrun's banner can blame
one that only lost its peer. What no line says, exit code and scheduler do; and else it is said that the cause is not known.
"""


def diagnosis() -> str:
    """docs/diagnosis.md."""
    proofs = _proofs()
    parts = [DIAGNOSIS, "\n| code | cause | what to do | proven by |\n|---|---|---|---|\n"]
    seen: dict[str, tuple[str, str]] = {}
    for sign in SIGNS:
        seen.setdefault(sign.code, (_plain(sign.cause), _plain(sign.fix)))
    for code, (cause, fix) in {**seen, **ENDS}.items():
        logs = proofs.pop(code, [])
        real = [name for name in logs if not name.startswith("handwritten/")]
        proof = f"{len(real)} failing run{'s' if len(real) > 1 else ''}: {', '.join(real)}" if real else ""
        by_hand = [name.removeprefix("handwritten/") for name in logs if name.startswith("handwritten/")]
        proof += ("; " if proof and by_hand else "") + (f"by hand: {', '.join(by_hand)}" if by_hand else "")
        parts.append(f"| `{code}` | {cell(cause)} | {cell(fix)} | {proof} |\n")
    assert not proofs, proofs
    real, by_hand = len(list(LOGS.glob("*.log"))), len(list(LOGS.glob("handwritten/*.log")))
    parts.append(f"\n{real} logs are of real failing runs (tests/data/logs), {by_hand} are written by hand.\n")
    return "".join(parts)


#: Causes that no single line of a log tells.
ENDS = {
    "killed": (
        "A rank was killed from outside (SIGKILL), most often because the node's memory ran out.",
        "Ask for more memory.",
    ),
    "crash": ("A rank crashed (segmentation fault, abort).", "A compiled library is at fault."),
    "time-limit": ("The time limit was reached.", "Resume it, with a longer `time` or as a `chain` of jobs."),
    "preempted": ("A job of higher priority took its place.", "Resume it; `requeue: true` lets Slurm do that."),
    "node-failed": ("A node failed.", "Resume it; if it comes again, leave that node out (`exclude`)."),
    "cancelled": ("It was cancelled.", "Resume it to go on."),
    "unknown": ("Nothing that is known here.", "The first error of the log is shown, where there is one."),
}


def _proofs() -> dict[str, list[str]]:
    """The logs of the tests by what is told of them."""
    slurm = json.loads((LOGS / "slurm.json").read_text())
    exits = json.loads((LOGS / "index.json").read_text())
    proofs: dict[str, list[str]] = {}
    for path in sorted([*LOGS.glob("*.log"), *LOGS.glob("handwritten/*.log")]):
        name = path.relative_to(LOGS).with_suffix("").as_posix()
        seen = slurm.get(name.removeprefix("slurm_"), {}) if name.startswith("slurm_") else {}
        state, code = JobState(seen.get("state", "FAILED")), seen.get("exit_code", exits.get(name, 1))
        told = diagnose_log(path, Observation(state, exit_code=code))
        assert told is not None
        proofs.setdefault(told.code, []).append(name)
    return proofs


def _plain(text: str) -> str:
    """A sign's sentence without what a log would fill in."""
    return text.format_map(collections.defaultdict(lambda: "…", who=""))


def cell(text: str) -> str:
    """A text as a cell of a Markdown table."""
    return text.replace("|", "\\|")


PAGES = {"checks.md": checks, "diagnosis.md": diagnosis, "fields.md": field_pages, "magics.md": magics, "states.md": states}


def main(directory: Path) -> None:
    for name, make in PAGES.items():
        (directory / name).write_text(make(), encoding="utf-8")
        print(directory / name)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS)
