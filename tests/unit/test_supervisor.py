"""The supervisor of an interactive job, with real processes and real signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from automodel_nb.launchers import supervisor


def start(directory: Path, script: str, chdir: str = "/", signal_name: str = "SIGTERM") -> dict[str, Any]:
    (directory / "launch.sh").write_text(script)
    argv = [sys.executable, "-I", "-S", supervisor.__file__, str(directory), chdir, signal_name]
    done = subprocess.run(
        [*argv, "bash", str(directory / "launch.sh")], capture_output=True, text=True, timeout=30, check=False
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def until(condition: Callable[[], Any], seconds: float = 20) -> Any:
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)
    return value


def exit_code(directory: Path) -> int:
    path = directory / "exit_code"
    return int(until(lambda: path.exists() and path.read_text().split()[0]))


def facts(directory: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((directory / "supervisor.json").read_text())
    return loaded


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    path = tmp_path / "supervisor.json"
    if path.exists() and not (tmp_path / "exit_code").exists():
        os.kill(facts(tmp_path)["pid"], signal.SIGQUIT)


def test_log_and_exit_code(directory: Path) -> None:
    answer = start(directory, "echo out; echo err >&2; pwd; exit 3\n", chdir="/usr")
    assert exit_code(directory) == 3
    assert (directory / "output.log").read_text() == "out\nerr\n/usr\n"
    assert answer["boot_id"] == supervisor.boot_id()
    until(lambda: supervisor.start_time(answer["pid"]) is None)  # the supervisor itself is gone too


def test_killed_by_a_signal_is_said_as_a_shell_says_it(directory: Path) -> None:
    start(directory, "kill -SEGV $$\n")
    assert exit_code(directory) == 128 + signal.SIGSEGV


def test_outlives_the_process_that_started_it(directory: Path) -> None:
    code = (
        "import sys, os; sys.path.insert(0, sys.argv[2]); from pathlib import Path;"
        "from tests.unit.test_supervisor import start; start(Path(sys.argv[1]), 'sleep 1; echo done\\n');"
        "os.kill(os.getpid(), 9)"
    )
    root = str(Path(__file__).parents[2])
    done = subprocess.run([sys.executable, "-c", code, str(directory), root], check=False)
    assert done.returncode == -signal.SIGKILL
    assert exit_code(directory) == 0
    assert (directory / "output.log").read_text() == "done\n"


@pytest.mark.parametrize(("chdir", "writable"), [("/no/such/place", True), ("/", False)])
def test_refuses_in_one_line_and_starts_nothing(directory: Path, chdir: str, writable: bool) -> None:
    if not writable:
        (directory / "output.log").mkdir()  # root may write anywhere, but not into a directory as if it were a file
    answer = start(directory, f"touch {directory}/ran\n", chdir=chdir)
    assert set(answer) == {"error"}
    assert "\n" not in answer["error"]
    time.sleep(0.2)
    assert not (directory / "ran").exists()


# Stands for torchrun: an agent without LOCAL_RANK, two workers with it, each with a child that inherits it.
_AGENT = r"""
worker() { LOCAL_RANK=$1 python3 -c '
import os, signal, subprocess, sys, time
child, rank = subprocess.Popen(["sleep", "60"]), os.environb[b"LOCAL_RANK"]
def save(number, frame):
    os.write(1, b"rank %s got %d child %s\n" % (rank, number, str(child.poll()).encode())); child.kill(); sys.exit(0)
signal.signal(signal.SIGTERM, save); signal.signal(signal.SIGUSR1, save)
print("ready", flush=True)
time.sleep(60)'; }
trap 'echo agent was told' TERM INT USR1
worker 0 & worker 1 &
wait %1; wait %2; echo agent ends
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGUSR1"])
def test_save_reaches_the_workers_and_nobody_else(directory: Path, name: str) -> None:
    answer = start(directory, _AGENT, signal_name=name)
    log = directory / "output.log"
    until(lambda: log.read_text().count("ready") == 2)
    os.kill(answer["pid"], signal.SIGUSR1)
    assert exit_code(directory) == 0
    said = log.read_text()
    number = int(getattr(signal, name))
    assert f"rank 0 got {number} child None" in said
    assert f"rank 1 got {number} child None" in said
    assert "agent was told" not in said
    assert facts(directory)["asked"] == "save"


def test_kill_ends_everything(directory: Path) -> None:
    answer = start(directory, "trap '' TERM INT\n(trap '' TERM; setsid sleep 60) &\necho ready\nsleep 60\n")
    log = directory / "output.log"
    until(lambda: "ready" in log.read_text())
    before = supervisor.descendants(answer["pid"])
    assert len(before) >= 3
    os.kill(answer["pid"], signal.SIGQUIT)
    assert exit_code(directory) == 128 + signal.SIGKILL
    assert not [pid for pid in before if supervisor.start_time(pid) is not None and supervisor.descendants(pid)]


def test_what_the_job_leaves_behind_is_ended_before_the_exit_code(directory: Path) -> None:
    start(directory, f"setsid sleep 60 & echo $! > {directory}/pid\nexit 0\n")
    assert exit_code(directory) == 0
    assert not supervisor.descendants(int((directory / "pid").read_text()))


def test_the_job_takes_its_own_signals(directory: Path) -> None:
    start(directory, "python3 -c 'import signal; print(signal.pthread_sigmask(signal.SIG_BLOCK, []))'\n")
    assert exit_code(directory) == 0
    assert (directory / "output.log").read_text() == "set()\n"
