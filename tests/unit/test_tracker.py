"""The rhythm of questions to a scheduler. The launcher is a recording one: what is tested is when it is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from automodel_nb.errors import UnreachableError
from automodel_nb.job.record import JobRecord
from automodel_nb.job.store import JobStore
from automodel_nb.job.tracker import SLOWEST, Tracker
from automodel_nb.launchers.base import JobRef, Submission
from automodel_nb.states import SKYPILOT_STATES, SLURM_STATES, JobState, Observation
from tests.unit.test_jobs import record


class Recording:
    method = "slurm"

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.answers: dict[str, Observation] = {}
        self.silent = False

    def poll(self, jobs: Sequence[JobRef]) -> Mapping[str, Observation]:
        self.asked.append([job.id for job in jobs])
        if self.silent:
            raise UnreachableError("`squeue` did not answer within 10 s")
        return {job.id: self.answers.get(job.id, Observation(JobState.RUNNING)) for job in jobs}


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def scene(tmp_path: Path) -> tuple[Tracker, Recording, Clock, JobStore]:
    launcher, clock, store = Recording(), Clock(), JobStore(tmp_path)
    return Tracker(store, lambda _: launcher, clock=clock), launcher, clock, store  # type: ignore[arg-type,return-value]


def running(directory: Path = Path("/nowhere")) -> JobRecord:
    return record(ended=None, directory=str(directory), submission=Submission("7"))  # of this machine's own Slurm


def test_200_jobs_cost_one_question_a_tick(scene: tuple[Tracker, Recording, Clock, JobStore]) -> None:
    tracker, launcher, clock, _ = scene
    jobs = [running() for _ in range(200)]
    tracker.observe_all(jobs)
    assert [len(asked) for asked in launcher.asked] == [200]
    for job in jobs:  # two hundred panels look, one after the other
        tracker.observe(job)
    assert len(launcher.asked) == 1
    clock.now += tracker.interval("slurm")
    for job in jobs:
        tracker.observe(job)
    assert [len(asked) for asked in launcher.asked] == [200, 200]


def test_slower_while_nothing_changes_and_at_once_when_poked(scene: tuple[Tracker, Recording, Clock, JobStore]) -> None:
    tracker, launcher, clock, _ = scene
    job = running()
    tracker.observe(job)
    assert tracker.interval("slurm") == 5.0
    intervals = []
    for _ in range(10):
        clock.now += tracker.interval("slurm")
        tracker.observe(job)
        intervals.append(tracker.interval("slurm"))
    assert intervals == sorted(intervals)
    assert intervals[-1] == SLOWEST
    before = len(launcher.asked)
    tracker.observe(job)
    assert len(launcher.asked) == before
    tracker.poke("slurm")
    tracker.observe(job)
    assert len(launcher.asked) == before + 1
    launcher.answers[job.id] = Observation(JobState.RUNNING, nodes=("n1",))
    clock.now += SLOWEST
    tracker.observe(job)
    assert tracker.interval("slurm") == 5.0


def test_a_job_whose_files_say_that_it_ended_is_asked_about_soon(
    scene: tuple[Tracker, Recording, Clock, JobStore], tmp_path: Path
) -> None:
    tracker, launcher, clock, _ = scene
    job = running(tmp_path)
    for _ in range(10):
        tracker.observe(job)
        clock.now += tracker.interval("slurm")
    tracker.observe(job)
    before = len(launcher.asked)
    (tmp_path / "exit_code").write_text("0 1700000000\n")
    clock.now += 4.9
    tracker.observe(job)
    assert len(launcher.asked) == before  # not below the site's floor
    clock.now += 0.1
    tracker.observe(job)
    assert len(launcher.asked) == before + 1


def test_a_silent_scheduler_changes_no_state(scene: tuple[Tracker, Recording, Clock, JobStore]) -> None:
    tracker, launcher, clock, store = scene
    job = running()
    seen = tracker.observe(job)
    assert (seen.observation.state, seen.silent) == (JobState.RUNNING, "")
    launcher.silent = True
    clock.now += 100
    silent = tracker.observe(job)
    assert silent.observation == seen.observation
    assert silent.as_of == seen.as_of
    assert "did not answer" in silent.silent
    assert store.records() == []
    launcher.silent = False
    clock.now += 1000
    assert tracker.observe(job).silent == ""


def test_a_job_first_seen_while_the_scheduler_is_silent_is_unknown(scene: tuple[Tracker, Recording, Clock, JobStore]) -> None:
    tracker, launcher, _, _ = scene
    launcher.silent = True
    seen = tracker.observe(running())
    assert (seen.observation.state, seen.observation.reason_code) == (JobState.UNKNOWN, "unreachable")


def test_an_end_is_written_down_and_not_asked_about_again(scene: tuple[Tracker, Recording, Clock, JobStore]) -> None:
    tracker, launcher, clock, store = scene
    job, other = running(), running()
    launcher.answers[job.id] = Observation(JobState.FAILED, "exit code 3", exit_code=3, ended=5.0)
    tracker.observe_all([job, other])
    assert [r.ended.state for r in store.records() if r.ended] == [JobState.FAILED]
    clock.now += 100
    assert tracker.observe_all([job, other])[job.id].observation.exit_code == 3
    assert launcher.asked[-1] == [other.id]


def test_a_floor_can_be_set(tmp_path: Path) -> None:
    assert Tracker(floor={"slurm": 30.0}).interval("slurm") == 30.0


def test_a_forgotten_job_is_judged_by_the_files_of_its_last_attempt(
    scene: tuple[Tracker, Recording, Clock, JobStore], tmp_path: Path
) -> None:
    tracker, launcher, clock, _ = scene

    def forgotten(name: str, files: Mapping[str, str]) -> Observation:
        directory = tmp_path / name
        directory.mkdir()
        for file, text in files.items():
            (directory / file).write_text(text)
        job = running(directory)
        launcher.poll = lambda jobs: {}  # type: ignore[method-assign]
        clock.now += 100
        return tracker.observe(job).observation

    done = forgotten("done", {"started": "", "exit_code": "0 1700000000\n"})
    assert (done.state, done.exit_code, done.ended) == (JobState.COMPLETED, 0, 1.7e9)
    failed = forgotten("failed", {"started": "", "started.1": "", "exit_code": "0 1\n", "exit_code.1": "7 2\n"})
    assert (failed.state, failed.exit_code, failed.attempt) == (JobState.FAILED, 7, 1)
    lost = forgotten("lost", {"started": "", "started.1": "", "exit_code": "143 1\n"})
    assert lost.state is JobState.UNKNOWN  # the first attempt's code must not be taken for the second's
    stepd = "slurmstepd-n1: error: *** JOB 29 ON n1 CANCELLED AT 2026-12-01T02:51:01 DUE TO TIME LIMIT ***\n"
    assert forgotten("limit", {"started": "", "output.log": stepd}).state is JobState.TIMEOUT
    gone = tracker.observe(running(tmp_path / "moved away"))
    assert gone.observation.reason_code == "directory_gone"


def test_unsubmitted_records(scene: tuple[Tracker, Recording, Clock, JobStore]) -> None:
    import time

    tracker, launcher, _, _ = scene
    fresh = replace(running(), submission=None, created=time.time())
    stale = replace(running(), submission=None, created=time.time() - 1000)
    assert tracker.observe(fresh).observation.state is JobState.SUBMITTING
    assert tracker.observe(stale).observation.reason_code == "launch_broken_off"
    assert launcher.asked == []


def test_every_documented_scheduler_state_has_a_place() -> None:
    for name in ("CONFIGURING", "COMPLETING", "SUSPENDED", "BOOT_FAIL", "DEADLINE", "REQUEUED", "OUT_OF_MEMORY"):
        assert name in SLURM_STATES
    for name in ("INIT", "SETTING_UP", "RECOVERING", "FAILED_SETUP", "FAILED_NO_RESOURCE", "FAILED_CONTROLLER"):
        assert name in SKYPILOT_STATES
    assert {state for state in JobState if state.final} == {
        JobState.COMPLETED,
        JobState.FAILED,
        JobState.CANCELLED,
        JobState.TIMEOUT,
        JobState.PREEMPTED,
        JobState.NODE_FAIL,
        JobState.OUT_OF_MEMORY,
    }
