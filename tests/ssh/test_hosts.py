"""The connection to a login node: what comes over it, how few trips it takes, and what is said where there is none."""

from __future__ import annotations

import pytest

from tests.ssh.laptop import Laptop
from tests.ssh.login_node import HOSTNAME, LoginNode

pytestmark = pytest.mark.slurm


def test_the_laptop_is_another_machine(laptop: Laptop, login: LoginNode) -> None:
    laptop.do("import os, shutil, subprocess; from pathlib import Path; from automodel_nb import hosts")
    assert laptop.do("shutil.which('sbatch')") is None
    assert laptop.do("os.listdir(lab)", lab=str(login.lab.root)) == []
    assert laptop.do("str(Path.home())") == str(laptop.home)
    laptop.do("(Path.home() / 'here').touch()")
    assert list(laptop.home.iterdir()) == []
    seen = laptop.do(
        "h = hosts.host('login'); {'home': h.home, 'node': h.login.node, 'user': h.login.user, 'conf': h.environ['SLURM_CONF']}"
    )
    assert seen == {"home": str(login.home), "node": HOSTNAME, "user": "trainer", "conf": login.lab.env["SLURM_CONF"]}
    assert laptop.do("h.run(['sinfo', '-h', '-o', '%D']).stdout") == "2\n"
