"""What goes wrong around a job: the kernel dies, its directory moves, the controller is away, a node goes, an ordinary user."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

import automodel_nb as am
from automodel_nb.job.session import session
from automodel_nb.job.tracker import Tracker
from tests.conftest import require
from tests.slurm.conftest import Kernel

pytestmark = pytest.mark.slurm


def running(job: am.Job) -> am.Job:
    end = time.monotonic() + 30
    while job.state == "PENDING":
        assert time.monotonic() < end
        time.sleep(0.1)
    return job


def test_a_killed_kernel_takes_nothing_with_it(kernel: Kernel) -> None:
    document = kernel.text("sleep 2; echo done")
    code = f"import automodel_nb as am, time; print(am.launch({document!r}).id, flush=True); time.sleep(60)"
    other = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": _root()}
    )
    assert other.stdout is not None
    with other.stdout:
        job_id = other.stdout.readline().strip()
    other.send_signal(signal.SIGKILL)
    other.wait()
    job = am.attach(job_id)
    assert job.wait(30) == "COMPLETED"
    assert job.log().endswith("done")


def test_scancel_from_outside(kernel: Kernel) -> None:
    job = running(kernel.launch("sleep 60", wait=False))
    kernel.lab.run("scancel", job.scheduler_id)
    assert job.wait(20) == "CANCELLED"


def test_a_job_directory_that_was_moved_away(kernel: Kernel) -> None:
    job = kernel.launch("sleep 3", wait=False)
    while "rendezvous" not in job.log():
        time.sleep(0.1)
    shutil.move(job.directory, kernel.directory / "elsewhere")
    assert job.wait(30) == "COMPLETED"  # Slurm knows
    kernel.lab.configure(MinJobAge=2)
    end = time.monotonic() + 60
    while kernel.lab.job(job.scheduler_id):
        assert time.monotonic() < end
        time.sleep(0.3)
    kernel.lab.configure(MinJobAge=300)
    forgotten = Tracker().observe(replace(job.record, ended=None)).observation
    assert (forgotten.state, forgotten.reason_code) == ("UNKNOWN", "directory_gone")


def begun(job: am.Job, words: str) -> am.Job:
    """The job, once its log has these words: from then on its step runs, and needs no controller."""
    end = time.monotonic() + 60
    while words not in job.log():
        assert time.monotonic() < end, job.log()
        time.sleep(0.1)
    return job


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seconds", [pytest.param(12, id="12 s"), pytest.param(60, id="60 s", marks=pytest.mark.soak)])
def test_a_controller_that_is_away(kernel: Kernel, seconds: int) -> None:
    """One job ends meanwhile, one goes on beyond it. (A step that is to begin meanwhile fails: srun asks the controller.)"""
    short, long = (kernel.launch(f"echo begun; sleep {end}; echo over", wait=False) for end in (seconds / 2, seconds * 1.25))
    for job in (short, long):
        begun(running(job), "begun")
    kernel.lab.stop_controller()
    back = time.monotonic() + seconds
    try:
        session().tracker.poke("slurm")
        assert short.state == "RUNNING"
        assert short.status.silent
        time.sleep(max(0.0, back - time.monotonic()))
    finally:
        kernel.lab.start_controller()
    session().tracker.poke("slurm")
    assert long.wait(60) == "COMPLETED", long.log()
    # the node says the end of a step again a minute after it was not heard: until then the job is COMPLETING
    assert short.state in ("STOPPING", "COMPLETED")
    if seconds == 60:
        assert short.wait(120) == "COMPLETED", short.log()
    assert "over" in short.log() and "over" in long.log()  # noqa: PT018
    assert long.exit_code == 0
    assert (short.directory / "exit_code").read_text().split()[0] == "0"


def test_a_lost_node_requeues_and_the_log_goes_on(kernel: Kernel) -> None:
    command = 'echo "attempt ${SLURM_RESTART_COUNT:-0}"; [ "${SLURM_RESTART_COUNT:-0}" = 1 ] || sleep 300'
    job = begun(kernel.launch(command, wait=False, nodelist="n2", requeue=True), "attempt 0")
    kernel.lab.kill_node(2)
    try:
        end = time.monotonic() + 60
        while kernel.lab.job(job.scheduler_id).get("Restarts") != "1":
            assert time.monotonic() < end
            time.sleep(0.3)
        # elsewhere, and not after the two minutes that a requeued job waits
        kernel.lab.run("scontrol", "update", f"JobId={job.scheduler_id}", "ReqNodeList=n3", "StartTime=now")
        session().tracker.poke("slurm")
        assert job.wait(60) == "COMPLETED", job.log()
    finally:
        kernel.lab.start_node(2)
    assert job.attempts == 2
    assert re.findall(r"attempt \d", job.log()) == ["attempt 0", "attempt 1"]
    assert not (job.directory / "exit_code").exists()  # the lost attempt could not write one
    assert (job.directory / "exit_code.1").exists()


def test_an_ordinary_user(kernel: Kernel) -> None:
    """A user who may not read root's files launches, and root's notebook sees the job but does not touch it."""
    python = shutil.which("python3", path="/usr/bin") or ""
    version = subprocess.run([python, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True).stdout
    require(
        version.split() == [str(part) for part in sys.version_info[:2]],
        "an ordinary user's test needs /usr/bin/python3 of this Python's version",
    )
    home = kernel.directory / "nobody"
    for path in (kernel.directory, *kernel.directory.parents[:2]):
        path.chmod(0o755)
    home.mkdir()
    shutil.chown(home, "nobody")
    site = next(path for path in sys.path if path.endswith("site-packages"))
    document = kernel.text('id -un; printf %s "$TOKEN" | wc -c', env_vars={"TOKEN": "${MY_TOKEN}"}, nodes=2)
    code = (
        f"import automodel_nb as am; from automodel_nb.job.session import session; session().tracker.floor['slurm'] = 0.1\n"
        f"job = am.launch({document!r}); print(job.wait(60), job.directory); print(job.log())"
    )
    env = {"HOME": str(home), "PYTHONPATH": f"{_root()}:{site}", "MY_TOKEN": "x" * 33, "PYTHONDONTWRITEBYTECODE": "1"}
    done = kernel.lab.run(python, "-c", code, user="nobody", env=env, cwd=home)
    state, directory = done.stdout.splitlines()[0].split()
    assert state == "COMPLETED", done.stdout
    lines = done.stdout.splitlines()
    assert (lines.count("nobody"), lines.count("33")) == (2, 2)
    assert (Path(directory).stat().st_mode & 0o777, Path(directory).owner()) == (0o700, "nobody")


def _root() -> str:
    return str(Path(am.__file__).parents[1])
