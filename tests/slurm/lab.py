"""A real Slurm for the tests: `SlurmLab` starts and stops what lab.sh describes, and breaks it on request."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

SCRIPT = Path(__file__).with_name("lab.sh")
CLAIMS = Path("/tmp/automodel-nb-slurm-labs")
PROGRAMS = {
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
    "sbatch": "slurm-client",
    "munged": "munge",
    "ip": "iproute2",
    "gcc": "gcc",
}
ACCOUNTING_PROGRAMS = {"slurmdbd": "slurmdbd", "mariadbd": "mariadb-server"}


def missing(accounting: bool = False) -> str | None:
    """Why a lab cannot start here, in one line; None where it can."""
    if os.geteuid():
        return "the Slurm lab needs root, for network and process namespaces"
    programs = PROGRAMS | (ACCOUNTING_PROGRAMS if accounting else {})
    path = "/usr/sbin:/usr/bin:/sbin:/bin"
    absent = [package for program, package in programs.items() if not shutil.which(program, path=path)]
    if not Path("/usr/include/slurm/spank.h").exists():
        absent.append("libslurm-dev")
    return f"the Slurm lab needs: apt-get install {' '.join(absent)}" if absent else None


class SlurmLab:
    """Nodes n1..nN in namespaces of their own; partitions batch, debug and preempt.

    Each node claims 64 CPUs, 500 GB and 8 GPUs, which are not there.

    Several labs run side by side: subnet, bridge and ports follow from a number that is claimed by a lock, which the kernel
    releases when this process dies; the next lab to claim that number first removes what was left behind.

    Args:
        accounting: with slurmdbd and MariaDB, so that sacct works and unknown accounts are refused.
        cgroup: memory limits are the kernel's.
    """

    def __init__(self, *, accounting: bool = False, cgroup: bool = False, nodes: int = 4) -> None:
        self.nodes = nodes
        self._options = {"LAB_ACCOUNTING": str(int(accounting)), "LAB_CGROUP": str(int(cgroup)), "LAB_NODES": str(nodes)}
        self._claim: IO[str] | None = None
        self.number = -1
        self.root = Path()

    @property
    def env(self) -> dict[str, str]:
        """What a login on this cluster has: few variables, and Slurm's."""
        return {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": os.environ.get("HOME", "/root"),
            "LANG": "C.UTF-8",
            "SLURM_CONF": str(self.root / "etc/slurm.conf"),
        }

    def up(self) -> SlurmLab:
        """Start everything and wait until all nodes are idle (2 s; 10 s with accounting)."""
        self.number, self._claim = _claim()
        self.root = Path(tempfile.mkdtemp(prefix=f"slurm-lab{self.number}-"))
        self._claim.write(json.dumps({"LAB": str(self.root), **self._options}))
        self._claim.flush()
        try:
            self._lab("up")
        except BaseException:
            self.down()
            raise
        return self

    def down(self) -> None:
        """Stop every process, remove links and files."""
        if self._claim is None:
            return
        self._lab("down")
        shutil.rmtree(self.root, ignore_errors=True)
        self._claim.truncate(0)
        self._claim.close()
        self._claim = None

    def __enter__(self) -> SlurmLab:
        return self.up()

    def __exit__(self, *_: object) -> None:
        self.down()

    def run(
        self,
        *argv: str | Path,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        check: bool = True,
        timeout: float = 60,
        cwd: str | Path | None = None,
        input: str | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command where a user would: on the login node, with `env` on top of `self.env`, as `user`."""
        done = subprocess.run(
            [str(a) for a in argv],
            env={**self.env, **(env or {})},
            user=user,
            group=_group_of(user),
            extra_groups=[] if user else None,
            capture_output=True,
            text=True,
            timeout=timeout,
            cwd=cwd,
            input=input,
        )
        if check and done.returncode:
            raise AssertionError(f"{argv} ended with {done.returncode}: {done.stdout}{done.stderr}")
        return done

    def sbatch(self, script: str, *options: str, **kwargs: Any) -> int:
        """Submit a script's text; its job id. The output goes nowhere unless an option says so."""
        argv = [
            "sbatch",
            "--parsable",
            *([] if any(o.startswith("--output") for o in options) else ["--output=/dev/null"]),
            *options,
        ]
        return int(self.run(*argv, input=script, **kwargs).stdout)

    def job(self, job_id: int | str) -> dict[str, str]:
        """`scontrol show job` as a mapping (first record); empty where Slurm has forgotten the job."""
        done = self.run("scontrol", "show", "job", "-o", str(job_id), check=False)
        if done.returncode:
            return {}
        return dict(word.split("=", 1) for word in done.stdout.splitlines()[0].split(" ") if "=" in word)

    def wait(self, job_id: int | str, *states: str, timeout: float = 60) -> dict[str, str]:
        """Wait until the job is in one of `states` (default: any in which nothing runs or will run)."""
        wanted = states or (
            "COMPLETED",
            "FAILED",
            "CANCELLED",
            "TIMEOUT",
            "NODE_FAIL",
            "OUT_OF_MEMORY",
            "PREEMPTED",
            "BOOT_FAIL",
        )
        end = time.monotonic() + timeout
        while True:
            job = self.job(job_id)
            if job.get("JobState") in wanted:
                return job
            if time.monotonic() > end:
                raise AssertionError(f"job {job_id} is not {wanted} after {timeout} s: {job}")
            time.sleep(0.1)

    def in_node(self, node: int, *argv: str, **kwargs: Any) -> subprocess.CompletedProcess[str]:
        """Run a command inside node `node`'s namespaces."""
        return self._lab("in", str(node), *argv, **kwargs)

    def kill_node(self, node: int) -> None:
        """A power loss: every process of the node ends at once. Slurm notices after SlurmdTimeout (10 s)."""
        self._lab("node-kill", str(node))

    def start_node(self, node: int) -> None:
        """Power on again, and wait until all nodes take jobs."""
        self._lab("node-start", str(node))
        self._lab("usable")

    def stop_controller(self) -> None:
        """End slurmctld; running jobs go on."""
        self._lab("ctld-stop")

    def start_controller(self) -> None:
        """Start slurmctld with the state that it saved, and wait until all nodes take jobs."""
        self._lab("ctld-start")
        self._lab("usable")

    def configure(self, **settings: str | int) -> None:
        """Change lines of slurm.conf (``MinJobAge=2``) in the running cluster."""
        conf = self.root / "etc/slurm.conf"
        kept = [line for line in conf.read_text().splitlines() if line.split("=")[0] not in settings]
        conf.write_text("\n".join([*(f"{key}={value}" for key, value in settings.items()), *kept]) + "\n")
        self.run("scontrol", "reconfigure")

    def containers(self, job_id: int | str) -> list[dict[str, Any]]:
        """What the stand-in for Pyxis was given: one mapping for each task of the job."""
        lines = (self.root / "log/containers.jsonl").read_text().splitlines()
        return [record for record in map(json.loads, lines) if record["job"] == int(job_id)]

    def set_image_environment(self, **variables: str) -> None:
        """Variables that every "image" sets, over the job's own ones unless --container-env names them."""
        (self.root / "etc/image.env").write_text("".join(f"{k}={v}\n" for k, v in variables.items()))

    def _lab(self, *argv: str, **kwargs: Any) -> subprocess.CompletedProcess[str]:
        return _lab_sh(self.number, {"LAB": str(self.root), **self._options}, *argv, **kwargs)


def _lab_sh(
    number: int, options: Mapping[str, str], *argv: str, check: bool = True, timeout: float = 120
) -> subprocess.CompletedProcess[str]:
    # Output goes through a file: daemons that outlive lab.sh would keep a pipe open.
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        done = subprocess.run(
            [SCRIPT, *argv],
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LAB_NUMBER": str(number), **options},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            timeout=timeout,
        )
        out.seek(0), err.seek(0)
        result = subprocess.CompletedProcess(argv, done.returncode, out.read(), err.read())
    if check and result.returncode:
        raise AssertionError(f"lab.sh {' '.join(argv)}: {result.stdout}{result.stderr}")
    return result


def _claim() -> tuple[int, IO[str]]:
    CLAIMS.mkdir(exist_ok=True)
    for number in range(100):
        file = open(CLAIMS / str(number), "a+")  # noqa: SIM115 - held as long as the lab is up
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            continue
        file.seek(0)
        if left := file.read():
            options = json.loads(left)
            with contextlib.suppress(AssertionError):
                _lab_sh(number, options, "down")
            shutil.rmtree(options["LAB"], ignore_errors=True)
            file.truncate(0)
        return number, file
    raise AssertionError(f"all 100 lab numbers in {CLAIMS} are taken")


def _group_of(user: str | None) -> int | None:
    if user is None:
        return None
    import pwd

    return pwd.getpwnam(user).pw_gid
