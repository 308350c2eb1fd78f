"""A job launched from a laptop: few trips, whole files, its log as it comes, its end; and networks that fail on the way."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.ssh.laptop import Laptop, LaptopError
from tests.ssh.login_node import LoginNode

pytestmark = pytest.mark.slurm

START = """
    import automodel_nb as am, os, stat, time
    from automodel_nb import hosts
    from automodel_nb.job.session import session
    from automodel_nb.launchers import slurm
    session().tracker.floor["slurm"] = 0.2
    os.environ["HF_TOKEN"] = "hf-secret-value-1234"
"""
COUNT = "for i in $(seq 1 400); do echo line $i; sleep 0.05; [ -e $AUTOMODEL_JOB_DIR/enough ] && break; done; echo over; exit 3"


def document(command: str = "echo done", *lines: str) -> str:
    given = "".join(f"  {line}\n" for line in lines)
    return (
        "slurm:\n  host: login\n  gpu_request: none\n  ntasks_per_node: 1\n  time: '10'\n"
        f"{given}  command: |\n    {command}\nanswer: 42 # stays as it is\n"
    )


def wait(condition: Callable[[], object], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.fixture
def am(laptop: Laptop) -> Laptop:
    """A laptop with a notebook in which automodel_nb is imported."""
    laptop.do(START)
    return laptop


def test_a_launch_takes_three_trips_and_is_whole(am: Laptop, login: LoginNode) -> None:
    text = document(
        'echo "$WHO is $HOME in $PWD with ${#HF_TOKEN} of $OWN"',
        "job_dir: ${SCRATCH}/jobs",
        'env_vars: {HF_TOKEN: "${HF_TOKEN}", WHO: "${USER}", OWN: "${LANG}"}',
    )
    plan = am.do("plan = am.preview(text); [str(plan.job_dir), plan.chdir, plan.submit[:3], plan.host]", text=text)
    assert plan == [f"{login.home}/scratch/jobs", str(login.home), ["ssh", "login", "sbatch"], "login"]
    (hint,) = am.do("[str(finding) for finding in plan.findings if finding.code == 'remote-paths']")
    assert f"`~` is {login.home}, the training runs in {login.home}" in hint
    assert "${SCRATCH} as set there" in hint
    am.do("hosts.forget(); from automodel_nb import facts_slurm; facts_slurm.forget()")
    trips = am.do("job = am.launch(text); h = hosts.host('login'); h.round_trips")
    assert 0 < trips <= 3
    state, log = am.do("job.wait(60), job.log()")
    assert state == "COMPLETED"
    assert f"trainer is {login.home} in {login.home} with 20 of C.UTF-8" in log
    directory = Path(am.do("str(job.directory)"))
    assert directory.parent == login.home / "scratch/jobs"
    assert (directory / "recipe.yaml").read_text() == am.do("plan.files['recipe.yaml']") == "answer: 42 # stays as it is\n"
    assert (directory / "launch.sbatch").read_text() == am.do("plan.files['launch.sbatch']")
    assert (directory.stat().st_mode & 0o777, (directory / "recipe.yaml").stat().st_mode & 0o777) == (0o700, 0o600)
    for path in directory.iterdir():
        assert "hf-secret" not in path.read_text()
    kept = am.do("[path.read_bytes().decode() for path in session().store.directory.parent.rglob('*') if path.is_file()]")
    assert kept
    assert not any("hf-secret" in text for text in kept)
    assert am.do("[am.attach('last').host, job.exit_code, job.state, str(job.checkpoint)]") == ["login", 0, "COMPLETED", "None"]


def test_paths_are_looked_at_there(am: Laptop, login: LoginNode) -> None:
    """Mounts and models of the login node, in the trip that asks its cluster: two for a preview, a third submits."""
    (login.home / "data").mkdir()
    text = (
        "slurm:\n  host: login\n  time: '10'\n  gpu_request: none\n  ntasks_per_node: 1\n  container_image: a/b\n"
        "  extra_mounts: ['~/data:/d', '~/nowhere:/n', /only/on/nodes]\n  nemo_mount: ~/data/none:/opt/A\n"
    )
    missing = am.do(
        """
        plan = am.preview(text)
        [[finding.code, finding.field, finding.line] for finding in plan.findings if finding.code.startswith("mount")]
        """,
        text=text,
    )
    assert missing == [
        ["mount-missing", "slurm.extra_mounts.1", 7],
        ["mount-missing", "slurm.nemo_mount", 8],
        ["mount-unseen", "slurm.extra_mounts.2", 7],
    ]
    am.do("hosts.forget(); from automodel_nb import facts_slurm; facts_slurm.forget()")
    recipe = "recipe: TrainFinetuneRecipeForNextTokenPrediction\nmodel: {pretrained_model_name_or_path: MODEL}\n"
    section = f"slurm:\n  host: login\n  time: '10'\n  gpu_request: none\n  python: {sys.executable}\n"
    codes = "[finding.field for finding in am.preview(text).findings if finding.code == 'model-missing']"
    for model, found in (("./data", []), ("./nowhere", ["model.pretrained_model_name_or_path"])):
        assert am.do(codes, text=section + recipe.replace("MODEL", model)) == found
        if not found:
            assert am.do("hosts.host('login').round_trips") <= 2
    answer = am.do(
        "[str(f) for f in am.preview(text, check_cluster=True).findings if f.code == 'cluster-check']", text=document()
    )
    assert "start it at once" in answer[0]
    assert am.do("am.jobs()") == []


def test_the_doctor_looks_at_a_login_node(am: Laptop, login: LoginNode) -> None:
    items = am.do("[[item.name, item.found, item.lacks] for item in am.doctor('login').items if item.method == 'slurm']")
    assert items[0] == ["login node login", f"ssh works, home {login.home}", ""]
    found = {name: words for name, words, _ in items}
    assert found["partition batch"] == "2 nodes, 8 GPUs each, at most 2 d, the default"
    assert found["accounting"].startswith("off")
    assert found["containers"] == "Pyxis"
    login.stop()
    am.do("hosts.forget()")
    ((name, words, lacks),) = am.do("[[i.name, i.found, i.lacks] for i in am.doctor('login').items if i.method == 'slurm']")
    assert (name, lacks) == ("login node login", "a connection")
    assert "login" in words


def test_what_slurm_refuses_leaves_nothing(am: Laptop, login: LoginNode) -> None:
    before = sorted(login.home.rglob("*"))
    with pytest.raises(LaptopError) as error:
        am.do("am.launch(text, ignore=['partition'])", text=document("true", "partition: nosuch", "job_dir: new/dir"))
    assert "nosuch" in str(error.value)
    assert "line 6, column 14" in str(error.value)
    with pytest.raises(LaptopError, match="login: mkdir: ") as error:
        am.do("am.launch(text)", text=document("true", "job_dir: /proc/jobs"))
    assert "Nothing was launched." in str(error.value)
    assert sorted(login.home.rglob("*")) == before
    assert am.do("am.jobs()") == []
    assert login.lab.run("squeue", "-h").stdout == ""


def test_cancel_and_the_other_user(am: Laptop, login: LoginNode) -> None:
    """Under another number than the laptop's, whose jobs squeue is asked for."""
    am.do("job = am.launch(text, host='guest')", text=document("sleep 300"))
    wait(lambda: am.do("job.state") == "RUNNING")
    assert login.lab.job(am.do("job.scheduler_id"))["UserId"] == "nobody(65534)"
    am.do("job.cancel()")
    assert am.do("[job.wait(30), job.reason]") == ["CANCELLED", "cancelled"]


