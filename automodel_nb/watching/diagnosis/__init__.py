"""Why a job failed: the first real cause, out of its log, its exit code and what its scheduler says. Pure.

    diagnose(lines, end)        a log's physical lines, and the final observation
    diagnose_log(log, end)      the same of a file, fast where it is large

The log's own first error comes first (`errors_in_log`): a rank's traceback that is nobody's aftermath. What it means, tables
of signs say (`machine`, `training`). Where no line says anything, exit code and scheduler do; and where they do not either,
it is said that the cause is not known.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from automodel_nb.states import JobState, Observation
from automodel_nb.watching.diagnosis.clues import Clues, Match, clues_in, clues_of
from automodel_nb.watching.errors_in_log import ErrorLine
from automodel_nb.watching.logfile import Source


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why a job failed.

    Attributes:
        cause: one sentence.
        evidence: the line that says so; empty where no line does.
        line: its number in the log, from 1.
        rank: the one that failed first, where that is known.
        node: the host it failed on, where that is known.
        fix: what to do.
        code: stable name (``gpu-memory``); ``unknown`` where the cause is not known.
        change: ``--set`` values (dotted path to text) that would have avoided it, for a resume or a new launch; often none.
    """

    cause: str
    evidence: str = ""
    line: int | None = None
    rank: int | None = None
    node: str | None = None
    fix: str = ""
    code: str = "unknown"
    change: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Setting:
    """What is known of the job besides its log and its end.

    Attributes:
        recipe: its recipe as data, for a change that can be applied.
        workers_per_node: to tell a rank's node.
        method: ``interactive``, ``slurm`` or ``skypilot``.
    """

    recipe: Mapping[str, Any] = field(default_factory=dict)
    workers_per_node: int | None = None
    method: str = ""


def diagnose(lines: Iterable[str], end: Observation, setting: Setting | None = None) -> Diagnosis | None:
    """Why a job failed, out of its log's physical lines; None for one that did not fail (or has not yet)."""
    return _diagnose(clues_of(lines), end, setting or Setting()) if _failed(end) else None


def diagnose_log(log: str | os.PathLike[str] | Source, end: Observation, setting: Setting | None = None) -> Diagnosis | None:
    """Why a job failed, out of its log; a log that is not there says nothing."""
    return _diagnose(clues_in(log), end, setting or Setting()) if _failed(end) else None


def _failed(end: Observation) -> bool:
    return end.state.final and not end.state.ok


def _diagnose(clues: Clues, end: Observation, setting: Setting) -> Diagnosis:
    error = clues.error
    told = _of_scheduler(clues, end)
    if told is not None:
        return told
    match = clues.best(error)
    if match is not None and not match.sign.weak:
        return _of_match(match, clues, end, setting)
    suffered = match is not None and error is not None and match.number == error.number
    if error is not None and error.kind in ("exception", "scheduler", "crash", "message") and not suffered:
        return _of_error(error, clues, end, setting)
    if end.state is JobState.OUT_OF_MEMORY:
        fix = "Ask for more (`mem: 0` is all of a node's), or use fewer data loader workers."
        return Diagnosis("The job's memory on a node ran out.", fix=fix, code="host-memory", node=_only(end.nodes))
    if error is not None and error.kind == "torchrun":
        return _of_banner(error, clues, end, setting)
    if match is not None:
        return _of_match(match, clues, end, setting)
    if error is not None:
        return _of_error(error, clues, end, setting)
    return _of_exit_code(end)


# --- by what the scheduler says ---

_SCHEDULER: dict[JobState, tuple[str, str, str]] = {
    JobState.TIMEOUT: ("time-limit", "The time limit was reached.", "Resume it, with a longer `time` or as a `chain` of jobs."),
    JobState.PREEMPTED: (
        "preempted",
        "A job of higher priority took its place.",
        "Resume it; `requeue: true` lets Slurm do that.",
    ),
    JobState.NODE_FAIL: ("node-failed", "A node failed.", "Resume it; if it comes again, leave that node out (`exclude`)."),
    JobState.CANCELLED: ("cancelled", "It was cancelled.", "Resume it to go on."),
}


