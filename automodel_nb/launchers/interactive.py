"""Launch on the node where the kernel runs, under a supervisor that outlives the kernel."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from automodel_nb import hosts
from automodel_nb.errors import JobError, SubmissionError, UnreachableError
from automodel_nb.launchers import supervisor
from automodel_nb.launchers.base import JobRef, Stop, Submission, resolve
from automodel_nb.paths import JobPaths
from automodel_nb.plan import Plan
from automodel_nb.rendering.interactive import supervisor_argv
from automodel_nb.states import JobState, Observation

_SIGNALS: dict[Stop, signal.Signals] = {"save": signal.SIGUSR1, "interrupt": signal.SIGINT, "kill": signal.SIGQUIT}
_STALE = 4 * supervisor.BEAT  # a supervisor on another machine that was silent for longer is not known to live


class InteractiveLauncher:
    """This node. The scheduler id is the supervisor's pid."""

    method = "interactive"

    def submit(self, plan: Plan, directory: Path, job_id: str, environ: Mapping[str, str]) -> Submission:
        """See `Launcher.submit`."""
        env = resolve(plan.environment, environ, {"AUTOMODEL_JOB_DIR": str(directory)})
        argv = supervisor_argv(str(directory), plan.chdir, plan.preemption_signal)
        try:
            done = hosts.run(argv, env=env, timeout=20)
            answer: dict[str, Any] = json.loads(done.stdout or "{}")
        except (OSError, UnreachableError, ValueError) as error:
            raise SubmissionError(f"the job's supervisor did not start: {error}") from None
        if "pid" not in answer:
            raise SubmissionError(f"the job did not start: {answer.get('error') or done.stderr.strip() or 'no answer'}")
        facts = {name: answer[name] for name in ("start_time", "boot_id")}
        return Submission(str(answer["pid"]), host=hosts.hostname(), extra=facts)

    def poll(self, jobs: Sequence[JobRef]) -> Mapping[str, Observation]:
        """See `Launcher.poll`. The answer is in each job's directory and in /proc."""
        return {job.id: observe(job) for job in jobs}

    def stop(self, job: JobRef, how: Stop) -> None:
        """See `Launcher.stop`."""
        if job.submission.host != hosts.hostname():
            raise JobError(f"{job.id} runs on {job.submission.host}: stop it from a notebook there")
        if lives(job):
            os.kill(int(job.submission.scheduler_id), _SIGNALS[how])


def lives(job: JobRef) -> bool:
    """True where the supervisor of a job of this machine is that very process: same pid, start time and boot."""
    extra = job.submission.extra
    return extra.get("boot_id") == supervisor.boot_id() and extra.get("start_time") == supervisor.start_time(
        int(job.submission.scheduler_id)
    )


def observe(job: JobRef) -> Observation:
    """Where one job stands, from what its supervisor wrote."""
    facts = _facts(job.paths)
    started = facts.get("started")
    node = (job.submission.host,)
    ended = read_exit_code(job.paths)
    if ended is None and job.submission.host == hosts.hostname() and not lives(job):
        ended = read_exit_code(job.paths)  # it may have ended between the two looks
        if ended is None:
            return _lost(job, facts, node)
    if ended is not None:
        code, when = ended
        return _ended(code, when, facts, started, node)
    if job.submission.host != hosts.hostname() and time.time() - facts.get("alive", job.created) > _STALE:
        silent = time.strftime("%H:%M UTC", time.gmtime(facts.get("alive", job.created)))
        return Observation(
            JobState.UNKNOWN, f"no sign of life from {node[0]} since {silent}", "silent", started=started, nodes=node
        )
    if "asked" in facts:
        words = {"save": "saving a checkpoint, then stopping", "interrupt": "interrupted", "kill": "being killed"}
        return Observation(JobState.STOPPING, words.get(facts["asked"], "stopping"), started=started, nodes=node)
    return Observation(JobState.RUNNING, started=started, nodes=node)


def _ended(code: int, when: float, facts: Mapping[str, Any], started: float | None, node: tuple[str, ...]) -> Observation:
    asked = facts.get("asked")
    common: dict[str, Any] = {"exit_code": code, "started": started, "ended": when, "nodes": node}
    if asked == "terminate":  # not by us: the node's own shutdown, or an administrator
        return Observation(JobState.PREEMPTED, "stopped by a signal to its supervisor", "stopped_by_signal", **common)
    if asked:
        words = {"save": "stopped as asked", "interrupt": "interrupted as asked", "kill": "killed as asked"}[asked]
        return Observation(JobState.CANCELLED, words, f"asked_{asked}", **common)
    if code == 0:
        return Observation(JobState.COMPLETED, **common)
    return Observation(JobState.FAILED, exit_words(code), "exit_code", **common)


def _lost(job: JobRef, facts: Mapping[str, Any], node: tuple[str, ...]) -> Observation:
    if job.submission.extra.get("boot_id") != supervisor.boot_id():
        words, code, state = "the machine was restarted while it ran", "node_restarted", JobState.NODE_FAIL
    else:
        words, code, state = "its supervisor was killed; no exit code was written", "supervisor_killed", JobState.FAILED
    return Observation(state, words, code, started=facts.get("started"), ended=facts.get("alive"), nodes=node)


def exit_words(code: int) -> str:
    """A shell's exit status in words: ``exit code 3``, ``killed by signal 9 (SIGKILL)``."""
    if code > 128:
        try:
            return f"killed by signal {code - 128} ({signal.Signals(code - 128).name})"
        except ValueError:
            pass
    return f"exit code {code}"


def read_exit_code(paths: JobPaths, attempt: int = 0, task: int | None = None) -> tuple[int, float] | None:
    """Exit status and end time (UTC seconds) of one attempt; None where it has not ended (or never wrote one)."""
    try:
        code, when, *_ = paths.exit_code(attempt, task).read_text().split()
        return int(code), float(when)
    except (OSError, ValueError):
        return None


def at_limit(paths: JobPaths, attempt: int = 0) -> bool:
    """Whether Slurm's signal before the time limit came in an attempt: its script says so behind the exit code."""
    try:
        return "limit" in paths.exit_code(attempt).read_text().split()
    except OSError:
        return False


def _facts(paths: JobPaths) -> dict[str, Any]:
    try:
        facts = json.loads(paths.supervisor.read_text())
        return facts if isinstance(facts, dict) else {}
    except (OSError, ValueError):
        return {}
