"""What reaches a job: its environment, its options, its secrets; through a real sbatch and srun."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import automodel_nb as am
from automodel_nb.configs import read
from automodel_nb.configs.slurm import SlurmConfig
from automodel_nb.rendering.slurm import script
from automodel_nb.rendering.slurm_task import Saving
from tests.slurm.conftest import Kernel

pytestmark = pytest.mark.slurm

DUMP = 'env -0 >"$AUTOMODEL_JOB_DIR/env.$SLURM_NODEID"'


def environment(job: am.Job, node: int = 0) -> dict[str, str]:
    text = (job.directory / f"env.{node}").read_bytes().decode()
    return dict(pair.split("=", 1) for pair in text.split("\0") if "=" in pair)


def test_values_arrive_exactly_as_written(kernel: Kernel) -> None:
    hostile = {
        "MSG": "it's $HOME; echo pwned",
        "PATTERN": 'a b"c',
        "EMPTY": "",
        "YES": "yes",
        "NUM": "0123",
        "E": "1e-5",
        "COMMA": "a,b=c,d",
        "LINES": "a\nb\n\tc\n",
        "UNI": "é ü 漢字 🙂 \u202e",
        "CODE": "$(touch pwned) `touch pwned` \\ ' \" !! * ~",
        "BRACES": "{{ x }} {% y %} ${X:-y}",
    }
    job = kernel.launch(DUMP, nodes=2, env_vars=hostile)
    assert job.state == "COMPLETED"
    for node in (0, 1):
        assert {name: value for name, value in environment(job, node).items() if name in hostile} == hostile
    assert not list(kernel.directory.rglob("pwned"))


def test_yaml_does_not_retype(kernel: Kernel) -> None:
    text = kernel.text(DUMP) + '  env_vars: {MSG: "it\'s $HOME", EMPTY: "", YES: yes, NUM: 0123, E: 1e-5, T: 10:00:00}\n'
    job = am.launch(text)
    job.wait()
    got = environment(job)
    assert [got[name] for name in ("MSG", "EMPTY", "YES", "NUM", "E", "T")] == [
        "it's $HOME", "", "yes", "0123", "1e-5", "10:00:00",
    ]  # fmt: skip


def test_the_kernels_own_job_does_not_reach_the_new_one(kernel: Kernel) -> None:
    foreign = {
        "SLURM_CPU_BIND": "quiet,mask_cpu:0x1",
        "SLURM_MEM_PER_NODE": "17",
        "SLURM_JOB_ID": "424242",
        "SLURM_NNODES": "7",
        "SBATCH_PARTITION": "debug",
        "SBATCH_TIMELIMIT": "3",
        "SLURM_EXPORT_ENV": "NONE",
        "PMIX_RANK": "3",
        "RANK": "5",
        "MY_OWN": "x",
    }
    for name, value in foreign.items():
        kernel.setenv(name, value)
    for inherit in (False, True):
        job = kernel.launch(DUMP, inherit_env=inherit, time="10")
        assert job.state == "COMPLETED"
        got = environment(job)
        assert not [name for name, value in foreign.items() if name != "MY_OWN" and got.get(name) == value]
        assert ("MY_OWN" in got) is inherit
        shown = kernel.lab.job(job.scheduler_id)
        assert (shown["Partition"], shown["TimeLimit"]) == ("batch", "00:10:00")
        assert got["SLURM_CONF"] == kernel.lab.env["SLURM_CONF"]


def test_nothing_but_what_the_plan_lists(kernel: Kernel) -> None:
    kernel.setenv("NOT_LISTED", "1")
    text = kernel.text(DUMP, env_vars={"A": "1"})
    plan = am.preview(text)
    job = am.launch(plan)
    job.wait()
    added = {name for name in set(environment(job)) - set(plan.environment) if not name.startswith(("SLURM", "SRUN_"))}
    assert added <= {"PWD", "SHLVL", "_", "OLDPWD", "TMPDIR", "ENVIRONMENT", "HOSTNAME", "USER", "LOGNAME"}


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("10:00:00", "10:00:00"),
        ("1:30:00", "01:30:00"),
        ("00:30:00", "00:30:00"),
        ("90", "01:30:00"),
        ("1-12", "1-12:00:00"),
        ("2-00:00", "2-00:00:00"),
        ("1-02:03:00", "1-02:03:00"),
        ("15:30", "00:16:00"),  # Slurm keeps whole minutes, rounded up
    ],
)
def test_times_are_slurms(kernel: Kernel, written: str, shown: str) -> None:
    job = am.launch(kernel.text("true").replace('time: "10"', f"time: {written}"))
    assert kernel.lab.job(job.scheduler_id)["TimeLimit"] == shown


LINE = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=40).map(str.strip).filter(bool)


@settings(max_examples=300 if os.environ.get("SOAK") else 60)
@given(name=LINE, comment=LINE | st.sampled_from(["it's #5", '"a" \\ b', "$(x) `y`", "#", "a#b", "%j %x", "--x=y", "é 漢字"]))
def test_sbatch_reads_its_lines_as_they_were_meant(kernel: Kernel, name: str, comment: str) -> None:
    section, _ = read("slurm", {"comment": comment, "gpu_request": "none"})
    assert isinstance(section, SlurmConfig)
    text = script(section, "true", name=name, chdir="/", environment=[], saving=Saving())
    job = kernel.lab.run("sbatch", "--parsable", "--hold", "--output=/dev/null", input=text).stdout.strip()
    shown = kernel.lab.run("squeue", "-h", "-j", job, "-o", "%j\t%k").stdout.rstrip("\n")
    kernel.lab.run("scancel", job)
    assert shown == f"{name}\t{comment}"


SECRET = "canary-Zq8vN2xT5wLr7KpY"
ON_RANK_3 = (
    'if [ "$SLURM_NODEID" = 3 ]; then printf %s "$MY_TOKEN" | sha256sum; fi; '
    'touch "$AUTOMODEL_JOB_DIR/up.$SLURM_NODEID"; until [ -e "$AUTOMODEL_JOB_DIR/go" ]; do sleep 0.1; done'
)


def test_a_secret_is_used_and_seen_nowhere(kernel: Kernel) -> None:
    kernel.setenv("CANARY", SECRET)
    text = kernel.text(ON_RANK_3, nodes=4, env_vars={"MY_TOKEN": "${CANARY}"}, job_name="canary")
    plan = am.preview(text)
    job = am.launch(plan)
    while len(list(job.directory.glob("up.*"))) < 4:
        assert not job.wait(0.1).final
    seen = [
        repr(plan), repr(job), str(plan.environment), *plan.files.values(), *plan.submit, job.log(),
        kernel.lab.run("scontrol", "show", "job", "-dd", job.scheduler_id).stdout,
        kernel.lab.run("scontrol", "write", "batch_script", job.scheduler_id, "-").stdout,
        *(kernel.lab.in_node(node, "ps", "axww", "-o", "args").stdout for node in (1, 2, 3, 4)),
        subprocess.run(["ps", "axww", "-o", "args"], capture_output=True, text=True, check=True).stdout,
    ]  # fmt: skip
    assert any("AUTOMODEL_JOB_DIR" in text for text in seen[-5:])  # the training is in the process lists
    (job.directory / "go").touch()
    assert job.wait(30) == "COMPLETED"
    assert hashlib.sha256(SECRET.encode()).hexdigest() in job.log()
    assert not [text for text in seen if SECRET in text]
    found = [path for path in kernel.directory.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
    assert not found
    assert oct(job.directory.stat().st_mode & 0o777) == "0o700"


def test_a_home_and_path_that_the_nodes_do_not_have(kernel: Kernel, tmp_path: Path) -> None:
    for program in ("sbatch", "squeue", "scontrol"):
        (tmp_path / "login").mkdir(exist_ok=True)
        (tmp_path / "login" / program).symlink_to(f"/usr/bin/{program}")
    kernel.setenv("PATH", str(tmp_path / "login"))
    kernel.setenv("HOME", "/proc/no/such/home")
    os.environ.pop("HF_HOME")
    # the nodes do not see the login node's directory
    for node in (1, 2):
        kernel.lab.in_node(node, "mount", "-t", "tmpfs", "tmpfs", str(tmp_path / "login"))
    try:
        job = kernel.launch(f"{DUMP}; ls", nodes=2)
    finally:
        for node in (1, 2):
            kernel.lab.in_node(node, "umount", str(tmp_path / "login"))
    assert job.state == "COMPLETED", job.log()
    assert environment(job)["HOME"] == "/proc/no/such/home"