def _of_scheduler(clues: Clues, end: Observation) -> Diagnosis | None:
    """What ended the job from outside; None where it ended itself."""
    if end.state not in _SCHEDULER:
        return None
    code, cause, fix = _SCHEDULER[end.state]
    error = clues.error
    if end.state is JobState.TIMEOUT and error and error.kind == "exception":
        # a rank failed, and the others waited for it until the limit
        cause = f"A rank failed, and the others waited for it until the time limit: {error.text}"
        return Diagnosis(cause, error.text, error.number, error.rank, fix="Look at that error first.", code="hung-until-limit")
    if end.reason_code.startswith("saved"):
        cause = f"{cause.rstrip('.')}; {end.reason.rpartition('; ')[2]}."
    word = clues.scheduler_word
    node = clues.failed_node if code == "node-failed" else None
    if node:
        cause = f"The node {node} failed."
    return Diagnosis(cause, word.text if word else "", word.number if word else None, node=node, fix=fix, code=code)


# --- by a line of the log ---

_TASK_ENDED = re.compile(r"srun: error: (?P<node>[\w.-]+): tasks? \S+: (?P<how>.+)")


def _of_match(match: Match, clues: Clues, end: Observation, setting: Setting) -> Diagnosis:
    values = {name: text for name, text in match.groups.items() if text}
    who, rank = "", match.rank
    if match.sign.weak:
        rank, who = _missing(clues)
    what = values.get("what") or values.get("path") or values.get("keys") or values.get("name") or ""
    values = {"why": "", "program": "", "of": "", **values, "what": what, "who": who}
    cause = match.sign.cause.format_map(values).rstrip(": ")
    return Diagnosis(
        cause=_as_sections(cause if cause.endswith(".") else f"{cause}."),
        evidence=match.text,
        line=match.number,
        rank=rank,
        node=match.groups.get("node") or match.node or _node_of(rank, match.task, end, setting),
        fix=match.sign.fix.format_map(values),
        code=match.sign.code,
        change=_change(match, setting.recipe),
    )


def _as_sections(cause: str) -> str:
    """A cause with the recipe's own words: ``step_scheduler takes no …`` for ``StepSchedulerConfig.__init__ takes no …``."""
    for name, section in (("StepSchedulerConfig", "step_scheduler"), ("CheckpointingConfig", "checkpoint")):
        cause = cause.replace(f"{name}.__init__", f"`{section}`").replace(name, f"`{section}`")
    return cause.replace(".__init__ takes", " takes")


def _missing(clues: Clues) -> tuple[int | None, str]:
    """The rank that the others waited for: the one that said nothing, or that its launcher killed."""
    if clues.world_size is None:
        return None, ""
    silent = sorted(set(range(clues.world_size)) - clues.suffering)
    if len(silent) == 1:
        return silent[0], f": rank {silent[0]} did not take part"
    if 1 < len(silent) <= 8:
        return None, f": ranks {', '.join(map(str, silent))} did not take part"
    return None, ""


def _of_error(error: ErrorLine, clues: Clues, end: Observation, setting: Setting) -> Diagnosis:
    """A line that says what went wrong, and no sign that says what that means."""
    node = _node_of(error.rank, None, end, setting)
    if error.kind == "crash":
        cause, fix = f"The program crashed: {error.text}", "A compiled library is at fault; the lines above may name it."
        return Diagnosis(cause, error.text, error.number, error.rank, node, fix, "crash")
    if error.kind == "aftermath" and (task := _TASK_ENDED.match(error.text)):
        cause = f"Why is not known: the task on {task['node']} ended ({task['how'].lower()}), and said nothing in this log."
        return Diagnosis(cause, error.text, error.number, None, task["node"], "Look at that node.", "unknown")
    if error.kind == "aftermath":
        return Diagnosis(
            "A rank failed without a word; this is what the others saw.", error.text, error.number, None, None,
            "Look at the logs of the other nodes.", "unknown",
        )  # fmt: skip
    cause = f"It ended with an error whose cause is not known: {error.text}"
    return Diagnosis(cause, error.text, error.number, error.rank, node, "The log says more around that line.", "unknown")


