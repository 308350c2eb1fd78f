"""What needs no network of a login node: the shell that lives on, what ssh's words mean, places and variables there."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from automodel_nb import hosts
from automodel_nb.hosts import connection
from automodel_nb.hosts.channel import Channel, ChannelError, command_line
from automodel_nb.hosts.ssh import command


@pytest.fixture
def channel() -> Iterator[Channel]:
    """The shell of this machine in place of a login node's."""
    one = Channel(["/bin/sh", "-c", command_line()])
    yield one
    if one.alive:
        one.close()


def test_requests_come_back_whole(channel: Channel) -> None:
    assert channel.request("echo out; echo err >&2; exit 3", 10) == (
        answer := channel.request("echo out; echo err >&2; exit 3", 10)
    )
    assert (answer.stdout, answer.stderr, answer.returncode) == (b"out\n", "err\n", 3)
    assert channel.request("printf 'no end'; printf 'a\\0b\\377'", 10).stdout == b"no enda\0b\xff"
    assert channel.request("cat", 10).stdout == b""  # no input
    assert channel.request("cd /; x=1", 10).returncode == 0
    assert channel.request("echo ${x:-unset} $PWD", 10).stdout == f"unset {os.getcwd()}\n".encode()
    long = "é" * 100_000
    assert channel.request(f"printf %s '{long}'", 20).stdout.decode() == long
    assert len(channel.request("head -c 5000000 /dev/zero", 20).stdout) == 5_000_000


def test_a_request_that_takes_too_long(channel: Channel) -> None:
    channel.request("true", 10)
    began = time.monotonic()
    with pytest.raises(ChannelError) as error:
        channel.request("echo before >&2; sleep 30", 0.5)
    assert time.monotonic() - began < 3
    assert (error.value.stderr, error.value.returncode) == ("before\n", None)
    assert not channel.alive


def test_half_a_request_does_nothing(tmp_path: Path) -> None:
    """The connection breaks while a request is on its way."""
    one = Channel(["/bin/sh", "-c", command_line()])
    one.request("true", 10)
    text = f"(\ntouch {tmp_path}/first\ntouch {tmp_path}/second\n) </dev/null; echo over"
    os.set_blocking(one._pipes[0].fileno(), True)
    os.write(one._pipes[0].fileno(), f"{len(text)}\n{text[: text.index('second')]}".encode())
    one._pipes[0].close()
    one._process.wait(10)
    assert list(tmp_path.iterdir()) == []
    for pipe in one._pipes[1:]:
        pipe.close()


def test_an_environment_is_exactly_what_is_given(channel: Channel) -> None:
    values = {"A": "it's", "B": 'x"y\n$HOME `id` \\', "C": "", "PATH": "/usr/bin:/bin"}
    answer = channel.request(command(["/usr/bin/env", "-0"], values), 10)
    got = dict(pair.split("=", 1) for pair in answer.stdout.decode().split("\0") if pair)
    assert {name: got.get(name) for name in values} == values
    assert set(got) - set(values) <= {"PWD", "OLDPWD", "SHLVL", "_"}
    assert channel.request(command(["no-such-program"], values), 10).returncode == 127


@pytest.mark.parametrize(
    ("stderr", "code", "words", "refused"),
    [
        ("alice@h: Permission denied (publickey,keyboard-interactive).", 255, "h wants you to log in", True),
        ("No ED25519 host key is known\nHost key verification failed.", 255, "host key of h is not known yet", True),
        ("@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.", 255, "has changed", True),
        ("ssh: Could not resolve hostname h: Name or service not known", 255, "Could not resolve hostname", False),
        ("ssh: connect to host h port 22: Connection refused\r\n", 255, "Connection refused", False),
        ("", None, "h does not answer", False),
        ("", 255, "the connection was closed", False),
        ("This account is currently not available.", 1, "h gives no shell to work with", True),
    ],
)
def test_what_sshs_words_mean(stderr: str, code: int | None, words: str, refused: bool) -> None:
    found = connection.problem("h", stderr, code)
    assert words in found.message
    assert "\n" not in found.message
    assert found.refused is refused


def test_the_socket_is_private_and_its_path_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / ("x" * 80)))
    assert len(connection.control_path("login")) < 100
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/tmp")
    path = Path(connection.control_path("login"))
    assert path.parent.stat().st_mode & 0o777 == 0o700
    path.parent.chmod(0o755)  # not ours alone: not taken
    assert connection.control_path("login").partition("/")[0] != str(path.parent)
    assert not connection.control_path("login").startswith("/tmp/automodel_nb/")
    path.parent.chmod(0o700)
    path.parent.rmdir()


def test_this_machine_needs_no_ssh() -> None:
    assert hosts.host(None) is hosts.LOCAL
    assert hosts.host(hosts.hostname()) is hosts.LOCAL
    assert hosts.host(f"somebody@{hosts.hostname()}") is hosts.LOCAL
