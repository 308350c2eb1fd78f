"""Fixtures: a cluster with a login node, and a laptop that reaches it by ssh and by nothing else."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import require
from tests.slurm.lab import SlurmLab, missing
from tests.ssh.laptop import Laptop
from tests.ssh.login_node import LoginNode


@pytest.fixture(scope="session")
def ssh_lab() -> Iterator[SlurmLab]:
    """A cluster of two nodes behind the login node."""
    reason = missing() or (None if shutil.which("sshd", path="/usr/sbin") else "it needs: apt-get install openssh-server")
    require(reason is None, reason or "")
    with SlurmLab(nodes=2) as lab:
        yield lab


@pytest.fixture(scope="session")
def _login_node(ssh_lab: SlurmLab) -> Iterator[LoginNode]:
    node = LoginNode(ssh_lab).start()
    yield node
    node.close()


@pytest.fixture
def login(_login_node: LoginNode) -> Iterator[LoginNode]:
    """The login node, switched on and as it was set up; no jobs are left behind."""
    yield _login_node
    _login_node.lab.run("scancel", "-u", "root,nobody", check=False)
    if not _login_node.as_set_up:
        _login_node.restart()


MakeLaptop = Callable[..., Laptop]


@pytest.fixture
def new_laptop(login: LoginNode) -> Iterator[MakeLaptop]:
    """Makes laptops: ``new_laptop(known=False)`` has not met the login node yet."""
    made: list[Laptop] = []

    def make(*, known: bool = True, **environ: str) -> Laptop:
        home = Path(tempfile.mkdtemp(prefix="laptop-")) / "home"  # short: there are sockets in it
        home.mkdir()
        made.append(Laptop(home, login.lab.root, login.ssh_files(known=known), environ))
        return made[-1]

    yield make
    for laptop in made:
        laptop.close()
        shutil.rmtree(laptop.home.parent)


@pytest.fixture
def laptop(new_laptop: MakeLaptop) -> Laptop:
    """A laptop that has accepted the login node's key."""
    return new_laptop()