def test_a_cut_connection(am: Laptop, login: LoginNode) -> None:
    """The login node is switched off while a job runs: states are those of before, the log goes on where it was."""
    am.do("job = am.launch(text); lines = []; follower = job.follow()", text=document(COUNT))
    am.do("while len(lines) < 30: lines.append(next(follower))")
    assert am.do("job.state") == "RUNNING"
    login.stop()
    time.sleep(1)
    seen = am.do("session().tracker.poke('slurm'); s = job.status; [s.observation.state, s.silent, time.time() - s.as_of]")
    assert seen[0] == "RUNNING"
    assert seen[1].startswith("login does not answer: ")
    assert seen[2] > 0.5
    assert "line 20" in am.do("job.log()")  # what is here is shown
    am.do("while (found := job.log(1).rpartition(' ')[2]) == '': pass")
    assert len(login.lab.run("squeue", "-h", "-o", "%A").stdout.split()) == 1
    login.start()
    Path(am.do("str(job.directory)"), "enough").touch()
    am.do("h = hosts.host('login'); h.hurry(); lines += list(follower)")
    numbers = [text for _, text in am.do("lines") if text.startswith("line ")]
    assert numbers == [f"line {number}" for number in range(1, len(numbers) + 1)]
    assert "over" in am.do("[text for _, text in lines]")
    assert am.do("[job.wait(30), job.exit_code, job.reason]") == ["FAILED", 3, "exit code 3"]
    assert am.do("job.log()") == (Path(am.do("str(job.directory)")) / "output.log").read_text().rstrip("\n")


