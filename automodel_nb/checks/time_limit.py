"""Does the time limit leave time to save? A write that the limit cuts off can corrupt the checkpoint."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from automodel_nb.checks.rules import Problem, rule
from automodel_nb.checks.world import checkpoints, number
from automodel_nb.findings import Fix

if TYPE_CHECKING:
    from automodel_nb.checks.facts import Facts
    from automodel_nb.planning.parts import Parts

_HOUR = 3600
LEAST, ENOUGH = 300, 600  # seconds: "leave 5 to 10 minutes"
_EVERY = "step_scheduler.ckpt_every_steps"


@rule("no-time", "warning")
def time_limit_is_set(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """A Slurm job says how long it may take.

    Source: without `--time` the partition's own default holds, which may be a few minutes.
    """
    if parts.sources.method != "slurm" or parts.config.time is not None:
        return
    partitions = facts.cluster.of(parts.config.partition) if facts.cluster else None
    known = {part.default_seconds or part.max_seconds for part in partitions or ()}
    (seconds,) = known if len(known) == 1 else (None,)
    limit = f": {in_words(seconds)} here" if seconds else ", which may be short"
    yield Problem(
        f"without `time` the partition's own limit holds{limit}",
        "slurm.time",
        Fix("add time: 04:00:00", "slurm.time", "04:00:00"),
    )


@rule("time-short", "warning")
def time_is_left_to_save(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """The time limit is longer than what is left to save before it.

    Source: the published pitfalls: a limit that is too short kills a write in progress; leave 5 to 10 minutes.
    """
    time = _limit(parts)
    if time and time <= LEAST:
        message = f"the time limit of {in_words(time)} leaves no {in_words(LEAST)} to save a checkpoint before it"
        yield Problem(message, "slurm.time", Fix("give more time"))


@rule("signal-early", "error")
def signal_comes_after_the_start(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """Training is not told to save before it begins: `signal` is shorter than `time`.

    Source: Slurm takes such a job, and signals it as soon as it runs; nothing would be trained.
    """
    if parts.sources.method != "slurm" or parts.config.time is None or not parts.config.signal:
        return
    time, signal = int(parts.config.time.seconds), parts.config.signal
    if signal >= time:
        message = (
            f"`signal` is {in_words(signal)} before the end of {in_words(time)}: training would be told to stop as it begins"
        )
        yield Problem(message, "slurm.signal", Fix("give fewer seconds, or more time"))


@rule("signal-late", "warning")
def signal_leaves_time(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """Training is told to save at least 5 minutes before the limit.

    Source: the published pitfalls: leave 5 to 10 minutes. The step in progress ends first, then the checkpoint is written.
    """
    signal = parts.config.signal if _limit(parts) else None
    if signal == 0:
        yield Problem("signal 0: nothing is saved when the time limit comes", "slurm.signal", _enough())
    elif signal is not None and signal < LEAST:
        message = f"{in_words(signal)} before the limit may be too late for a step and a checkpoint to end"
        yield Problem(message, "slurm.signal", _enough())


@rule("async-checkpoint", "warning")
def asynchronous_writes_end(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """With asynchronous checkpoints, training is told to save at least 10 minutes before the limit.

    Source: the published pitfalls: an asynchronous write goes on while training does, so that the limit can cut off two.
    """
    time = _limit(parts)
    if not time or parts.recipe.get("checkpoint.is_async") is not True:
        return
    signal = parts.config.signal if parts.config.signal is not None else ENOUGH
    if signal < ENOUGH or time <= 2 * ENOUGH:
        message = "checkpoints are written asynchronously, and the time limit can cut one off"
        yield Problem(message, "slurm.signal", _enough())


@rule("chain-checkpoints", "error")
def a_chain_has_checkpoints(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """Jobs that go on where the last one stopped write checkpoints.

    Source: each would begin with the first step.
    """
    if _chained(parts) and parts.config.command is None and not checkpoints(parts):
        field = "checkpoint.enabled"
        yield Problem("each job of the chain would begin anew: checkpoints are off", field, Fix("write true", field, "true"))


@rule("chain-alone", "error")
def a_chain_is_one_training_on_this_side(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """A chain is no array, and is launched on the login node itself.

    Source: this launcher's own bounds: an array's tasks end at different times, and each job of a chain needs the id of the
    one before, which over ssh would be a trip for each.
    """
    for field, what in {"array": "an array", "host": "a launch by ssh"}.items():
        if _chained(parts) and getattr(parts.config, field):
            yield Problem(f"{what} cannot be chained", "slurm.chain", Fix(f"take `chain` or `{field}` out"))


@rule("grace-short", "hint")
def preemption_leaves_time(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """A job that may be preempted has the time to save before it is ended.

    Source: the partition's GraceTime, which no job can lengthen: what is saved by then, or at the last interval, is kept.
    """
    known = facts.cluster.of(parts.config.partition) if parts.sources.method == "slurm" and facts.cluster else None
    grace = [part for part in known or () if part.grace_seconds is not None and part.grace_seconds < LEAST]
    if grace and checkpoints(parts):
        seconds = min(part.grace_seconds or 0 for part in grace)
        message = f"a preempted job of {grace[0].name} has {in_words(seconds)} to save: else its last checkpoint counts"
        yield Problem(message, "slurm.partition", Fix("a short `ckpt_every_steps`"))


@rule("nsys", "hint")
def profiling_is_for_diagnosis(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """Profiling by nsys is for short runs that find out something.

    Source: it slows training down and writes large files.
    """
    if getattr(parts.config, "nsys_enabled", False):
        yield Problem("nsys is on: slower, and large files; off in production", "slurm.nsys_enabled")


@rule("nsys-long", "warning")
def profiling_is_short(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """A run under nsys has a time limit of at most an hour, or a capture that ends (`--duration`, `--capture-range`).

    Source: the whole run is captured, and the report is written at its end.
    """
    config = parts.config
    if not getattr(config, "nsys_enabled", False) or any(
        re.match("--(duration|capture-range)", arg) for arg in config.nsys_args
    ):
        return
    limit = config.time.seconds if config.time else None
    if limit is None or limit > _HOUR:
        words = f"of {in_words(limit)} " if limit else "without `time` "
        message = f"a run {words}is captured whole by nsys: the reports will be very large"
        yield Problem(message, "slurm.nsys_enabled", Fix("a `time` of minutes and few `max_steps`, or --duration in nsys_args"))


@rule("preemption-signal", "warning")
def training_listens(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """The recipe does not turn off saving on a signal (`step_scheduler.preemption_signal: null`).

    Source: AutoModel then has no handler: it is killed by the signal that would make it save.
    """
    scheduler = parts.recipe.get("step_scheduler")
    off = isinstance(scheduler, dict) and "preemption_signal" in scheduler and scheduler["preemption_signal"] is None
    if off and parts.config.command is None:
        field = "step_scheduler.preemption_signal"
        message = "with preemption_signal off, nothing is saved when the job is stopped, preempted or out of time"
        yield Problem(message, field, Fix("write SIGTERM", field, "SIGTERM"))


@rule("interval-long", "warning")
def a_checkpoint_comes_before_the_limit(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """At the pace of the last job of that name, a checkpoint comes before the time limit.

    Source: what that job's log says of its steps. Silent where there is none.
    """
    time, every = _limit(parts), number(parts, _EVERY)
    if not time or not every or facts.pace is None:
        return
    first = every * facts.pace.seconds
    if first > time:
        steps = max(1, int(time / 4 / facts.pace.seconds))
        message = (
            f"at {facts.pace.seconds:.3g} s a step ({facts.pace.job}) the first checkpoint comes after {in_words(first)}, "
            f"the time limit after {in_words(time)}"
        )
        yield Problem(message, _EVERY, Fix(f"write {steps}", _EVERY, str(steps)))


@rule("time-not-enough", "hint")
def all_steps_fit(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """At the pace of the last job of that name, all steps are done before the time limit.

    Source: what that job's log says of its steps. Silent where there is none, and where jobs are chained.
    """
    time, last = _limit(parts), number(parts, "step_scheduler.max_steps")
    if not time or not last or facts.pace is None or _chained(parts):
        return
    whole = last * facts.pace.seconds
    if whole > time:
        pace = f"at {facts.pace.seconds:.3g} s a step ({facts.pace.job})"
        message = f"{pace} {last} steps take {in_words(whole)}, and `time` is {in_words(time)}"
        jobs = int(-(-whole // max(1, time - ENOUGH)))
        yield Problem(message, "slurm.time", Fix(f"give more time, or chain: {jobs}", "slurm.chain", str(jobs)))


def in_words(seconds: float) -> str:
    """``45 s``, ``5 min``, ``1 h 30 min``, ``2 d 4 h``."""
    whole = round(seconds)
    parts = [(whole // 86400, "d"), (whole // 3600 % 24, "h"), (whole // 60 % 60, "min"), (whole % 60, "s")]
    first = next((index for index, (count, _) in enumerate(parts) if count), 3)
    return " ".join(f"{count} {unit}" for count, unit in parts[first : first + 2] if count) or "0 s"


def _chained(parts: Parts) -> bool:
    return parts.sources.method == "slurm" and parts.config.chain_length > 1


def _limit(parts: Parts) -> int | None:
    """Seconds of the time limit of a Slurm job that writes checkpoints."""
    if parts.sources.method != "slurm" or parts.config.time is None or not checkpoints(parts):
        return None
    return int(parts.config.time.seconds)


def _enough() -> Fix:
    return Fix(f"write {ENOUGH}", "slurm.signal", str(ENOUGH))


RULES = (
    time_limit_is_set,
    time_is_left_to_save,
    signal_comes_after_the_start,
    signal_leaves_time,
    asynchronous_writes_end,
    a_chain_has_checkpoints,
    a_chain_is_one_training_on_this_side,
    preemption_leaves_time,
    profiling_is_for_diagnosis,
    profiling_is_short,
    training_listens,
    a_checkpoint_comes_before_the_limit,
    all_steps_fit,
)
