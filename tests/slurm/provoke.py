"""Slurm jobs that fail, each for a reason of its own, on the lab.

usage: python -m tests.slurm.provoke

writes what each of them said to tests/data/logs/slurm_NAME.log and how it ended to slurm.json, where
tests/unit/test_diagnosis.py reads it; test_diagnosis.py beside this runs the quick ones again.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import automodel_nb as am
from automodel_nb import facts_slurm
from automodel_nb.job.handle import Job
from tests.slurm.conftest import Kernel
from tests.slurm.lab import SlurmLab

LOGS = Path(__file__).parents[1] / "data/logs"
EAT = "python3 -c 'x = [bytearray(10**7) for _ in range(60)]; import time; time.sleep(30)'"
HOLD = "python3 -c 'import socket, time; held = socket.create_server((\"\", 13999)); time.sleep(30)'"
IMAGE = "nvcr.io/nvidia/nemo:25.09"


def command_missing(kernel: Kernel) -> Job:
    return kernel.launch("no-such-command --x", nodelist="n1")


def srun_option(kernel: Kernel) -> Job:
    return kernel.launch("srun --gpu-bnd=none true", nodelist="n1")


def one_of_two_nodes(kernel: Kernel) -> Job:
    return kernel.launch("sleep 1; exit $SLURM_NODEID", nodes=2, nodelist="n[1-2]")


def mount_missing(kernel: Kernel) -> Job:
    """A source that the login node and n1 have, and n2 has not."""
    data = kernel.directory / "data"
    (data / "set").mkdir(parents=True)
    kernel.lab.in_node(2, "mount", "-t", "tmpfs", "none", str(data))
    try:
        return kernel.launch("true", nodes=2, nodelist="n[1-2]", container_image=IMAGE, extra_mounts=[f"{data}/set"])
    finally:
        kernel.lab.in_node(2, "umount", str(data))


def port_in_use(kernel: Kernel) -> Job:
    holder = kernel.launch(HOLD, wait=False, nodelist="n1")
    end = time.monotonic() + 20
    while ":36AF " not in kernel.lab.in_node(1, "cat", "/proc/net/tcp").stdout:  # 13999
        assert time.monotonic() < end, "the port is not held"
        time.sleep(0.2)
    try:
        return kernel.launch("true", nodelist="n1", master_port=13999)
    finally:
        holder.cancel()


def no_pyxis(kernel: Kernel) -> Job:
    with without_plugins(kernel.lab):
        job = am.launch(kernel.text("true", container_image=IMAGE, nodelist="n1"), "slurm", ignore=["no-pyxis"])
        job.wait(60)
        return job


@contextlib.contextmanager
def without_plugins(lab: SlurmLab) -> Iterator[None]:
    """As on a cluster that has no Pyxis."""
    plugins = lab.root / "etc/plugstack.conf"
    text = plugins.read_text()
    plugins.write_text("")
    facts_slurm.forget()
    try:
        yield
    finally:
        plugins.write_text(text)
        facts_slurm.forget()


QUICK: dict[str, Callable[[Kernel], Job]] = {
    "command_missing": command_missing,
    "srun_option": srun_option,
    "one_of_two_nodes": one_of_two_nodes,
    "mount_missing": mount_missing,
    "port_in_use": port_in_use,
    "no_pyxis": no_pyxis,
}


def slow(kernel: Kernel) -> dict[str, Job]:
    """Those that end when Slurm says so: the time limit takes a minute and more."""
    jobs = {
        "time_limit": kernel.launch("sleep 300", wait=False, time="1", nodelist="n1"),
        "memory": kernel.launch(EAT, wait=False, mem="100M", nodelist="n1"),
        "node": kernel.launch("sleep 300", wait=False, nodes=2, nodelist="n[2-3]", requeue="no"),
        "preempted": kernel.launch("sleep 300", wait=False, partition="preempt", nodelist="n4", requeue="no"),
        "cancelled": kernel.launch("sleep 300", wait=False, nodelist="n1"),
    }
    time.sleep(6)
    kernel.lab.run("scancel", jobs["cancelled"].scheduler_id)
    kernel.lab.sbatch("#!/bin/bash\nsleep 1\n", "--nodelist=n4", "--exclusive", "--partition=batch")
    kernel.lab.kill_node(3)
    for job in jobs.values():
        job.wait(150)
    return jobs


def main() -> None:
    ends = {}
    cgroup = Path("/sys/fs/cgroup/memory").is_dir()
    with SlurmLab(accounting=True, cgroup=cgroup) as lab, pytest.MonkeyPatch.context() as patch:
        directory = Path(tempfile.mkdtemp(prefix="provoke-"))
        kernel = Kernel(lab, directory, patch)
        for name, job in {**{name: run(kernel) for name, run in QUICK.items()}, **slow(kernel)}.items():
            log = job.paths.log.read_text().replace(str(job.directory), "/jobs/job").replace(str(directory), "/jobs")
            (LOGS / f"slurm_{name}.log").write_text(log)
            seen = job.status.observation
            ends[name] = {"state": seen.state, "reason": seen.reason, "reason_code": seen.reason_code}
            ends[name] |= {"exit_code": seen.exit_code, "nodes": list(seen.nodes)}
    (LOGS / "slurm.json").write_text(json.dumps(ends, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
