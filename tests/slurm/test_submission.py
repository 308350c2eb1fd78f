"""Submitting: refusals in one line, site noise, a controller that does not answer, a job that was taken all the same."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import automodel_nb as am
from automodel_nb.errors import LaunchError
from automodel_nb.job.handle import Job
from automodel_nb.job.launching import submit
from automodel_nb.job.session import session
from automodel_nb.launchers.slurm import SlurmLauncher
from tests.slurm.conftest import Kernel
from tests.slurm.lab import SlurmLab

pytestmark = pytest.mark.slurm


def refused(kernel: Kernel, *, by_sbatch: bool = True, **fields: Any) -> LaunchError:
    """The error of a launch. What our own checks already know is lifted, so that sbatch is asked."""
    plan = am.preview(kernel.text("true", **fields))
    with pytest.raises(LaunchError) as caught:
        am.launch(replace(plan, findings=()) if by_sbatch else plan)
    assert not (kernel.directory / "work/automodel_jobs").exists()  # nothing is left
    assert am.jobs() == []
    return caught.value


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"partition": "nosuch"}, "invalid partition specified: nosuch"),
        ({"gpu_request": "gpus-per-node", "gpus_per_node": "16"}, "configuration is not available"),
        ({"gres": "tpu:1"}, "Invalid generic resource (gres) specification"),
        ({"mem": "9999G"}, "Memory specification can not be satisfied"),
        ({"constraint": "h100"}, "Invalid feature specification"),
        ({"nodelist": "n9"}, "Invalid node name specified"),
        ({"reservation": "nosuch"}, "Requested reservation is invalid"),
        ({"dependency": "nosuch:1"}, "Job dependency problem"),
        ({"array": "0-99999"}, "Invalid job array specification"),
        ({"extra_sbatch": {"bogus": "1"}}, "unrecognized option '--bogus=1'"),
    ],
)
def test_sbatchs_own_refusals(kernel: Kernel, fields: dict[str, Any], says: str) -> None:
    error = refused(kernel, **fields)
    (finding,) = error.findings
    assert finding.code == "sbatch-refused"
    assert says in finding.message
    assert "\n" not in str(finding)
    field = next(iter(reversed(fields)))
    assert finding.field == f"slurm.{field}"
    assert finding.fix is not None
    assert finding.line is not None
    assert kernel.text("true", **fields).splitlines()[finding.line - 1].strip().startswith(f"{field}:")


@pytest.mark.parametrize(
    ("fields", "says"), [({"account": "nosuch"}, "Invalid account"), ({"qos": "nosuch"}, "Invalid qos specification")]
)
def test_refusals_with_accounting(
    slurm_lab_accounting: SlurmLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any], says: str
) -> None:
    (finding,) = refused(Kernel(slurm_lab_accounting, tmp_path, monkeypatch), **fields).findings
    assert says in finding.message
    assert finding.field == f"slurm.{next(iter(fields))}"


def test_limits_that_are_enforced_at_submission(kernel: Kernel) -> None:
    kernel.lab.configure(EnforcePartLimits="ALL")
    try:
        (time_limit,) = refused(kernel, partition="debug", time="3:00:00").findings
        (nodes,) = refused(kernel, partition="debug", nodes=3).findings
    finally:
        kernel.lab.configure(EnforcePartLimits="NO")
    assert (time_limit.field, nodes.field) == ("slurm.time", "slurm.nodes")


def test_no_slurm_here(kernel: Kernel, tmp_path: Path) -> None:
    kernel.setenv("PATH", str(tmp_path))
    (finding,) = refused(kernel).findings
    assert "sbatch" in finding.message
    assert "\n" not in str(finding)


def wrap(kernel: Kernel, tmp_path: Path, script: str) -> None:
    """Put a sbatch before the real one that does `script`, in which "$@" are the arguments."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/sbatch").write_text(f"#!/bin/bash\n{script}\n")
    (tmp_path / "bin/sbatch").chmod(0o755)
    kernel.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")


