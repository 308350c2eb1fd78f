"""A notebook that itself is a Slurm job: its cells launch others; where its node may not submit, it is told which one may."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.automodel.real import ROOT
from tests.ssh.login_node import LoginNode

pytestmark = pytest.mark.slurm

SCRIPT = """#!/bin/bash
export PATH={place}/bin:{bin}:$PATH PYTHONPATH={root} AUTOMODEL_NB_HOME={place}/state HOME={place} XDG_RUNTIME_DIR={place}
export SBATCH_PARTITION=debug PMIX_RANK=3 SBATCH_TIMELIMIT=1 SQUEUE_PARTITION=debug
exec {python} -m tests.ssh.inside {place}
"""


def test_a_notebook_inside_a_job(login: LoginNode, tmp_path: Path) -> None:
    pytest.importorskip("jupyter_client")
    place = login.lab.root / "hub"
    (place / "bin").mkdir(parents=True)
    for name, text in login.ssh_files(address=login.bridge).items():
        (place / name).write_text(text.replace("~/.ssh", str(place)))
        (place / name).chmod(0o600)
    # what root's ~/.ssh would say, which is not for a test to write to
    ssh = f'#!/bin/sh\nexec /usr/bin/ssh -F {place}/config -o UserKnownHostsFile={place}/known_hosts "$@"\n'
    (place / "bin/ssh").write_text(ssh)
    (place / "bin/ssh").chmod(0o755)
    script = SCRIPT.format(place=place, root=ROOT, python=sys.executable, bin=Path(sys.executable).parent)
    output = place / "output"
    try:
        job = login.lab.sbatch(script, f"--output={output}", "--gpus-per-node=2", "--time=10", cwd=place)
        login.lab.wait(job, timeout=150)
        assert (place / "told").exists(), output.read_text()
    finally:
        login.lab.run("scontrol", "update", "PartitionName=batch", "AllocNodes=ALL")
    told = json.loads((place / "told").read_text())
    assert "--nproc-per-node=2" in told["command"]  # the allocation's GPUs

    state, inner, log = told["inner"]
    assert state == "COMPLETED"
    assert inner != str(job)
    assert f"SLURM_JOB_ID={inner}\n" in log
    assert "SLURM_JOB_PARTITION=batch" in log
    assert "on n1" in log
    assert "SBATCH_" not in log
    assert "PMIX_" not in log
    assert "SLURM_GPUS_PER_NODE" not in log

    host = login.lab.run("hostname", "-s").stdout.strip()
    for ((kind, _), shown), why in zip(
        told["refused"],
        ("Slurm takes no jobs from this machine: Access/permission denied", "sbatch cannot be run: "),
        strict=True,
    ):
        assert kind == "SubmissionError"
        assert why in shown.replace("Batch job submission failed: ", "")
        assert f"this notebook runs inside job {job}, which was submitted on {host}: add `host: {host}`" in shown
        assert len(shown.splitlines()) == 2

    state, log, remote = told["outer"]
    assert (state, remote) == ("COMPLETED", "login")
    assert "on login1" in log
