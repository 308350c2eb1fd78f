"""The launcher on a real SkyPilot: what arrives on the nodes, cancel, down, broken-off launches, refusals."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.skypilot.kernel import Kernel
from tests.skypilot.lab import SkyLab

pytestmark = [pytest.mark.skypilot, pytest.mark.timeout(300)]

# typed by hand, so that nothing but the launch itself is between it and the node
VALUES = {
    "MSG": "it's $HOME; echo pwned `date`",
    "PATTERN": 'a b"c',
    "EMPTY": "",
    "YES": "yes",
    "NUM": "0123",
    "E": "1e-5",
}
SECRET = "hf_" + "q" * 30 + "1234"
SHOWS = "python3 -c 'import os; print(repr([os.environ.get(n) for n in \"MSG PATTERN EMPTY YES NUM E\".split()]))'"


@pytest.fixture
def kernel(kernel_env: dict[str, str], work: Path) -> Kernel:  # type: ignore[misc]
    running = Kernel({**kernel_env, "MY_TOKEN": SECRET}, work)
    running.run("import automodel_nb as am")
    yield running
    running.kill()


def cell(name: str, command: str, **fields: object) -> str:
    section = {"job_name": name, "infra": "slurm/lab", "accelerators": "H100:1", "setup": "echo setting up", **fields}
    return yaml.safe_dump({"skypilot": {**section, "command": command}}, sort_keys=False)


def until(condition: Callable[[], object], timeout: float, what: str) -> None:
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, f"no {what} after {timeout:.0f} s"
        time.sleep(1)


@pytest.mark.timeout(480)
def test_values_arrive_a_failure_is_told_a_job_is_cancelled_and_clusters_end(
    sky_lab: SkyLab, kernel: Kernel, work: Path
) -> None:
    failing = cell("failing", f"{SHOWS}; echo token $HF_TOKEN; exit 3", env_vars={**VALUES, "HF_TOKEN": "${MY_TOKEN}"})
    endless = cell("endless", "while :; do echo tick; sleep 1; done", autostop_minutes=30)
    ran = kernel.run(
        f"a = am.launch({failing!r})\nb = am.launch({endless!r})\nprint(a.cluster, b.cluster, a.state, b.state)", 60
    )
    assert ran.error == "", ran.traceback
    first, second, *states = ran.text.split()
    assert states == ["PENDING", "PENDING"]

    ended = kernel.run("print(a.wait(200), '|', a.reason, '|', a.exit_code)", 210)
    assert ended.text.strip() == "FAILED | exit code 3 | 3", ended.text + ended.traceback
    said = kernel.run("print(a.log())").text
    assert repr(list(VALUES.values())) in said
    assert "setting up" in said
    assert "token ***" in said  # it arrived, and is masked

    # no value of a secret in anything of ours: files, records, the plan, the command
    written = [path for path in work.rglob("*") if path.is_file() and path.name != "output.log"]
    assert {path.name for path in written} == {"recipe.yaml", "task.yaml"}
    assert not [path for path in written if SECRET in path.read_text()]
    assert SECRET not in kernel.run("print(a.record)").text

    # the other one streams while it runs, and stops when it is told to
    until(lambda: kernel.run("print(b.state, b.log().count('tick'))").text.startswith("RUNNING"), 90, "running job")
    counted = kernel.run(
        "import time\nn = b.log().count('tick'); time.sleep(8); print(n, b.log().count('tick'))", 30
    ).text.split()
    assert int(counted[1]) > int(counted[0])
    kernel.run("b.cancel()", 60)
    assert kernel.run("print(b.wait(60), b.reason)", 70).text.strip() == "CANCELLED cancelled"

    # both clusters are up without a job; one button a cluster takes them down
    clusters = kernel.run(
        "from automodel_nb.launchers.skypilot_clusters import clusters, forgotten\n"
        "for c in forgotten(clusters(), []): print(c.name, c.state, c.hourly, c.autostop_minutes, c.down, c.cost() > 0)"
    )
    rows = dict(line.split(" ", 1) for line in clusters.text.strip().splitlines())
    assert rows == {first: "UP 2.5 10 True True", second: "UP 2.5 30 True True"}, clusters.traceback
    down = kernel.run(
        f"from automodel_nb.launchers.skypilot import down\ndown({first!r}); down({second!r}); down({second!r})", 180
    )
    assert down.error == "", down.traceback
    assert sky_lab.slurm("squeue", "-h", check=True) == ""
    assert kernel.run("print(clusters())").text.strip() == "[]"


def test_a_launch_is_cancelled_before_its_cluster_is_up(sky_lab: SkyLab, kernel: Kernel) -> None:
    ran = kernel.run(f"job = am.launch({cell('early', 'sleep 600')!r})\nprint(job.cluster)", 60)
    assert ran.error == "", ran.traceback
    until(lambda: sky_lab.slurm("squeue", "-h", check=True), 60, "allocation")
    cancelled = kernel.run("job.cancel(); print(job.wait(60), job.reason)", 120)
    assert cancelled.text.strip() == "CANCELLED the launch was cancelled", cancelled.traceback
    until(lambda: not sky_lab.slurm("squeue", "-h", check=True), 60, "end of the allocation")
    assert ran.text.strip() not in sky_lab.sky("status")


def test_the_stop_button_during_a_launch_takes_it_back(sky_lab: SkyLab, kernel: Kernel, work: Path) -> None:
    pressed = (
        "import sky, _thread, time\n"
        "real = sky.launch\n"
        "def slow(*args, **options):\n"
        "    request = real(*args, **options); _thread.interrupt_main(); time.sleep(2); return request\n"
        "sky.launch = slow\n"
        "try: am.launch(" + repr(cell("pressed", "sleep 600")) + ")\n"
        "finally: sky.launch = real\n"
    )
    ran = kernel.run(pressed, 90)
    assert "the launch was interrupted; it is cancelled, and what there is of pressed-" in ran.error
    assert "!sky status" in ran.error
    assert kernel.run("print(am.jobs())").text.strip() == "[]"
    assert not list(work.glob("automodel_jobs/*"))
    until(lambda: "pressed" not in sky_lab.sky("status"), 90, "end of the cluster")
    until(lambda: not sky_lab.slurm("squeue", "-h", check=True), 60, "end of the allocation")


REFUSED = [
    ({"accelerators": "A100:1"}, "no enabled cloud offers 1 x A100:1 on Slurm"),
    (
        {"infra": "lambda", "accelerators": "H100:1"},
        "SkyPilot has no access to lambda (see what is missing with `!sky check lambda`)",
    ),
]


@pytest.mark.parametrize(("fields", "said"), REFUSED)
def test_what_the_server_refuses_is_one_line(kernel: Kernel, fields: dict[str, str], said: str) -> None:
    ran = kernel.run(f"job = am.launch({cell('refused', 'true', **fields)!r})\nprint(job.wait(60), '|', job.reason)", 90)
    text = ran.error or ran.text
    assert said in text, ran.traceback
    assert "\x1b" not in text
    assert "Traceback" not in text
    assert len(text.strip().splitlines()) <= 2


def test_task_yaml_is_sky_pilots_own(sky_lab: SkyLab, kernel: Kernel, work: Path) -> None:
    document = cell("by_hand", "true", num_nodes=2, env_vars={"HF_TOKEN": "${MY_TOKEN}", "A": "1"})
    kernel.run(f"plan = am.preview({document!r})\nfor name, text in plan.files.items(): open(name, 'w').write(text)")
    said = sky_lab.sky("launch", "--dryrun", "-y", "--secret", f"HF_TOKEN={SECRET}", "task.yaml", cwd=work)
    assert "H100:1" in said
    assert "Slurm (lab)" in said
    missing = sky_lab.sky("launch", "--dryrun", "-y", "task.yaml", cwd=work, check=False)
    assert "HF_TOKEN" in missing


def test_a_server_that_goes_away_changes_no_state(kernel_env: dict[str, str], work: Path) -> None:
    kernel = Kernel({**kernel_env, "SKYPILOT_API_SERVER_ENDPOINT": "http://127.0.0.1:9"}, work)
    try:
        ran = kernel.run(f"import automodel_nb as am\nam.launch({cell('none', 'true')!r})", 60)
        assert "the SkyPilot API server at http://127.0.0.1:9 does not answer" in ran.error
        assert "Nothing was launched." in ran.error
        ran = kernel.run(
            "from automodel_nb.launchers import JobRef, Submission, launcher\nfrom pathlib import Path\n"
            "submission = Submission('x', cluster='x', extra={'request': 'r'})\n"
            "launcher('skypilot').poll([JobRef('abcdefgh', Path('.'), submission, 0.0)])"
        )
        assert ran.traceback.splitlines()[0].startswith("UnreachableError: the SkyPilot API server at http://127.0.0.1:9")
    finally:
        kernel.kill()


def test_no_server_is_started_unasked(tmp_path: Path) -> None:
    with SkyLab(server=False) as lab:
        work = lab.work
        kernel = Kernel({**lab.env, "AUTOMODEL_NB_HOME": str(tmp_path)}, work)
        try:
            ran = kernel.run(f"import automodel_nb as am\nam.launch({cell('none', 'true')!r})", 60)
            assert "start it with `!sky api start`" in ran.error
            assert not lab.listens("api")
            assert not list(work.iterdir())
        finally:
            kernel.kill()