def test_site_messages_and_a_cluster_name(
    slurm_lab_accounting: SlurmLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = Kernel(slurm_lab_accounting, tmp_path, monkeypatch)
    wrap(
        kernel,
        tmp_path,
        'echo "Welcome to amslab: 17 GPU hours left"; echo "lua: ok" >&2; id=$(/usr/bin/sbatch "$@"); echo "$id;amslab"',
    )
    job = kernel.launch("exit 3")
    assert job.cluster == "amslab"
    assert job.record.submission is not None
    assert job.record.submission.message == "Welcome to amslab: 17 GPU hours left\nlua: ok"
    assert (job.state, job.exit_code) == ("FAILED", 3)  # squeue -M amslab
    other = kernel.launch("sleep 60", wait=False)
    other.cancel()  # scancel -M amslab
    assert other.wait(20) == "CANCELLED"


@pytest.mark.parametrize("says", ["Socket timed out on send/recv operation", "Zero Bytes were transmitted or received"])
def test_a_job_that_was_taken_all_the_same_is_found(kernel: Kernel, tmp_path: Path, says: str) -> None:
    wrap(
        kernel,
        tmp_path,
        f'/usr/bin/sbatch "$@" >/dev/null; echo "sbatch: error: Batch job submission failed: {says}" >&2; exit 1',
    )
    before = len(am.jobs())
    job = kernel.launch("echo once")
    assert job.state == "COMPLETED"
    assert len(am.jobs()) == before + 1
    assert kernel.lab.run("squeue", "-h", "-t", "all", "-j", job.scheduler_id, "-o", "%o").stdout.strip() == str(
        job.paths.sbatch
    )
    assert len(list((kernel.directory / "work/automodel_jobs").iterdir())) == 1


def test_a_controller_that_is_down(kernel: Kernel) -> None:
    running = kernel.launch("echo begun; sleep 60", wait=False)
    while running.state == "PENDING":
        time.sleep(0.1)
    while "begun" not in running.log():  # a step that is to begin while the controller is down fails
        time.sleep(0.1)
    kernel.lab.stop_controller()
    try:
        started = time.monotonic()
        with pytest.raises(LaunchError, match="Unable to contact slurm controller"):
            kernel.launch("true", wait=False)
        assert time.monotonic() - started < 30
        session().tracker.poke("slurm")
        assert running.state == "RUNNING"  # nothing changed
        assert "Unable to contact" in running.status.silent
    finally:
        kernel.lab.start_controller()
    session().tracker.poke("slurm")
    assert running.state == "RUNNING"
    assert not running.status.silent
    assert len(am.jobs()) == 1
    running.cancel()
    assert running.wait(20) == "CANCELLED"


def test_a_controller_that_hangs(kernel: Kernel) -> None:
    pid = int((kernel.lab.root / "run/slurmctld.pid").read_text())
    plan = am.preview(kernel.text("true"))
    os.kill(pid, signal.SIGSTOP)
    try:
        started = time.monotonic()
        with pytest.raises(LaunchError, match="did not answer within 2 s"):
            submit(plan, session().store, launchers=lambda _: SlurmLauncher(2, 2))
        assert time.monotonic() - started < 20
    finally:
        os.kill(pid, signal.SIGCONT)
    assert am.jobs() == []


def test_two_launches_in_one_second_are_two_jobs(kernel: Kernel) -> None:
    jobs: list[Job] = [kernel.launch('echo "$AUTOMODEL_JOB_DIR"', wait=False) for _ in range(2)]
    for job in jobs:
        assert job.wait(20) == "COMPLETED"
        assert str(job.directory) in job.log()
    assert len({job.id for job in jobs} | {job.scheduler_id for job in jobs} | {str(job.directory) for job in jobs}) == 6


@pytest.mark.parametrize("name", ["llm/a b", "../up", "é" * 150, "a'b #%j"])
def test_names_that_are_no_file_names(kernel: Kernel, name: str) -> None:
    job = kernel.launch("true", job_name=name)
    assert (job.state, job.name, am.attach(name).id) == ("COMPLETED", name, job.id)
    assert job.directory.parent == kernel.directory / "work/automodel_jobs"
    assert kernel.lab.run("squeue", "-h", "-t", "all", "-j", job.scheduler_id, "-o", "%j").stdout.rstrip("\n") == name


def test_a_port_that_another_job_has_on_the_same_node(kernel: Kernel) -> None:
    """Said before the launch, and by the job with the node's name; without `master_port` the next port is taken."""
    first = kernel.launch("sleep 60", wait=False, nodelist="n1", master_port=13800)
    while "rendezvous" not in first.log():
        time.sleep(0.1)
    text = kernel.text("true", nodelist="n1", master_port=13800)
    assert "port-shared-node" in {finding.code for finding in am.preview(text).findings}
    second = kernel.launch("true", nodelist="n1", master_port=13800)
    assert (second.state, second.exit_code) == ("FAILED", 1)
    assert "port 13800 is in use on n1 (master_port)" in second.log()
    told = second.diagnosis()
    assert told is not None
    assert "13800" in f"{told.cause} {told.evidence}"
    assert kernel.launch("true", nodelist="n1").state == "COMPLETED"
    assert "port-ephemeral" in {finding.code for finding in am.preview(text.replace("13800", "40000")).findings}


def test_every_bad_field_at_once_and_nothing_submitted(kernel: Kernel) -> None:
    text = "slurm:\n  partion: batch\n  nodes: two\n  time: 25h\n  extra_mounts: [/a]\ncommand: x\n"
    with pytest.raises(LaunchError) as caught:
        am.launch(text)
    places = {(finding.field, finding.line, finding.column) for finding in caught.value.findings}
    assert {("slurm.partion", 2, 3), ("slurm.nodes", 3, 10), ("slurm.time", 4, 9)} <= places


def test_nothing_is_run_without_its_container(kernel: Kernel) -> None:
    error = refused(kernel, by_sbatch=False, extra_mounts=["/data"], nemo_mount="/opt/Automodel")
    assert {finding.field for finding in error.findings if finding.severity == "error"} == {
        "slurm.extra_mounts",
        "slurm.nemo_mount",
    }
