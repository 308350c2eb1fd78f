"""Records, states and handles, with real interactive jobs (a shell command in AutoModel's place)."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

import automodel_nb as am
from automodel_nb.errors import JobError, JobNotFoundError, LaunchError, SubmissionError
from automodel_nb.job.record import JobRecord, RecordError, dump, load
from automodel_nb.job.session import session
from automodel_nb.job.store import JobStore, new_id
from automodel_nb.launchers.base import Submission
from automodel_nb.paths import JobPaths
from automodel_nb.plan import Request
from automodel_nb.states import JobState, Observation


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AUTOMODEL_NB_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def document(command: str, **fields: str) -> str:
    more = "".join(f"  {name}: {value}\n" for name, value in fields.items())
    return f"interactive:\n  device: cpu\n{more}  command: |\n" + "".join(f"    {line}\n" for line in command.splitlines())


def record(**changes: object) -> JobRecord:
    plain = JobRecord(
        id=new_id(),
        name="n",
        method="slurm",
        created=1.0,
        user="u",
        machine="m",
        directory="/nowhere",
        chdir="/",
        yaml="a: ü\n",
        command="c",
        request=Request("a: ü\n", overrides={"a.b": "1"}, ignore=("x",)),
        submission=Submission("7", "cluster", "login", extra={"k": 1}),
        secrets=("HF_TOKEN",),
        ended=Observation(JobState.TIMEOUT, "r", "c", 3, 1.0, 2.0, ("n1", "n2"), 1),
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


# --- records ---


def test_a_record_reads_back_equal() -> None:
    assert load(dump(record(id="abc"))) == record(id="abc")
    assert load(dump(record(id="abc", submission=None, ended=None))) == record(id="abc", submission=None, ended=None)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "damaged"),
        ("[]", "not a job record"),
        ("{}", "not a job record"),
        ('{"version": 99}', "another version"),
        ('{"version": 1, "id": "x"}', "other fields"),
    ],
)
def test_what_is_no_record_is_said_in_words(text: str, words: str) -> None:
    with pytest.raises(RecordError, match=words):
        load(text)


def test_store_skips_what_it_cannot_read_with_one_line_each(tmp_path: Path) -> None:
    store = JobStore(tmp_path)
    good = record()
    store.save(good)
    (store.directory / "broken.json").write_text("{")
    (store.directory / "newer.json").write_text('{"version": 2}')
    (store.directory / "other.json").write_text(dump(record()))
    assert store.records() == [good]
    assert len(store.skipped) == 3
    assert all("\n" not in line and "skipped" in line for line in store.skipped)


def test_store_is_private_and_leaves_no_parts(tmp_path: Path) -> None:
    store = JobStore(tmp_path / "deep" / "home")
    store.save(record(id="abc"))
    assert stat.S_IMODE(store.directory.stat().st_mode) == 0o700
    assert stat.S_IMODE((store.directory / "abc.json").stat().st_mode) == 0o600
    assert os.listdir(store.directory) == ["abc.json"]


def test_two_writers_leave_whole_records(tmp_path: Path) -> None:
    records = [record(id="abc", yaml="x" * n) for n in (10, 100_000)]
    seen: set[int] = set()
    stop = threading.Event()

    def write(one: JobRecord) -> None:
        while not stop.is_set():
            JobStore(tmp_path).save(one)

    threads = [threading.Thread(target=write, args=(one,)) for one in records]
    for thread in threads:
        thread.start()
    store, end = JobStore(tmp_path), time.monotonic() + 2
    while time.monotonic() < end:
        for one in store.records():
            seen.add(len(one.yaml))
        assert not store.skipped
    stop.set()
    for thread in threads:
        thread.join()
    assert seen == {10, 100_000}


def test_another_users_record_is_shown_and_not_acted_on(tmp_path: Path) -> None:
    kernel = session()
    kernel.store.save(record(id="abc", ended=None))
    path = kernel.store.directory / "abc.json"
    if os.getuid() != 0:
        pytest.skip("needs root: gives a file to another user")
    os.chown(path, 65534, 65534)
    job = am.attach("abc")
    assert job.name == "n"
    for act in (job.cancel, job.resume):
        with pytest.raises(JobError, match="belongs to u"):
            act()


# --- launches ---


def test_a_job_runs_and_is_known_to_another_kernel(tmp_path: Path) -> None:
    job = am.launch(document('echo "hello $GREETING"; exit 3', env_vars="{GREETING: a b}"))
    assert job.wait(30) is JobState.FAILED
    assert (job.exit_code, job.reason) == (3, "exit code 3")
    assert job.log() == "hello a b"
    assert stat.S_IMODE(job.directory.stat().st_mode) == 0o700
    assert job.directory.parent == tmp_path / "automodel_jobs"
    code = "import automodel_nb as am; j = am.attach('last'); print(j.id, j.state, j.exit_code, j.log())"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout.split() == [job.id, "FAILED", "3", "hello", "a", "b"]


def test_follow_gives_every_line_and_goes_on_from_an_offset() -> None:
    job = am.launch(document("for i in 1 2 3 4 5; do echo line $i; sleep 0.1; done"))
    seen = list(job.follow())
    assert [text for _, text in seen] == [f"line {i}" for i in range(1, 6)]
    assert [text for _, text in job.follow(seen[1][0])] == ["line 3", "line 4", "line 5"]
    assert job.state is JobState.COMPLETED


def test_secrets_reach_the_job_and_nothing_that_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MY_TOKEN", "s3cr3t-value-of-mine")
    job = am.launch(document('echo "token $MY_TOKEN" ; echo -n "$MY_TOKEN" | sha1sum', env_vars='{MY_TOKEN: "${MY_TOKEN}"}'))
    job.wait(30)
    import hashlib

    assert hashlib.sha1(b"s3cr3t-value-of-mine").hexdigest() in job.log()
    assert "s3cr3t" not in job.log()
    assert "s3cr3t" in job.paths.log.read_text()  # the job's own doing
    kept = [path for path in tmp_path.rglob("*") if path.is_file() and path != job.paths.log]
    assert len(kept) >= 5
    assert not [path for path in kept if b"s3cr3t" in path.read_bytes()]


def test_two_launches_in_one_second_are_two_jobs() -> None:
    plan = am.preview(document("true"))
    one, other = am.launch(plan), am.launch(plan)
    assert one.id != other.id
    assert one.directory != other.directory
    assert [job.id for job in am.jobs()] == [other.id, one.id]
    assert {one.wait(20), other.wait(20)} == {JobState.COMPLETED}


def test_cancel_is_a_ladder() -> None:
    job = am.launch(document("trap '' TERM INT\necho ready\nsleep 30"))
    follower = job.follow()
    assert next(follower)[1] == "ready"
    job.cancel()
    time.sleep(0.3)
    assert job.state is JobState.STOPPING
    job.cancel()
    job.cancel()
    assert job.wait(20) is JobState.CANCELLED
    assert job.reason_code == "asked_kill"
    job.cancel()  # of a job that has ended: nothing
    assert am.attach(job.id).state is JobState.CANCELLED


def test_a_killed_supervisor_is_seen() -> None:
    job = am.launch(document("sleep 30 & echo $! ; wait"))
    child = int(next(job.follow())[1])
    os.kill(int(job.scheduler_id), signal.SIGKILL)
    assert job.wait(20) is JobState.FAILED
    assert job.reason_code == "supervisor_killed"
    os.kill(child, signal.SIGKILL)


def test_a_recycled_pid_is_not_taken_for_the_job() -> None:
    job = am.launch(document("true"))
    job.wait(20)
    job.paths.exit_code().unlink()
    submission = replace(job.record.submission, scheduler_id=str(os.getpid()))  # type: ignore[type-var]
    session().store.save(replace(job.record, id="pid", submission=submission, ended=None))
    again = am.attach("pid")
    assert again.state is JobState.FAILED
    again.cancel()  # must not signal this very process


@pytest.mark.parametrize("full", ["file in the way", "full disk"])
def test_a_launch_that_cannot_be_made_leaves_nothing(tmp_path: Path, full: str) -> None:
    if full == "file in the way":
        (tmp_path / "automodel_jobs").write_text("")
        where, before = "./automodel_jobs", {"automodel_jobs"}
    else:
        where, before = "/dev/full/x", set()
    with pytest.raises(SubmissionError, match="Nothing was launched"):
        am.launch(document("true", job_dir=where))
    assert set(os.listdir(tmp_path)) - {"home"} == before
    assert am.jobs() == []


def test_a_refused_submission_takes_back_the_directories_it_made(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    plan = am.preview(document("true", job_dir="a/b/c", chdir="gone"))
    (tmp_path / "gone").rmdir()
    with pytest.raises(SubmissionError, match="No such file or directory"):
        am.launch(plan)
    assert not (tmp_path / "a").exists()
    assert am.jobs() == []


def test_a_working_directory_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LaunchError, match="line 3, column 10: there is no directory /no/such/place"):
        am.launch(document("true", chdir="/no/such/place"))
    assert os.listdir(tmp_path) == []


def test_attach_finds_by_everything_a_user_knows() -> None:
    job = am.launch(document("true", job_name="my_run"))
    job.wait(20)
    for which in ("last", job.id, job.id[:4], job.scheduler_id, "my_run"):
        assert am.attach(which).id == job.id
    for which in ("nope", "", "../x"):
        with pytest.raises(JobNotFoundError):
            am.attach(which)


def test_wait_raises_for_a_failed_job_with_the_error_and_the_log() -> None:
    with pytest.raises(am.JobFailedError, match=r"ValueError: no good.*log: .*output\.log"):
        am.launch(document("python3 -c 'raise ValueError(\"no good\")'"), wait=True)


def test_resume_without_a_checkpoint_is_one_line() -> None:
    job = am.launch(document("true"))
    job.wait(20)
    with pytest.raises(JobError, match="no complete checkpoint"):
        job.resume()


def test_launch_with_an_error_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(LaunchError) as caught:
        am.launch("interactive: {nproc_per_nod: 2}\nrecipe: x\n")
    assert "did you mean `nproc_per_node`" in str(caught.value)
    assert caught.value.findings[0].line == 1
    assert os.listdir(tmp_path) == []


def test_a_thousand_records_are_listed_quickly(tmp_path: Path) -> None:
    kernel = session()
    for index in range(1000):
        kernel.store.save(record(created=float(index)))
    found = am.jobs()
    assert len(found) == 1000
    assert found[0].record.created == 999.0


def test_record_names_every_file_below_its_directory() -> None:
    job = am.launch(document("true"))
    job.wait(20)
    assert sorted(os.listdir(job.directory)) == ["exit_code", "launch.sh", "output.log", "recipe.yaml", "supervisor.json"]
    assert job.paths == JobPaths(job.directory)
    data = json.loads((session().store.directory / f"{job.id}.json").read_text())
    assert data["version"] == 1
    assert data["ended"]["state"] == "COMPLETED"
