"""What the form in the browser is given: plain JSON out of the model, in words that are ready to show."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from automodel_nb.configs import FaultTolerance, FieldDoc, fields
from automodel_nb.editing import controls
from automodel_nb.editing.choices import KNOWN, Choice
from automodel_nb.editing.fields import FieldState, field_of
from automodel_nb.editing.form import Form
from automodel_nb.editing.planned import Planned, summary
from automodel_nb.errors import LaunchError
from automodel_nb.findings import Finding
from automodel_nb.plan import METHODS, Plan
from automodel_nb.planning.explaining import Explained
from automodel_nb.profiles import names
from automodel_nb.views import words
from automodel_nb.widgets.facts import printable

GROUPS = ("most needed", "resources", "scheduling", "container", "environment", "training", "profiling", "advanced")
TABS = {"interactive": "This node", "slurm": "Slurm", "skypilot": "SkyPilot"}
#: Fields for which the cluster knows what there is.
_OF_CLUSTER = ("partition", "account", "qos", "constraint", "gpus_per_node")
#: Each look at these asks another machine or starts a program: they count once they are typed to the end.
_WHEN_DONE = ("host", "python")
_LABELS = {
    "ntasks_per_node": "Processes per node",
    "nproc_per_node": "Processes",
    "time": "Time limit",
    "mem": "Memory",
    "env_vars": "Environment variables",
    "hf_home": "Hugging Face cache",
    "hf_token": "Hugging Face token",
    "wandb_key": "Weights & Biases key",
    "cpus_per_task": "CPUs per process",
    "num_nodes": "Nodes",
    "use_spot": "Spot instances",
    "disk_size": "Disk",
    "chdir": "Working directory",
    "job_dir": "Jobs' directory",
    "nemo_mount": "AutoModel's source",
    "extra_sbatch": "Other options of sbatch",
    "down": "Remove when idle",
    "autostop_minutes": "Stop when idle",
    "signal": "Save before the limit",
    "host": "Login node",
    "infra": "Infrastructure",
    "repo_root": "AutoModel checkout",
    "nsys_enabled": "Profile",
    "nsys_output": "Reports",
    "nsys_args": "Options of nsys",
    "pre_commands": "Commands before training",
    "inherit_env": "Whole environment",
    "exclude": "Nodes to avoid",
    "nodelist": "Nodes to use",
    "gpu_request": "How GPUs are asked for",
}
_WORDS = {"gpus": "GPUs", "cpus": "CPUs", "qos": "QOS", "gres": "GRES", "mpi": "MPI", "automodel": "AutoModel"}


def label(name: str) -> str:
    """A field's name for people."""
    if name in _LABELS:
        return _LABELS[name]
    text = " ".join(_WORDS.get(word, word) for word in name.split("_"))
    return text[:1].upper() + text[1:]


@cache
def shape() -> dict[str, Any]:
    """What does not change: methods, groups, fields."""
    methods = [{"name": name, "label": TABS[name], "groups": _groups(name)} for name in METHODS]
    options = [
        {"name": name, "label": label(name), "help": info.description, "unit": _extra(info)["unit"], "default": _default(info)}
        for name, info in FaultTolerance.model_fields.items()
    ]
    return {"methods": methods, "restarts": options}


def _groups(method: str) -> list[dict[str, Any]]:
    docs = sorted(fields(method), key=lambda doc: doc.name != "job_name")  # the name first; the rest as the configs have it
    found = [{"name": name, "fields": [_field(method, doc) for doc in docs if doc.group == name]} for name in GROUPS]
    return [group for group in found if group["fields"]]


def _field(method: str, doc: FieldDoc) -> dict[str, Any]:
    control = controls.control(method, doc)
    return {
        "name": doc.name,
        "path": f"{method}.{doc.name}",
        "label": label(doc.name),
        "help": doc.description,
        "unit": doc.unit,
        "example": doc.example,
        "default": doc.default,
        "control": control,
        "choices": list(controls.choices(doc)) if control == "choice" else [],
        "combo": doc.name in KNOWN or (method == "slurm" and doc.name in _OF_CLUSTER) or control == "secret",
        "whenDone": doc.name in _WHEN_DONE,
    }


