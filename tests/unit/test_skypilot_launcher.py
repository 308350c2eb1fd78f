"""The parts of the SkyPilot launcher that need no SkyPilot: words for exceptions, states, logs, clusters."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from automodel_nb.job import clusters
from automodel_nb.job.tracker import Status
from automodel_nb.launchers import skypilot_logs as logs
from automodel_nb.launchers import skypilot_states as states
from automodel_nb.launchers.base import JobRef, Submission
from automodel_nb.launchers.skypilot_client import muted
from automodel_nb.launchers.skypilot_clusters import Cluster, Look
from automodel_nb.launchers.skypilot_errors import Explained, explain
from automodel_nb.states import SKYPILOT_STATES, JobState, Observation
from tests.unit.test_jobs import record as job_record


def raised(name: str, text: str, base: type[Exception] = Exception) -> Exception:
    return type(name, (base,), {})(text)  # type: ignore[no-any-return]


# texts that SkyPilot 0.14.1 raised in the lab
NOT_ENABLED = (
    "Task requires aws which is not enabled. To enable access, change the task cloud requirement or run: "
    "\x1b[1msky check aws\x1b[0m"
)
OFFERED = (
    "Catalog does not contain any instances satisfying the request: 1x AWS({'H100': 3}).\nTo fix: relax or change the resource "
    "requirements.\nTry one of these offered accelerators: ['H100:8']\n\nHint: \x1b[1msky gpus list\x1b[0m to list"
)
NO_SPOT = """\x1b[31mFailed to provision all possible launchable resources.\x1b[0m Relax: 1x Slurm([Spot], {'H100': 1})
Provision failures (tried 1 infra):

✗ Slurm (lab) — (gpus=H100:1, ...)
  The following features are not supported by Slurm:
  \tFeature        Reason
  \tspot_instance  Spot instances are not supported in Slurm.
"""
FAILED = """\x1b[31mFailed to provision all possible launchable resources.\x1b[0m Relax: 2x AWS({'H100': 8})
To keep retrying until the cluster is up, use the `--retry-until-up` flag.
Provision failures (tried 2 infra):

✗ AWS (us-east-1) — (gpus=H100:8, p5.48xlarge, ...)
  Failed to acquire resources in all zones in us-east-1 for {AWS({'H100': 8})}.

✗ AWS (us-west-2) — (gpus=H100:8, p5.48xlarge, ...)
  Failed to acquire resources in all zones in us-west-2 for {AWS({'H100': 8})}.
"""


@pytest.mark.parametrize(
    ("error", "message", "fix"),
    [
        (
            raised(
                "ApiServerConnectionError",
                "Could not connect to SkyPilot API server at http://me:pw@127.0.0.1:46580. Please",
                RuntimeError,
            ),
            "the SkyPilot API server at http://127.0.0.1:46580 does not answer",
            "start it with `!sky api start`",
        ),
        (
            raised("NoCloudAccessError", "Cloud access is not set up. Run: \x1b[1msky check\x1b[0m"),
            "SkyPilot has access to no cloud",
            "see what is missing with `!sky check`",
        ),
        (
            raised("ResourcesUnavailableError", NOT_ENABLED),
            "SkyPilot has no access to aws",
            "see what is missing with `!sky check aws`",
        ),
        (raised("ResourcesUnavailableError", OFFERED), "no instance offers 1 x H100:3 on AWS", "offered: H100:8"),
        (raised("ResourcesUnavailableError", NO_SPOT), "Spot instances are not supported in Slurm", ""),
        (
            raised("ResourcesUnavailableError", FAILED),
            "2 x H100:8 on AWS could not be provisioned: AWS (us-east-1), AWS (us-west-2) said: "
            "Failed to acquire resources in all zones in us-east-1",
            "try another region or instance type",
        ),
        (
            raised("ResourcesUnavailableError", FAILED.replace("Failed to acquire", "An error occurred (VcpuLimitExceeded):")),
            "the account's quota does not allow 2 x H100:8 on AWS",
            "ask for more at the cloud, or try another region",
        ),
        (
            raised("ResourcesUnavailableError", FAILED.replace("Failed to acquire", "InsufficientInstanceCapacity")),
            "no capacity for 2 x H100:8 on AWS now",
            "try another region or instance type, or wait",
        ),
        (
            raised(
                "CloudUserIdentityError",
                "Failed to get AWS user. ExpiredToken: the security token included in the request is expired",
            ),
            "the credentials for aws are expired or not valid",
            "log in with `!aws sso login`, then `!sky check aws`",
        ),
        (
            raised(
                "CloudError",
                "requests error (ConnectionError): HTTPSConnectionPool(host='raw.githubusercontent.com', port=443): Max",
            ),
            "SkyPilot cannot download its catalog of instances and prices",
            "it comes from raw.githubusercontent.com: check the network and HTTPS_PROXY of the API server",
        ),
        (raised("SomethingNew", "\x1b[31mfirst\x1b[0m line\nsecond"), "first line", ""),
        (raised("SomethingNew", ""), "SomethingNew", ""),
    ],
)
def test_exceptions_become_one_line(error: Exception, message: str, fix: str) -> None:
    explained = explain(error)
    assert (explained.message, explained.fix) == (message, fix)
    assert "\x1b" not in str(explained)
    assert "\n" not in str(explained)


def test_what_says_nothing_of_the_job_is_told_apart() -> None:
    assert explain(raised("ApiServerConnectionError", "")).unreachable
    assert explain(raised("ReadTimeout", "timed out")).unreachable
    assert explain(raised("ClusterDoesNotExist", "Cluster 'x' does not exist.", ValueError)).gone
    assert not explain(raised("CommandError", "ssh failed")).unreachable


def test_every_state_of_sky_pilot_has_one_of_ours() -> None:
    assert {word for word in states._WORDS if word not in SKYPILOT_STATES} == set()


def record(status: str, **fields: Any) -> SimpleNamespace:
    return SimpleNamespace(
        **{"status": f"JobStatus.{status}", "start_at": 5.0, "end_at": None, "failure_reason": None, "recovery_count": 0}
        | fields
    )


def test_jobs_and_managed_jobs() -> None:
    running = states.of_job(record("RUNNING"), ("n1", "n2"))
    assert (running.state, running.started, running.ended, running.nodes, running.native) == (
        JobState.RUNNING,
        5.0,
        None,
        ("n1", "n2"),
        "RUNNING",
    )
    assert states.of_job(record("SUCCEEDED", end_at=9.0)).exit_code == 0
    assert states.of_job(record("FAILED_SETUP")).reason == "setup failed"
    assert states.of_managed(record("RECOVERING")).state is JobState.PENDING
    failed = states.of_managed(
        record("FAILED", end_at=9.0, failure_reason="Job exited with exit code 3 (user program failure). To see")
    )
    assert (failed.state, failed.exit_code, failed.reason, failed.reason_code) == (
        JobState.FAILED,
        3,
        "exit code 3",
        "exit_code",
    )
    killed = states.of_managed(record("FAILED", failure_reason="Job exited with exit code 137 (user program failure)"))
    assert killed.reason == "killed by signal 9 (SIGKILL)"
    assert (
        states.of_managed(record("FAILED_NO_RESOURCE", failure_reason="no H100\nanywhere")).reason
        == "no cloud had the resources: no H100"
    )
    assert states.of_job(record("SOMETHING_NEW")).state is JobState.UNKNOWN


def test_lost_clusters_and_failed_launches() -> None:
    assert states.unseen("x", "").reason_code == "cluster_gone"
    assert "`!sky start x`" in states.unseen("x", "STOPPED").reason
    assert states.lost(True, "x").state is JobState.PREEMPTED
    assert states.lost(False, "x").state is JobState.NODE_FAIL
    failed = states.launch_failed(Explained("no capacity", "wait"), "x-abcdefgh")
    assert failed.state is JobState.FAILED
    assert failed.reason == "no capacity (wait); the cluster may be up: `!sky down x-abcdefgh`"
    assert states.launch_failed(Explained("the launch was cancelled")).state is JobState.CANCELLED


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("\x1b[36m(head, rank=0, pid=7)\x1b[0m hello\n", "(head, rank=0, pid=7) hello"),
        ("\x1b[36m(x, pid=7)\x1b[0m \n", "(x, pid=7) "),
        ("\x1b[2m├── \x1b[0m\x1b[2mWaiting for task resources on 2 nodes.\x1b[0m\n", None),
        ("\x1b[2m└── \x1b[0mJob started. Streaming logs... \x1b[2m(Ctrl-C\n", None),
        ("\x1b[0m\x1b[32m✓ Job finished (status: SUCCEEDED).\x1b[0m\x1b[0m\n", None),
        ("\n", None),
        ("ERROR: \x1b[31mJob 1 failed with return code list:\x1b[0m [3] \n", "ERROR: Job 1 failed with return code list: [3] "),
    ],
)
def test_lines_of_the_stream(line: str, kept: str | None) -> None:
    assert logs.clean(line) == kept


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("ERROR: Job 1 failed with return code list:\x1b[0m [3] \n", 3),
        ("failed with return code list: [0, 1]", 1),
        ("failed with return code list: [137, 1]", 1),
        ("failed with return code list: [137]", 137),
        (
            "srun: error: sky2: task 1: Exited with exit code 3\nJob 1 failed with return code list: [143]\n"
            "task 0: Exited with exit code 100",
            3,
        ),
        ("return code 3", None),
    ],
)
def test_exit_codes(text: str, code: int | None) -> None:
    assert logs.exit_code(text) == code


def test_a_log_is_written_where_it_belongs(tmp_path: Path) -> None:
    path = tmp_path / "output.log"
    lines = [f"line {n} {'x' * 100}" for n in range(20)]
    logs.write(path, lines[:12])
    whole = "".join(f"{line}\n" for line in lines)
    logs.write(path, lines)  # a kernel that comes back: from the beginning, and on
    assert path.read_text() == whole
    logs.write(path, lines[:5])  # another kernel that is behind takes nothing away
    assert path.read_text() == whole
    with open(path, "r+") as file:
        file.truncate(250)  # a kernel was killed within a line
    logs.write(path, lines)
    assert path.read_text() == whole
    assert path.stat().st_mode & 0o777 == 0o600


def test_another_stream_is_put_behind_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "output.log"
    logs.write(path, ["same", "first", "second"])
    logs.write(path, ["same", "after the recovery"])  # a managed job on another cluster
    assert path.read_text().splitlines() == ["same", "first", "second", "same", "after the recovery"]


def test_an_open_stream_stands_for_a_running_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ends, breaks = threading.Event(), threading.Event()

    def stream(job: JobRef) -> Iterator[str]:
        yield "a line"
        while not ends.wait(0.01):
            if breaks.is_set() and job.id == "broken":
                raise ConnectionError("the server went away")

    monkeypatch.setattr(logs, "_stream", stream)
    monkeypatch.setattr(logs, "_RETRY", 60.0)
    running = Observation(JobState.RUNNING)
    whole, broken = (JobRef(name, tmp_path, Submission("x", cluster="x"), 0.0) for name in ("whole", "broken"))
    for job in (whole, broken):
        assert logs.running(job) is None  # nothing is followed yet
        logs.follow(job)
        assert logs.running(job) is None  # nothing was said yet
        logs.saw(job, running)
        assert logs.running(job) is running
    breaks.set()
    wait_until(lambda: logs.running(broken) is None)
    assert logs.running(whole) is running
    ends.set()
    wait_until(lambda: logs.follow(whole).complete)
    assert logs.running(whole) is None
    assert logs.follow(broken).problem == "the server went away"
    logs.follow(broken)._over.set()


def wait_until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


HOUR = Cluster("n-abcdefgh", "UP", "abcdefgh", 0.0, 98.32, 10, True)


def test_what_a_cluster_costs_is_said_with_its_end() -> None:
    assert HOUR.cost(5400.0) == pytest.approx(147.48)
    assert re.fullmatch(r"98\.32 \$ an hour, \d+\.\d\d \$ so far, removed after 10 idle minutes", clusters.price(HOUR))
    unknown = replace(HOUR, hourly=None, autostop_minutes=None)
    assert clusters.price(unknown) == "its price is not known, and it never stops by itself"


def test_what_a_job_cost_is_told_by_the_price_at_its_launch_where_its_cluster_is_gone() -> None:
    ended = Status(Observation(JobState.COMPLETED, started=1000.0, ended=1000.0 + 1800), 9999.0)
    job = job_record(method="skypilot", submission=Submission("n", cluster="n", extra={"hourly": 10.0, "managed": True}))
    assert clusters.cost(job, ended, None) == clusters.Cost(10.0, 5.0)
    running = Status(Observation(JobState.RUNNING, started=1000.0), 1000.0 + 3600)
    assert clusters.cost(job, running, None) == clusters.Cost(10.0, 10.0)
    assert clusters.cost(job, Status(Observation(JobState.PENDING), 1.0), None) is None
    assert clusters.cost(replace(job, submission=Submission("n", extra={"hourly": None})), running, None) is None
    assert not clusters.has_one(job)  # its controller has


def test_only_clusters_without_a_job_are_called_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clusters are made up: many at once, in every relation to the records."""
    names = ("endedjob", "runsnow2", "oldruns3", "oldended", "elsewher")
    up = {name: replace(HOUR, name=f"n-{name}", job_id=name) for name in names}
    up["stopped2"] = replace(HOUR, name="n-stopped2", job_id="stopped2", state="STOPPED")
    monkeypatch.setattr("automodel_nb.launchers.skypilot_clusters.look", lambda: Look(up))
    over = Observation(JobState.FAILED)
    ended = {"endedjob": over, "runsnow2": None, "oldruns3": None, "oldended": over, "stopped2": over}
    records = [job_record(id=name, method="skypilot", ended=end) for name, end in ended.items()]
    asked = {"endedjob": Status(over, 1.0), "runsnow2": Status(Observation(JobState.RUNNING), 1.0)}
    said = clusters.remarks(records, asked)
    assert [line.split()[1] for line in said] == ["n-endedjob", "n-oldended", "n-elsewher"]
    assert "with no job on it" in said[0]
    assert said[0].endswith("taken down by %automodel_cancel endedjob --down")
    assert "whether its job runs is not known here: !sky queue n-elsewher tells, and !sky down n-elsewher" in said[2]
    assert clusters.remarks([job_record()], {}) == []  # nobody asks SkyPilot where no job is its


def test_a_cluster_is_needed_while_its_job_runs_or_nobody_answers() -> None:
    assert clusters.idle(Observation(JobState.FAILED))
    assert clusters.idle(Observation(JobState.UNKNOWN, "x", "forgotten"))
    assert not clusters.idle(Observation(JobState.UNKNOWN, "x", "unreachable"))
    assert not clusters.idle(Observation(JobState.STOPPING))


def test_only_the_thread_that_launches_is_muted(capsys: pytest.CaptureFixture[str]) -> None:
    with muted():
        print("Running on cluster: x")
        other = threading.Thread(target=lambda: print("from the cell"))
        other.start()
        other.join()
    print("after")
    assert capsys.readouterr().out == "from the cell\nafter\n"
    assert "sky" not in sys.modules


def test_the_package_does_not_know_the_lab_of_the_tests() -> None:
    package = Path(states.__file__).parents[1]
    words = ("skylab", "server_patch", "_test_ip_list", "automodel-nb-sky", "tests.skypilot", "tests/skypilot", "moto")
    known = {
        (str(path.relative_to(package)), word)
        for path in package.rglob("*")
        if path.is_file() and path.suffix not in (".pyc", ".js")
        for word in words
        if word in path.read_text(encoding="utf-8", errors="replace").lower()
    }
    assert known == set()
