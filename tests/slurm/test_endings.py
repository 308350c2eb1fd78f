"""Every way a job can end, on a real Slurm with and without accounting: its state, its reason, and both once Slurm has
forgotten it. All jobs of a cluster run at the same time; the time limit, of which Slurm asks every half minute, is the slowest.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

import automodel_nb as am
from automodel_nb.job.tracker import Tracker
from automodel_nb.states import Observation
from tests.slurm.conftest import Kernel
from tests.slurm.lab import SlurmLab

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(600)]

EAT = "python3 -c 'x = [bytearray(10**7) for _ in range(60)]; import time; time.sleep(30)'"
SAVES = "trap 'echo saved; exit 0' TERM; sleep 300 & wait"


@dataclass(frozen=True)
class Case:
    command: str
    states: tuple[str, ...]
    reason: str
    fields: dict[str, Any] = field(default_factory=dict)
    exit_code: int | None = None


# n4 is for preemption, n3 is switched off; the rest share n1
CASES = {
    "success": Case("true", ("COMPLETED",), "", exit_code=0),
    "exit": Case("exit 3", ("FAILED",), "exit code 3", exit_code=3),
    "one of two nodes": Case("sleep 1; exit $SLURM_NODEID", ("FAILED",), "", {"nodes": 2, "nodelist": "n[1-2]"}),
    "crash": Case("bash -c 'kill -SEGV $$'", ("FAILED",), "killed by signal 11 (SIGSEGV)", exit_code=139),
    "scancel": Case("sleep 300", ("CANCELLED",), "cancelled"),
    "scancel, saves": Case(SAVES, ("CANCELLED",), "cancelled"),
    "cancel": Case("sleep 300", ("CANCELLED",), "cancelled"),
    "pending": Case("true", ("CANCELLED",), "cancelled", {"extra_sbatch": {"begin": "now+1hour"}}),
    "time limit": Case("sleep 300", ("TIMEOUT",), "the time limit was reached", {"time": "1"}),
    "time limit, saves": Case(SAVES, ("TIMEOUT",), "the time limit was reached", {"time": "1"}),
    "memory": Case(EAT, ("OUT_OF_MEMORY",), "out of memory", {"mem": "100M"}),
    "node": Case("sleep 300", ("NODE_FAIL",), "a node failed", {"nodes": 2, "nodelist": "n[2-3]", "requeue": "no"}),
    "preempted": Case("sleep 300", ("PREEMPTED",), "preempted", {"partition": "preempt", "nodelist": "n4", "requeue": "no"}),
    "preempted, saves": Case(SAVES, ("PREEMPTED",), "preempted", {"partition": "preempt", "nodelist": "n4", "requeue": "no"}),
}


@dataclass
class Ended:
    """All jobs of one cluster after their end."""

    lab: SlurmLab
    jobs: dict[str, am.Job]
    seen: dict[str, Observation]
    forgotten: dict[str, Observation]


@pytest.fixture(scope="module", params=["slurm_lab", "slurm_lab_accounting"])
def ended(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ended]:
    lab: SlurmLab = request.getfixturevalue(request.param)
    with pytest.MonkeyPatch.context() as patch:
        kernel = Kernel(lab, tmp_path_factory.mktemp(request.param), patch)
        jobs = {
            name: kernel.launch(case.command, wait=False, job_name=name.replace(" ", "_"), **{"nodelist": "n1", **case.fields})
            for name, case in CASES.items()
        }
        waiting = ("pending",)
        for name, job in jobs.items():
            if name not in waiting:
                _until(lambda job=job: job.state != "PENDING", 30)
        _until(lambda: lab.run("squeue", "-h", "-s", "-o", "%i").stdout.count(".0") >= 7, 30)
        time.sleep(0.5)  # the shells set their traps
        for name in ("scancel", "scancel, saves"):
            lab.run("scancel", jobs[name].scheduler_id)
        for name in ("cancel", "pending"):
            jobs[name].cancel()
        preemptor = lab.sbatch("#!/bin/bash\nsleep 1\n", "--nodelist=n4", "--exclusive", "--partition=batch")
        lab.kill_node(3)
        for job in jobs.values():
            job.wait(150)
        seen = {name: job.status.observation for name, job in jobs.items()}
        lab.run("scancel", str(preemptor))
        lab.start_node(3)
        lab.configure(MinJobAge=2)
        _until(lambda: not any(lab.job(job.scheduler_id) for job in jobs.values()), 60)
        lab.configure(MinJobAge=300)
        forgotten = Tracker().observe_all([replace(job.record, ended=None) for job in jobs.values()])
        yield Ended(lab, jobs, seen, {name: forgotten[job.id].observation for name, job in jobs.items()})


@pytest.mark.parametrize("name", CASES)
def test_state_and_reason(ended: Ended, name: str) -> None:
    case, seen = CASES[name], ended.seen[name]
    assert seen.state in case.states, ended.jobs[name].log()
    assert case.reason in seen.reason
    if case.exit_code is not None:
        assert seen.exit_code == case.exit_code
    assert seen.ended is not None
    assert abs(seen.ended - time.time()) < 600  # UTC, whatever the zone


@pytest.mark.parametrize("name", [name for name in CASES if name != "pending"])
def test_once_slurm_has_forgotten_it(ended: Ended, name: str) -> None:
    case, seen = CASES[name], ended.forgotten[name]
    allowed = (*case.states, "FAILED") if name == "memory" else case.states
    assert seen.state in allowed, seen
    if case.exit_code is not None:
        assert seen.exit_code == case.exit_code


def _until(condition: Any, seconds: float) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come in time"
        time.sleep(0.1)
