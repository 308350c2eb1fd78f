"""A log on a login node, with a shell of this machine in its place: each byte once, whatever becomes of the log meanwhile."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from automodel_nb import hosts
from automodel_nb.hosts import ssh
from automodel_nb.hosts.channel import command_line
from automodel_nb.watching import checkpoints, checkpoints_there
from automodel_nb.watching.follow import LogFile, end_of, lines, tail
from automodel_nb.watching.remote import RemoteLog


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[ssh.SshHost]:
    """A host named ``there`` whose shells run on this machine."""
    monkeypatch.setattr(ssh, "ssh_argv", lambda name, command: ["/bin/sh", "-c", command_line()])
    monkeypatch.setattr(ssh, "is_this_machine", lambda name: False)
    one = ssh.SshHost("there")
    monkeypatch.setitem(hosts._hosts, "there", one)
    yield one
    one.close()


Look = Callable[[], None]


@pytest.fixture
def log(host: ssh.SshHost, tmp_path: Path) -> RemoteLog:
    (tmp_path / "there").mkdir()
    return RemoteLog("there", f"{tmp_path}/there/output.log", tmp_path / "here/output.log")


def test_a_log_that_grows(log: RemoteLog, host: ssh.SshHost) -> None:
    path, follower = Path(log.path), LogFile(log)
    assert follower.read() == []
    path.write_bytes(b"one\ntwo")
    log.poke()
    assert [line.text for line in follower.read()] == ["one"]
    with open(path, "ab") as file:
        file.write(b" and \xff\n\0three\n")
    log.poke()
    assert [line.text for line in follower.read()] == ["two and \\xff", "\0three"]
    assert log.copy.read_bytes() == path.read_bytes()
    assert (log.copy.stat().st_mode & 0o777, log.copy.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    before = host.round_trips
    assert [line.text for line in lines(log)] == ["one", "two and \\xff", "\0three"]
    assert [line.text for line in tail(log, 1)] == ["\0three"]
    assert end_of(log, 6) == b"three\n"
    assert host.round_trips == before  # all of it is here


def test_a_notebook_that_comes_back_fetches_what_is_new(log: RemoteLog, host: ssh.SshHost) -> None:
    Path(log.path).write_bytes(b"x" * 3_000_000 + b"\n")
    assert len(list(lines(log))) == 3  # a line of more than a MiB comes in pieces
    again = RemoteLog("there", log.path, log.copy)
    with open(log.path, "ab") as file:
        file.write(b"new\n")
    before = host.round_trips
    assert list(lines(again))[-1].text == "new"
    assert host.round_trips == before + 1


def test_a_log_that_is_another_one(log: RemoteLog) -> None:
    path, follower = Path(log.path), LogFile(log)
    path.write_bytes(b"first\nsecond\n")
    assert len(follower.read()) == 2
    path.write_bytes(b"another one, and longer\n")
    log.poke()
    found = follower.read()
    assert [line.text for line in found] == ["another one, and longer"]
    assert follower.reset is not None
    path.write_bytes(b"short\n")
    for _ in range(2):  # a size can be out of date: believed at the second look
        log.poke()
        found = follower.read()
    assert [line.text for line in found] == ["short"]


def test_the_end_of_a_long_log_comes_at_once(log: RemoteLog, host: ssh.SshHost) -> None:
    with open(log.path, "wb") as file:
        file.truncate(200_000_000)
        file.seek(0, 2)
        file.write(b"\nlast\n")
    assert [line.text for line in tail(log, 1)] == ["last"]
    assert host.round_trips < 6
    assert log.copy.stat().st_size < 3 << 20


def test_while_the_host_is_silent_what_is_here_is_shown(
    log: RemoteLog, host: ssh.SshHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(log.path).write_bytes(b"one\n")
    assert len(list(lines(log))) == 1
    monkeypatch.setattr(ssh, "ssh_argv", lambda name, command: ["/bin/sh", "-c", "echo ssh: no network >&2; exit 255"])
    host.close()
    with open(log.path, "ab") as file:
        file.write(b"two\n")
    log.poke()
    assert [line.text for line in lines(log)] == ["one"]
    assert log.silent == "there does not answer: no network"
    monkeypatch.setattr(ssh, "ssh_argv", lambda name, command: ["/bin/sh", "-c", command_line()])
    log.poke()
    assert [line.text for line in lines(log)] == ["one", "two"]
    assert log.silent == ""


SHAPES: dict[str, str] = {
    "none": "",
    "no directory": "rmdir ../ckpt",
    "one": "mkdir -p epoch_0_step_3/model",
    "highest": "mkdir -p epoch_0_step_3/model epoch_0_step_20/model epoch_1_step_7",
    "incomplete": "mkdir -p epoch_0_step_3 epoch_0_step_7; touch epoch_0_step_7/.incomplete",
    "latest": "mkdir -p epoch_0_step_3 epoch_0_step_7; ln -s epoch_0_step_3 LATEST",
    "latest incomplete": "mkdir -p epoch_0_step_3 epoch_0_step_7; ln -s epoch_0_step_7 LATEST; touch LATEST/.incomplete",
    "latest dangles": "mkdir -p epoch_0_step_3; ln -s epoch_0_step_9 LATEST",
    "latest.txt": "mkdir -p epoch_0_step_3 epoch_0_step_7; echo epoch_0_step_3 >LATEST.txt",
    "others": "mkdir -p epoch_0_step_3 step_x logs; touch epoch_0_step_9; ln -s epoch_0_step_3 LOWEST_VAL",
    "model": "mkdir -p epoch_0_step_3/model/consolidated epoch_0_step_7/model; cd epoch_0_step_3/model/consolidated;"
    "touch config.json a.safetensors b.safetensors;"
    """echo '{"weight_map": {"x": "a.safetensors", "y": "b.safetensors"}}' >model.safetensors.index.json""",
    "model, a file missing": "mkdir -p epoch_0_step_3/model/consolidated; cd epoch_0_step_3/model/consolidated;"
    """touch config.json; echo '{"weight_map": {"x": "a.safetensors"}}' >model.safetensors.index.json""",
    "single file": "mkdir -p epoch_0_step_3/model; cd epoch_0_step_3/model; touch config.json model.safetensors",
    "adapter": "mkdir -p epoch_0_step_3/model; cd epoch_0_step_3/model; touch adapter_config.json adapter_model.safetensors",
    "half an adapter": "mkdir -p epoch_0_step_3/model; cd epoch_0_step_3/model; touch adapter_config.json config.json",
}


@pytest.mark.parametrize("shape", SHAPES)
def test_checkpoints_by_the_same_rules(host: ssh.SshHost, tmp_path: Path, shape: str) -> None:
    """As `watching.checkpoints` judges the same directory from here."""
    directory = tmp_path / "it's a run/ckpt"
    directory.mkdir(parents=True)
    subprocess.run(["sh", "-c", SHAPES[shape] or "true"], cwd=directory, check=True)
    found = checkpoints_there.look("there", str(directory), anew=True)
    assert found.newest == checkpoints.newest_checkpoint(directory)
    assert found.model == checkpoints.model_path(directory)
