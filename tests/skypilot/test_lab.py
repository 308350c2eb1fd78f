"""The lab itself: a real launch on it, and nothing left of it."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import require
from tests.skypilot.lab import SkyLab, missing

pytestmark = pytest.mark.skypilot


def test_down_leaves_nothing() -> None:
    reason = missing()
    require(reason is None, reason or "")
    tmp, processes, mounts = set(os.listdir("/tmp")), _processes(), Path("/proc/mounts").read_text()
    with SkyLab(server=False) as lab:
        root = lab.root
        assert root.is_dir()
        assert {"slurmctld", "munged", "sshd"} <= {name for _, name, _ in _processes() - processes}
    assert not root.exists()
    assert not [cmdline for _, _, cmdline in _processes() if str(root) in cmdline]
    assert Path("/proc/mounts").read_text() == mounts
    assert not {name for name in set(os.listdir("/tmp")) - tmp if "sky" in name}


def test_a_killed_owner_takes_the_lab_with_it() -> None:
    reason = missing()
    require(reason is None, reason or "")
    code = "from tests.skypilot.lab import SkyLab; lab = SkyLab(server=False).up(); print(lab.root, flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as owner:
        assert isinstance(owner.stdout, io.TextIOBase)
        root = Path(owner.stdout.readline().strip())
        owner.kill()
    assert root.is_dir()
    end = time.monotonic() + 10
    while [cmdline for _, _, cmdline in _processes() if str(root) in cmdline]:
        assert time.monotonic() < end, "processes of the lab outlive the process that started it"
        time.sleep(0.1)
    with SkyLab(server=False):
        assert not root.exists()  # the next lab clears up


def _processes() -> set[tuple[str, str, str]]:
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                found.add(
                    (entry.name, (entry / "comm").read_text().strip(), (entry / "cmdline").read_text().replace("\0", " "))
                )
            except OSError:
                continue
    return found