def test_ssh_is_killed(am: Laptop, login: LoginNode) -> None:
    am.do("job = am.launch(text)", text=document(COUNT))
    wait(lambda: am.do("job.log(1)").startswith("line"))
    am.do(
        """
        import re, signal, subprocess
        from automodel_nb.hosts.connection import control_path
        option = f"ControlPath={control_path('login')}"
        check = subprocess.run(["ssh", "-O", "check", "-o", option, "login"], capture_output=True)
        os.kill(int(re.search(rb"pid=(\\d+)", check.stderr)[1]), signal.SIGKILL)
        for channel in hosts.host("login")._channels.values(): channel._process.kill()
        """
    )
    Path(am.do("str(job.directory)"), "enough").touch()
    assert am.do("[job.wait(30), job.exit_code]") == ["FAILED", 3]
    assert "\nover\n" in am.do("job.log()")


@pytest.mark.parametrize("taken", [True, False])
def test_the_connection_breaks_during_the_submission(am: Laptop, login: LoginNode, taken: bool) -> None:
    """Whether sbatch came through or not, is found out; nothing is submitted a second time."""
    (login.home / "bin").mkdir(exist_ok=True)
    program = login.home / "bin/sbatch"
    program.write_text('#!/bin/sh\n[ -e ~/late ] || /usr/bin/sbatch "$@"\ntouch ~/there; sleep 60\n')
    program.chmod(0o755)
    if not taken:
        (login.home / "late").touch()
    try:
        am.do("slurm.RECONNECT = (0.3, 0.5)")
        am.do("import threading; found = []; errors = []")
        am.do(
            """
            def launch():
                try: found.append(am.launch(text))
                except Exception as error: errors.append(str(error))
            thread = threading.Thread(target=launch); thread.start()
            """,
            text=document("echo once >>$HOME/ran"),
        )
        wait((login.home / "there").exists)
        login.stop()
        program.unlink()
        am.do("thread.join()")
        # nobody could tell: the job is kept, and says so
        assert am.do("[len(found), errors]") == [1, []]
        assert am.do("job = found[0]; [job.state, bool(job.status.silent), job.scheduler_id]") == ["UNKNOWN", True, ""]
        assert "not submitted a second time" in am.do("job.record.submission.message")
        login.start()
        am.do("hosts.again(); session().tracker.poke('slurm')")
        if taken:
            assert am.do("[job.wait(60), job.exit_code]") == ["COMPLETED", 0]
            assert (login.home / "ran").read_text() == "once\n"
        else:
            assert am.do("[job.wait(60), job.reason_code]") == ["FAILED", "never_submitted"]
            assert not (login.home / "ran").exists()
    finally:
        for name in ("bin/sbatch", "late", "there", "ran"):
            (login.home / name).unlink(missing_ok=True)


def test_a_short_break_during_the_submission(am: Laptop, login: LoginNode) -> None:
    """The connection alone is lost: the launch itself finds its job again."""
    (login.home / "bin").mkdir(exist_ok=True)
    program = login.home / "bin/sbatch"
    program.write_text('#!/bin/sh\ntouch ~/there; sleep 2; exec /usr/bin/sbatch "$@"\n')
    program.chmod(0o755)
    try:
        am.do("import threading; found = []; text = given", given=document("true"))
        am.do("thread = threading.Thread(target=lambda: found.append(am.launch(text))); thread.start()")
        wait((login.home / "there").exists)
        am.do("hosts.host('login')._channels['commands']._process.kill()")
        am.do("thread.join()")
        assert "Slurm has taken the job" in am.do("job = found[0]; job.record.submission.message")
        assert am.do("job.wait(30)") == "COMPLETED"
        assert len(login.lab.run("squeue", "-h", "-t", "all", "-u", "root", "-n", "automodel", "-o", "%o").stdout.split())
        assert am.do("len(am.jobs())") == 1
    finally:
        program.unlink()
        (login.home / "there").unlink()
