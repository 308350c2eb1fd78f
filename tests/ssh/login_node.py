"""A login node: a real sshd in front of the real cluster, on a machine of its own (hostname, processes, accounts, home).

Root is not needed to log in, but to start it: it lives in namespaces, so that its accounts are in its own /etc/passwd and
that switching it off ends every process on it.
"""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import subprocess
import time
from pathlib import Path

from tests.slurm.lab import SlurmLab

HOSTNAME = "login1"
PASSWORD = "correct horse"
#: Started in new mount, host name and process namespaces. The last bind hides the home that root has elsewhere.
_BOOT = """
set -eu
hostname {hostname}
mount --bind {root}/passwd /etc/passwd
mount --bind {root}/shadow /etc/shadow
exec /usr/sbin/sshd -D -f {root}/sshd_config -E {root}/sshd.log
"""
_CONFIG = """
Port {port}
ListenAddress 127.0.0.1
ListenAddress {bridge}
HostKey {root}/host_key
PidFile none
UsePAM no
StrictModes no
PermitRootLogin yes
LogLevel VERBOSE
AuthorizedKeysFile {root}/key.pub
AuthenticationMethods publickey
"""
#: What a site's start-up files do: print, read, set the path to Slurm's commands late, and a directory.
PROFILE = """
echo "Welcome to amslab! 17 GPU hours left."
read -r answer
[ -d {home}/bin ] && bin={home}/bin:
export SLURM_CONF={conf} SCRATCH={home}/scratch PATH=${{bin}}/usr/local/bin:/usr/bin:/bin:/usr/sbin
export SQUEUE_PARTITION=debug SBATCH_PARTITION=debug CLUSTER_TOKEN=not-for-the-laptop
"""
RC = """
echo "this goes to every shell, also where nobody reads it"
echo "and this to standard error" >&2
"""


class LoginNode:
    """Accounts: ``trainer`` (uid 0 under another name, so that it may use root's Python) and ``guest`` (uid 65534)."""

    def __init__(self, lab: SlurmLab) -> None:
        self.lab = lab
        self.root = lab.root / "login"
        self.home = self.root / "homes/trainer"
        self._process: subprocess.Popen[bytes] | None = None
        self._own = 0
        (self.root / "homes/guest").mkdir(parents=True)
        self.home.mkdir()
        os.chown(self.root / "homes/guest", 65534, 65534)
        for name in ("host_key", "key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.root / name], check=True)
        accounts = [("trainer", 0, "/bin/bash"), ("guest", 65534, "/bin/sh")]
        hashed = subprocess.run(
            ["openssl", "passwd", "-6", PASSWORD], capture_output=True, text=True, check=True
        ).stdout.strip()
        passwd = [f"{name}:x:{uid}:{uid}::{self.root}/homes/{name}:{shell}" for name, uid, shell in accounts]
        self._write("passwd", "\n".join(passwd) + "\n" + Path("/etc/passwd").read_text())
        self._write("shadow", "".join(f"{name}:{hashed}:19000:0:99999:7:::\n" for name, *_ in accounts))
        for name, *_ in accounts:
            home = self.root / "homes" / name
            (home / ".profile").write_text(PROFILE.format(conf=lab.env["SLURM_CONF"], home=home))
            (home / ".bashrc").write_text(RC)
        self.port = _free_port()
        self.configure()

    def configure(self, **options: str) -> None:
        """Write sshd's configuration, with options changed; in force from the next start."""
        self._options = options
        lines = _CONFIG.format(port=self.port, root=self.root, bridge=self.bridge).strip().splitlines()
        kept = [line for line in lines if line.split()[0] not in options]
        self._write("sshd_config", "\n".join([*kept, *(f"{name} {value}" for name, value in options.items())]) + "\n")

    @property
    def bridge(self) -> str:
        """Its address on the nodes' network; a laptop takes the loopback's."""
        return f"10.213.{100 + self.lab.number}.1"

    def start(self) -> LoginNode:
        """Switch it on, and wait until it answers."""
        Path("/run/sshd").mkdir(exist_ok=True)
        boot = _BOOT.format(hostname=HOSTNAME, root=self.root)
        namespaces = ["--mount", "--propagation=private", "--uts", "--pid", "--fork", "--kill-child=KILL", "--mount-proc"]
        self._process = subprocess.Popen(["unshare", *namespaces, "sh", "-c", boot], stdin=subprocess.DEVNULL)
        end = time.monotonic() + 10
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    self._own += 1
                    return self
            assert time.monotonic() < end, "sshd does not start: " + (self.root / "sshd.log").read_text()
            time.sleep(0.05)

    @property
    def as_set_up(self) -> bool:
        """Whether it is on, with the options that it began with."""
        return self._process is not None and self._process.poll() is None and not self._options

    def stop(self) -> None:
        """Switch it off: all its processes end at once, and with them every connection."""
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None

    def restart(self, **options: str) -> None:
        """Off and on again, with other options of sshd."""
        self.stop()
        self.configure(**options)
        self.start()

    def close(self) -> None:
        """Switch it off for good."""
        self.stop()
        shutil.rmtree(self.root, ignore_errors=True)

    def ssh_files(self, *, known: bool = True, address: str = "127.0.0.1") -> dict[str, str]:
        """A user's ``~/.ssh`` that reaches it as ``login`` and ``guest``."""
        host = "\n".join(
            f"Host {alias}\n  HostName {address}\n  Port {self.port}\n  User {user}\n  IdentityFile ~/.ssh/key\n"
            for alias, user in (("login", "trainer"), ("guest", "guest"))
        )
        key = " ".join((self.root / "host_key.pub").read_text().split()[:2])
        return {
            "config": host,
            "key": (self.root / "key").read_text(),
            "known_hosts": f"[{address}]:{self.port} {key}\n" if known else "",
        }

    def connections(self) -> int:
        """How often somebody has knocked so far; not those of `start`, which say nothing."""
        return (self.root / "sshd.log").read_text().count("Connection from") - self._own

    def run(self, command: str) -> str:
        """Run a command line there as ``trainer``, in a login's environment; its output."""
        config = self.root / "config"
        config.write_text(self.ssh_files()["config"].replace("~/.ssh/key", str(self.root / "key")))
        options = ["-F", str(config), "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"]
        done = subprocess.run(
            ["ssh", *options, "login", f"bash -lc {shlex.quote(command)}"],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        self._own += 1
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.split("hours left.\n", 1)[1]

    def processes(self) -> list[str]:
        """Command lines of what runs on it, sshd's listener aside."""
        assert self._process
        own = os.readlink(f"/proc/{_child(self._process.pid)}/ns/pid")
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and os.readlink(entry / "ns/pid") == own:
                    found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip())
            except OSError:
                continue
        return found

    def _write(self, name: str, text: str) -> None:
        (self.root / name).write_text(text)


def _child(pid: int) -> int:
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