def _extra(info: Any) -> Mapping[str, Any]:
    return info.json_schema_extra if isinstance(info.json_schema_extra, dict) else {}


def _default(info: Any) -> str:
    return "" if info.default is None else str(info.default)


def state_of(form: Form, planned: Planned | None) -> dict[str, Any]:
    """What the form holds.

    Args:
        planned: None while that is still being worked out.
    """
    state = form.state
    findings = planned.findings if planned else ()
    shown = form.fields_with(findings)
    of_fields = {field.path for field in shown}
    wired: dict[str, Any] = printable(
        {
            "method": form.method,
            "head": form.cell.partition("\n")[0],
            "problem": _finding(state.problem) if state.problem else None,
            "fields": {field.doc.name: _state(field) for field in shown if _says_something(field)},
            "findings": [_finding(finding) for finding in findings],
            "general": [
                _finding(finding)
                for finding in findings
                if field_of(finding.field) not in of_fields and finding != state.problem
            ],
            "undo": form.can_undo,
            "redo": form.can_redo,
            "blocked": planned.blocked if planned else "",
            "summary": summary(planned.plan) if planned and planned.plan else "",
            "checking": planned is None,
            "planned": planned is not None and planned.plan is not None,
            "profile": state.options.profile or "",
            "profiles": _profiles(),
        }
    )
    return wired | {"yaml": state.text}  # as it is: what the browser sends back must not differ by a character


def _profiles() -> list[str]:
    try:
        return names(Path.cwd())
    except (LaunchError, OSError):
        return []  # planning tells of it


def _says_something(field: FieldState) -> bool:
    return bool(field.here or field.inherited or field.findings or field.typed is not None)


def _state(field: FieldState) -> dict[str, Any]:
    below = field.inherited
    return {
        "here": field.here,
        "line": field.line,
        "value": field.value,
        "text": field.typed if field.typed is not None else field.text,
        "inherited": {"value": below.value, "origin": below.origin} if below else None,
        "words": field.words,
        "findings": [_finding(finding) for finding in field.findings],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    fix = finding.fix
    return {
        "severity": finding.severity,
        "code": finding.code,
        "message": finding.message,
        "field": finding.field or "",
        "line": finding.line,
        "column": finding.column,
        "fix": fix.text if fix else "",
        "click": {"field": fix.field, "value": fix.value} if fix and fix.field and fix.value is not None else None,
    }


def preview_of(plan: Plan, explained: Explained, before: Mapping[str, str]) -> dict[str, Any]:
    """The rendered files, line by line.

    Args:
        explained: the fields of each line.
        before: the files as they were before the last edit.
    """
    names = [*(name for name in plan.files if name != "recipe.yaml"), "recipe.yaml"]
    files = []
    for name in names:
        lines = plan.files[name].splitlines()
        made = explained.get(name, [])
        new = changed(before.get(name, plan.files[name]).splitlines(), lines)
        files.append(
            {
                "name": name,
                "lines": [
                    [line, number in new, list(made[number]) if number < len(made) else []] for number, line in enumerate(lines)
                ],
            }
        )
    rows = [[name, str(value), isinstance(value, str)] for name, value in plan.environment.items()]
    preview: dict[str, Any] = printable({"files": files, "environment": rows})
    return preview


def changed(before: Sequence[str], after: Sequence[str]) -> set[int]:
    """Which lines of `after` are new or different."""
    opcodes = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return {line for tag, _, _, start, end in opcodes if tag in ("replace", "insert") for line in range(start, end)}


def choices_of(found: Iterable[Choice]) -> list[list[str]]:
    """Choices as rows: value, note, problem."""
    return [[words.clean(choice.value), words.clean(choice.note), words.clean(choice.problem)] for choice in found]
