"""The connection to a login node: what comes over it, what leaves no trace there, and what is said where there is none."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.ssh.conftest import MakeLaptop
from tests.ssh.laptop import Laptop, LaptopError
from tests.ssh.login_node import HOSTNAME, PASSWORD, LoginNode

pytestmark = pytest.mark.slurm

SIMPLE = 'slurm:\n  host: login\n  gpu_request: none\n  ntasks_per_node: 1\n  time: "10"\n  command: echo done\n'


def test_the_laptop_is_another_machine(laptop: Laptop, login: LoginNode) -> None:
    """And the login: its home, hostname, variables of its profile; banners of its start-up files are passed over."""
    laptop.do("import os, shutil, subprocess; from pathlib import Path; from automodel_nb import hosts")
    assert laptop.do("shutil.which('sbatch')") is None
    assert laptop.do("os.listdir(lab)", lab=str(login.lab.root)) == []
    assert laptop.do("str(Path.home())") == str(laptop.home)
    laptop.do("(Path.home() / 'here').touch()")
    assert list(laptop.home.iterdir()) == []
    seen = laptop.do("h = hosts.host('login'); [h.home, h.login.node, h.login.user, h.uid, h.environ['SLURM_CONF']]")
    assert seen == [str(login.home), HOSTNAME, "trainer", 0, login.lab.env["SLURM_CONF"]]
    assert laptop.do("'CLUSTER_TOKEN' in h.environ") is False
    assert laptop.do("h.run(['sinfo', '-h', '-o', '%D']).stdout") == "2\n"
    other = laptop.do("g = hosts.host('guest'); [g.home, g.uid, g.run(['id', '-un']).stdout]")
    assert other == [str(login.root / "homes/guest"), 65534, "guest\n"]


def test_values_arrive_and_no_argument_list_holds_them(laptop: Laptop, login: LoginNode) -> None:
    laptop.do("from automodel_nb import hosts; h = hosts.host('login')")
    values = {"SECRET": "s3cr3t-in-transit", "ODD": 'it\'s "x"\n$HOME `id` \\ ü ', "EMPTY": "", "PATH": "/usr/bin"}
    seen: set[str] = set()
    over = threading.Event()

    def watch() -> None:
        while not over.is_set():
            seen.update(login.processes())

    watcher = threading.Thread(target=watch)
    watcher.start()
    show = "import json, os, time; time.sleep(1); print(json.dumps(dict(os.environ)))"
    answer = laptop.do("h.run([python, '-I', '-c', show], env=values).stdout", python=sys.executable, show=show, values=values)
    over.set()
    watcher.join()
    got = json.loads(answer)
    assert {name: got[name] for name in values} == values
    assert set(got) - set(values) <= {"PWD", "OLDPWD", "SHLVL", "_", "LC_CTYPE"}
    assert any("time.sleep(1)" in line for line in seen)
    assert not any("s3cr3t" in line for line in seen)


def test_an_unknown_host_key_is_the_users_to_accept(new_laptop: MakeLaptop, login: LoginNode) -> None:
    laptop = new_laptop(known=False)
    laptop.do("import automodel_nb as am, pathlib; from automodel_nb import hosts")
    with pytest.raises(LaptopError) as error:
        laptop.do("am.launch(text)", text=SIMPLE)
    shown = str(error.value).splitlines()
    assert shown[0].startswith("LaunchError: line 2, column 9: the host key of login is not known yet; to look at it")
    assert re.search(r"type in a terminal of \S+: ssh -fNM -o ControlPath=\S+/automodel_nb/\w{16} login$", shown[0])
    assert shown[1:] == ["Nothing was launched."]
    assert laptop.do("(pathlib.Path.home() / '.ssh/known_hosts').read_text()") == ""


def test_a_login_that_needs_the_user(new_laptop: MakeLaptop, login: LoginNode) -> None:
    """One try for each thing that a user asks, none by itself; once the user has logged in, all goes over that login."""
    login.restart(AuthenticationMethods="publickey,password")
    laptop = new_laptop()
    laptop.do("import automodel_nb as am, time; from automodel_nb import hosts; from automodel_nb.planning import make_plan")
    before = login.connections()
    with pytest.raises(LaptopError, match="login wants you to log in") as error:
        laptop.do("am.launch(text)", text=SIMPLE)
    assert login.connections() == before + 1
    # a form plans at every keystroke, a card asks for its state every second: neither may lock the account
    problems = laptop.do("[str(make_plan(am.preview.__globals__['Request'](text)).errors[0]) for _ in range(3)]", text=SIMPLE)
    assert all("login wants you to log in" in problem for problem in problems)
    assert login.connections() == before + 1
    command = re.search(r"terminal of \S+: (ssh .*)$", str(error.value).splitlines()[0])
    assert command
    assert _typed(laptop, command[1], PASSWORD) == 0
    assert laptop.do("job = am.launch(text); job.wait(60), job.log()", text=SIMPLE)[0] == "COMPLETED"
    assert login.connections() == before + 2  # the user's own


def test_a_site_that_lets_no_connection_be_shared(new_laptop: MakeLaptop, login: LoginNode) -> None:
    login.restart(MaxSessions="1")
    laptop = new_laptop()
    laptop.do("import automodel_nb as am")
    state, log = laptop.do("job = am.launch(text); job.wait(60), job.log()", text=SIMPLE)
    assert state == "COMPLETED"
    assert log.endswith("done")


def test_hosts_that_are_none(laptop: Laptop, login: LoginNode) -> None:
    laptop.do("import automodel_nb as am")
    for name, words in {
        "nosuch.invalid": "nosuch.invalid does not answer: Could not resolve hostname",
        "-oProxyCommand=touch x": "'-oProxyCommand=touch x' is no host's name",
    }.items():
        with pytest.raises(LaptopError) as error:
            laptop.do("am.launch(text, host=name)", text=SIMPLE, name=name)
        assert words in str(error.value)
        assert str(error.value).endswith("\nNothing was launched.")


def _typed(laptop: Laptop, command: str, password: str) -> int:
    """A user types a command in the laptop's terminal, and the password when asked; its exit status."""
    master, terminal = pty.openpty()
    process = subprocess.Popen(
        ["nsenter", "--mount", f"--target={laptop.pid}", "sh", "-c", f"{command}; code=$?; sleep 0.5; exit $code"],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
        preexec_fn=lambda: os.close(os.open(os.ttyname(0), os.O_RDWR)),
        env={"HOME": str(laptop.home), "PATH": "/usr/bin:/bin"},
    )
    os.close(terminal)
    said, end = b"", time.monotonic() + 20
    while b"password:" not in said and time.monotonic() < end:
        said += os.read(master, 1024)
    os.write(master, password.encode() + b"\n")
    code = process.wait(20)
    os.close(master)
    return code


def test_connections_leave_nothing_behind(laptop: Laptop, login: LoginNode, tmp_path: Path) -> None:
    laptop.do("from automodel_nb import hosts; h = hosts.host('login'); h.run(['true'])")
    assert [line for line in login.processes() if "AMNB" not in line and "/bin/sh" in line] == []
    laptop.do("hosts.forget()")
    end = time.monotonic() + 10
    while any("sh -c" in line for line in login.processes()):
        assert time.monotonic() < end, login.processes()
        time.sleep(0.1)