def _of_banner(error: ErrorLine, clues: Clues, end: Observation, setting: Setting) -> Diagnosis:
    """A rank ended and said nothing itself: torchrun's banner is all there is."""
    node = _node_of(error.rank, None, end, setting)
    if "SIGKILL" in error.text:
        cause = f"Rank {error.rank} was killed from outside (SIGKILL), most often because the node's memory ran out."
        fix = "Use fewer data loader workers, or ask for more memory; the node's kernel log (dmesg) tells."
        return Diagnosis(cause, error.text, error.number, error.rank, node, fix, "killed")
    if "SIG" in error.text:
        cause = f"Rank {error.rank} crashed: {error.text.rpartition(' ')[2]}"
        fix = "A compiled library is at fault; PYTHONFAULTHANDLER: 1 in env_vars makes it say where."
        return Diagnosis(f"{cause}.", error.text, error.number, error.rank, node, fix, "crash")
    cause = f"Why is not known: {error.text}, and said nothing in this log."
    return Diagnosis(cause, error.text, error.number, error.rank, node, "The log says more above torchrun's banner.", "unknown")


def _of_exit_code(end: Observation) -> Diagnosis:
    """Nothing in the log: what the exit code alone tells."""
    code = end.exit_code
    signal = -code if code is not None and code < 0 else code - 128 if code is not None and 128 < code < 160 else None
    if signal == 9:
        cause = "It was killed from outside (SIGKILL), most often because the node's memory ran out."
        return Diagnosis(cause, fix="Use fewer data loader workers, or ask for more memory; dmesg tells.", code="killed")
    if signal in (4, 6, 7, 8, 11):
        fix = "A compiled library is at fault; PYTHONFAULTHANDLER: 1 in env_vars makes it say where."
        return Diagnosis(f"The program crashed (signal {signal}).", fix=fix, code="crash")
    if code == 127:
        return Diagnosis("A command was not found (exit code 127).", fix="Correct `command` or PATH.", code="command-missing")
    said = f"exit code {code}" if code is not None else end.reason or str(end.state)
    return Diagnosis(f"Why is not known: {said}, and nothing in the log says more.", fix="Look at the whole log.")


# --- where, and what would have avoided it ---


def _node_of(rank: int | None, task: int | None, end: Observation, setting: Setting) -> str | None:
    """The host of a rank: they are numbered node by node."""
    if len(end.nodes) == 1:
        return end.nodes[0]
    index = task
    if index is None and rank is not None and setting.workers_per_node:
        index = rank // setting.workers_per_node
    return end.nodes[index] if index is not None and index < len(end.nodes) else None


def _only(nodes: Sequence[str]) -> str | None:
    return nodes[0] if len(nodes) == 1 else None


def _change(match: Match, recipe: Mapping[str, Any]) -> dict[str, str]:
    scheduler = recipe.get("step_scheduler")
    scheduler = scheduler if isinstance(scheduler, Mapping) else {}
    code = match.sign.code
    if code == "gpu-memory":
        local = scheduler.get("local_batch_size")
        if isinstance(local, int) and local > 1 and local % 2 == 0:  # the global batch stays a multiple
            return {"step_scheduler.local_batch_size": str(local // 2)}
        return {"distributed.activation_checkpointing": "true"} if local == 1 else {}
    if code == "batch-size":
        step = int(match.groups["local"] or 1) * int(match.groups["workers"] or 1)
        whole = max(step, round(int(match.groups["whole"] or step) / step) * step)
        return {"step_scheduler.global_batch_size": str(whole)}
    if code == "nccl-on-cpu":
        return {"dist_env.backend": "gloo"}
    if code == "collective-timeout":
        env = recipe.get("dist_env")
        minutes = env.get("timeout_minutes") if isinstance(env, Mapping) else None
        return {"dist_env.timeout_minutes": str(max(10, 2 * minutes if isinstance(minutes, int) else 10))}
    return {}
