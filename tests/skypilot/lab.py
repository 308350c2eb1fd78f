"""A real SkyPilot for the tests: its API server, ssh, and a real two-node Slurm as the infrastructure, all on this machine.

    SkyPilot -> its Slurm cloud -> ssh to a login node (sshd on loopback) -> sbatch, srun -> sky1, sky2 (H100:2 each, in name)

Everything runs in one mount and PID namespace, so that `down` is one kill; files are in one directory. What is not as on a real
site: uv and what SkyPilot installs on its nodes come from this machine, the catalog holds two GPUs, AWS is a mock (moto), and
server_patch/. By hand: ``python -m tests.skypilot.lab`` (prints the environment, runs until interrupted).
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import textwrap
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import IO

from tests.skypilot.lab_files import CATALOG, CURL, SKY_CONFIG, SLURM_CONF, SSH_CLUSTER, SSHD_CONFIG, UV, new_root

HERE = Path(__file__).parent
VENV = Path(sys.prefix)
REPOSITORY = HERE.parents[1]
CACHE = REPOSITORY / ".lab" / "sky"
GPU = "H100"
NODES = ("sky1", "sky2")
PROGRAMS = {
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
    "sbatch": "slurm-client",
    "munged": "munge",
    "sshd": "openssh-server",
    "rsync": "rsync",
    "nc": "netcat-openbsd",
    "curl": "curl",
}


def missing() -> str | None:
    """Why a lab cannot start in this Python, in one line; None where it can."""
    for program in ("sky", "uv"):
        if not (VENV / "bin" / program).exists():
            return f"the SkyPilot tests need a Python that has SkyPilot ({program} is not in {VENV}/bin): make test"
    return lacks()


def lacks() -> str | None:
    """What this machine lacks for a lab, in one line; None where nothing."""
    if os.geteuid():
        return "the SkyPilot lab needs root, for mount and process namespaces"
    absent = [
        package for program, package in PROGRAMS.items() if not shutil.which(program, path="/usr/sbin:/usr/bin:/sbin:/bin")
    ]
    if absent:
        return f"the SkyPilot lab needs: apt-get install {' '.join(absent)}"
    if subprocess.run(["unshare", "--mount", "--pid", "--fork", "--mount-proc", "true"], capture_output=True).returncode:
        return "the SkyPilot lab needs namespaces (in a container: --privileged)"
    return None


class SkyLab:
    """One SkyPilot with its own home, ports and Slurm; several can be up at once.

    Args:
        server: start the API server too; without, SkyPilot is configured and reachable infrastructure waits.
    """

    def __init__(self, *, server: bool = True) -> None:
        self.server = server
        self.root = Path()
        self.ports: dict[str, int] = {}
        self._lock: IO[str] | None = None
        self._init: subprocess.Popen[bytes] | None = None

    @property
    def home(self) -> Path:
        """HOME of SkyPilot's user: ~/.sky, ~/.slurm."""
        return self.root / "home"

    @property
    def node_home(self) -> Path:
        """The home directory that login node and nodes share."""
        return self.root / "nodehome"

    @property
    def work(self) -> Path:
        """Where a test's own files go: the one place for them that server and nodes see too (/tmp is the lab's own there)."""
        return self.root / "work"

    @property
    def env(self) -> dict[str, str]:
        """What a client of this SkyPilot needs: a kernel, `sky`, or `sky api start`. No variable of the caller's."""
        passed = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "LANG")
        return {
            **{name: os.environ[name] for name in passed if name in os.environ},
            "HOME": str(self.home),
            "PATH": f"{VENV}/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "SKYPILOT_DISABLE_USAGE_COLLECTION": "1",
            "SKYPILOT_API_SERVER_LOCAL_PORT": str(self.ports["api"]),
        }

    @property
    def aws_env(self) -> dict[str, str]:
        """Makes AWS's own client talk to a mock of AWS in the lab."""
        keys = {"AWS_ACCESS_KEY_ID": "lab", "AWS_SECRET_ACCESS_KEY": "lab", "AWS_DEFAULT_REGION": "us-east-1"}
        return keys | {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.ports['aws']}", "AWS_EC2_METADATA_DISABLED": "true"}

    @property
    def slurm_env(self) -> dict[str, str]:
        """For `squeue` and `scancel` on this lab's Slurm."""
        return {"PATH": "/usr/bin:/bin", "SLURM_CONF": str(self.root / "slurm/slurm.conf")}

    def up(self) -> SkyLab:
        """Start everything; wait until both nodes are idle and the API server answers."""
        self.root, self._lock = new_root()
        try:
            self._write()
            env = {
                **self.env,
                "LAB": str(self.root),
                "VENV": str(VENV),
                "REPOSITORY": str(REPOSITORY),
                "SSHD_PORT": str(self.ports["sshd"]),
            }
            env |= self.aws_env | {"AWS_PORT": str(self.ports["aws"])}
            env |= {
                "PYTHONPATH": str(HERE / "server_patch"),
                "SKYLAB_NETWORK_CHECK": f"http://127.0.0.1:{self.ports['api']}/api/health",
            }
            if not self.server:
                del env["SKYPILOT_API_SERVER_LOCAL_PORT"]
            namespace = ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"]
            with open(self.root / "log/lab.log", "ab") as log:
                # pdeathsig: also where this process is killed, nothing stays
                self._init = subprocess.Popen(
                    ["setpriv", "--pdeathsig", "KILL", *namespace, "bash", HERE / "lab.sh"],
                    env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                )  # fmt: skip
            self._wait("two idle nodes", lambda: self.slurm("sinfo", "-h", "-N", "-o", "%t").split() == ["idle"] * 2)
            if self.server:
                self._wait("an answer of the API server", self._healthy)
        except BaseException:
            self.down()
            raise
        return self

    def down(self) -> None:
        """End every process, remove every file."""
        if self._init is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._init.pid, signal.SIGKILL)
            self._init.wait()
            self._init = None
        if self._lock is not None:
            shutil.rmtree(self.root, ignore_errors=True)
            self._lock.close()
            self._lock = None

    def __enter__(self) -> SkyLab:
        return self.up()

    def __exit__(self, *_: object) -> None:
        self.down()

    def sky(self, *argv: str, timeout: float = 120, check: bool = True, cwd: Path | None = None) -> str:
        """Run SkyPilot's own command line as the user would; its output."""
        return _run([str(VENV / "bin/sky"), *argv], self.env, timeout, check, cwd)

    def listens(self, port: str) -> bool:
        """Whether something answers at one of the lab's ports."""
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.ports[port])) == 0

    def slurm(self, *argv: str, check: bool = False) -> str:
        """Run one of Slurm's commands; its output."""
        return _run(list(argv), self.slurm_env, 30, check)

    def _healthy(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.ports['api']}/api/health", timeout=2) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def _wait(self, what: str, condition: object, timeout: float = 90) -> None:
        end = time.monotonic() + timeout
        while not condition():  # type: ignore[operator]
            if self._init is not None and self._init.poll() is not None:
                raise AssertionError(f"the lab ended while waiting for {what}: {self._log()}")
            if time.monotonic() > end:
                raise AssertionError(f"no {what} after {timeout:.0f} s: {self._log()}")
            time.sleep(0.2)

    def _log(self) -> str:
        return "\n".join(f"{p.name}: {p.read_text(errors='replace')[-600:]}" for p in sorted((self.root / "log").iterdir()))

    def _write(self) -> None:
        self.ports = dict(zip(("sshd", "ctld", "sky1", "sky2", "api", "aws"), _free_ports(6), strict=True))
        self.root.chmod(0o755)
        (self.root / "tmp").mkdir()
        (self.root / "tmp").chmod(0o1777)
        top = ("etc", "log", "shim", "ssh", "dev", "state", "munge", "slurm", "work")
        for name in (*top, "spool/sky1", "spool/sky2", "nodehome/.ssh"):
            (self.root / name).mkdir(parents=True, exist_ok=True)
        for name in (".ssh", ".slurm", ".sky/catalogs/v8/common", ".sky/catalogs/v8/aws"):
            (self.home / name).mkdir(parents=True, exist_ok=True)
        uv_cache = CACHE / "uv"
        uv_cache.mkdir(parents=True, exist_ok=True)

        # in the namespace, root lives in the lab; sshd, Slurm and ~ follow passwd, not $HOME
        passwd = Path("/etc/passwd").read_text().splitlines()
        self._file("etc/passwd", "\n".join(_at_home(line, self.node_home) for line in passwd))
        self._file("etc/hosts", Path("/etc/hosts").read_text() + "\n127.0.0.11 sky1\n127.0.0.12 sky2")

        for key in ("ssh/hostkey", "home/.ssh/id_lab"):
            _run(
                ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.root / key)], {"PATH": "/usr/bin:/bin"}, 20, True
            )
        self._file("nodehome/.ssh/authorized_keys", (self.home / ".ssh/id_lab.pub").read_text(), 0o600)
        self._file("ssh/sshd_config", SSHD_CONFIG.format(root=self.root))
        self._file("home/.slurm/config", SSH_CLUSTER.format(root=self.root, port=self.ports["sshd"]))
        self._file("home/.sky/config.yaml", SKY_CONFIG)
        # every accelerator's name is looked up here, also for Slurm; a file without its .meta checksum is never fetched again
        for name, text in CATALOG.items():
            self._file(f"home/.sky/catalogs/v8/{name}.csv", text)

        uv = {
            "cache": uv_cache,
            "python": VENV / "bin/python",
            "real": VENV / "bin/uv",
            "packages": sysconfig.get_path("purelib"),
        }
        self._file("shim/uv", UV.format(**uv), 0o755)
        shutil.copy("/usr/bin/curl", self.root / "shim/curl.real")
        self._file("shim/curl", CURL.format(root=self.root), 0o755)

        (self.root / "munge/key").write_bytes(secrets.token_bytes(1024))
        (self.root / "munge/key").chmod(0o600)
        for i in range(2 * len(NODES)):
            os.mknod(self.root / f"dev/nvidia{i}", 0o600 | 0o020000, os.makedev(1, 3))
        host = socket.gethostname()
        self._file("slurm/slurm.conf", SLURM_CONF.format(root=self.root, host=host, gpu=GPU.lower(), **self.ports))
        devices = {node: f"{self.root}/dev/nvidia[{2 * i}-{2 * i + 1}]" for i, node in enumerate(NODES)}
        gres = (f"NodeName={node} Name=gpu Type={GPU.lower()} File={files}" for node, files in devices.items())
        self._file("slurm/gres.conf", "\n".join(gres))
        self._file("slurm/plugstack.conf", "")

    def _file(self, name: str, text: str, mode: int = 0o644) -> None:
        path = self.root / name
        path.write_text(textwrap.dedent(text).strip() + "\n")
        path.chmod(mode)


def _run(argv: list[str], env: dict[str, str], timeout: float, check: bool, cwd: Path | None = None) -> str:
    done = subprocess.run(argv, env=env, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)
    if check and done.returncode:
        raise AssertionError(f"{argv} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout if check else done.stdout + done.stderr


def _free_ports(count: int) -> list[int]:
    # below the range from which the kernel takes ports for connections, so that a free one stays free
    ports: list[int] = []
    while len(ports) < count:
        port = 20000 + secrets.randbelow(12000)
        with socket.socket() as probe:
            if port not in ports and probe.connect_ex(("127.0.0.1", port)):
                ports.append(port)
    return ports


def _at_home(line: str, home: Path) -> str:
    fields = line.split(":")
    return ":".join([*fields[:5], str(home), "/bin/bash"]) if fields[0] == "root" else line


if __name__ == "__main__":
    if sys.argv[1:] == ["lacks"]:
        print(lacks() or "")
        sys.exit()
    with SkyLab() as lab:
        print(
            "\n".join(f"export {name}={value}" for name, value in {**lab.env, **lab.slurm_env, "PATH": lab.env["PATH"]}.items())
        )
        print(f"# {lab.root}", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            signal.pause()
