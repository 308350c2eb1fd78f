"""The process that stands by an interactive job after the kernel is gone.

Run by path with ``python -I -S`` (standard library only, so that it starts in milliseconds and whatever the job's
environment says cannot break it). Its environment is the job's. It

- starts ``bash launch.sh`` in a session of its own, output appended to ``output.log``;
- writes ``supervisor.json`` (who it is, and every `BEAT` seconds that it still lives, for other machines);
- passes on what it is asked by signal: SIGUSR1 or SIGTERM = save and stop, SIGINT = interrupt, SIGQUIT = kill;
- writes ``exit_code`` when the job has ended and none of its processes is left.

It prints one line on standard output once the job runs (or says why not), then lets go of it.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from typing import NoReturn

BEAT = 15.0  # seconds between two signs of life
GRACE = 10.0  # seconds that left-over processes get between SIGTERM and SIGKILL


# --- /proc --------------------------------------------------------------------------------------------------------


def start_time(pid: int) -> int | None:
    """Clock ticks since boot at which a process started: with the pid and the boot id it names a process for good."""
    fields = _stat(pid)
    return int(fields[19]) if fields else None


def boot_id() -> str:
    """Changes with every boot of this machine."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


def _stat(pid: int) -> list[str] | None:
    # fields from the third on: the second, the name in parentheses, may hold anything
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return None


def descendants(root: int) -> dict[int, int]:
    """Living processes below `root` (itself included): pid to parent's pid."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (fields := _stat(int(name))) and fields[0] not in "ZX":
            parents[int(name)] = int(fields[1])
    found: dict[int, int] = {}
    frontier = {root}
    while frontier:
        found.update({pid: parents[pid] for pid in frontier if pid in parents})
        frontier = {pid for pid, parent in parents.items() if parent in frontier} - found.keys()
    return found


def _environment_has(pid: int, name: str) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return any(item.startswith(name.encode() + b"=") for item in file.read().split(b"\0"))
    except OSError:
        return False


def workers(root: int) -> list[int]:
    """The training processes below `root`.

    torchrun's workers are those with LOCAL_RANK in their environment whose parent has none (a worker's own children,
    its data loaders, inherit the variable). Without torchrun it is the job's process itself, or what its shell runs.
    """
    family = descendants(root)
    ranked = {pid for pid in family if _environment_has(pid, "LOCAL_RANK")}
    if ranked:
        return sorted(pid for pid in ranked if family[pid] not in ranked)
    if _name(root) == "bash":
        return sorted(pid for pid, parent in family.items() if parent == root)
    return [root] if root in family else []


def _name(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def tell(pids: list[int], number: int) -> None:
    """Send a signal to each process that still lives."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


# --- files --------------------------------------------------------------------------------------------------------


def write(path: str, text: str) -> None:
    """Write, flush to disk, rename: a reader on any machine sees the old text or the new one."""
    part = f"{path}.{os.getpid()}.part"
    with open(part, "w", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)


# --- the supervisor -----------------------------------------------------------------------------------------------


class Supervisor:
    """Stands by one job."""

    def __init__(self, directory: str, preemption_signal: int) -> None:
        self.directory = directory
        self.preemption_signal = preemption_signal
        self.job: subprocess.Popen[bytes] | None = None
        self.facts: dict[str, object] = {}

    def start(self, argv: list[str], chdir: str) -> None:
        """Start the job. Raises OSError where the directory cannot be written or the shell not be started."""
        log = os.open(f"{self.directory}/output.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            self.beat(started=time.time())  # before the job: a full disk is found while nothing runs
            self.job = subprocess.Popen(
                argv,
                cwd=chdir,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, []),  # the job takes its own signals
            )
        finally:
            os.close(log)
        self.beat(job_pid=self.job.pid)

    def beat(self, **facts: object) -> None:
        """Say who this is and that it lives."""
        me = os.getpid()
        self.facts |= {"pid": me, "start_time": start_time(me), "boot_id": boot_id(), "host": os.uname().nodename}
        self.facts |= facts | {"alive": time.time()}
        write(f"{self.directory}/supervisor.json", json.dumps(self.facts))

    def ask(self, number: int) -> None:
        """Do what a signal asks for."""
        assert self.job is not None
        asked = {signal.SIGUSR1: "save", signal.SIGINT: "interrupt", signal.SIGQUIT: "kill"}.get(signal.Signals(number))
        self.beat(asked=asked or "terminate", asked_at=time.time())
        if number in (signal.SIGUSR1, signal.SIGTERM):
            tell(workers(self.job.pid), self.preemption_signal)
        elif number == signal.SIGINT:
            tell(workers(self.job.pid), signal.SIGINT)
        elif number == signal.SIGQUIT:
            tell(self._family(), signal.SIGKILL)

    def stand_by(self) -> int:
        """Wait for the job's end and for that of everything it left running; the shell's exit status."""
        assert self.job is not None
        watched = {signal.SIGUSR1, signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGCHLD}
        while self.job.poll() is None:
            caught = signal.sigtimedwait(watched, BEAT)
            if caught is None:
                self.try_to_beat()
            elif caught.si_signo != signal.SIGCHLD:
                self.ask(caught.si_signo)
        code = self.job.returncode
        self._clear_up()
        return 128 - code if code < 0 else code  # as a shell says it

    def try_to_beat(self) -> None:
        """A full disk must not end the supervisor while the training goes on."""
        try:
            self.beat()
        except OSError:
            return

    def _clear_up(self) -> None:
        """What the job leaves behind would hold its GPUs."""
        end = time.monotonic() + GRACE
        tell(self._family(), signal.SIGTERM)
        while (left := self._family()) and time.monotonic() < end:
            time.sleep(0.1)
        tell(left, signal.SIGKILL)

    @staticmethod
    def _family() -> list[int]:
        # orphans too (see _adopt_orphans): torchrun's workers are in sessions of their own
        return [pid for pid in descendants(os.getpid()) if pid != os.getpid()]


def _adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent dies (prctl(2), PR_SET_CHILD_SUBREAPER)."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)


def _answer(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main(arguments: list[str]) -> NoReturn:
    """``supervisor.py DIRECTORY CHDIR SIGNAL COMMAND...``."""
    directory, chdir, name, *argv = arguments
    if os.fork():  # the kernel's child ends at once; the supervisor is nobody's child and leaves no zombie
        os._exit(0)
    os.setsid()
    _adopt_orphans()
    os.umask(0o077)
    # held back from the start, taken one by one in stand_by; SIGHUP (a closed terminal) means nothing to us
    numbers = {signal.SIGUSR1, signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGCHLD}
    signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    supervisor = Supervisor(directory, getattr(signal, name))
    try:
        supervisor.start(argv, chdir)
        _answer(json.dumps({"pid": os.getpid(), "start_time": start_time(os.getpid()), "boot_id": boot_id()}))
    except OSError as error:
        _answer(json.dumps({"error": f"{error.strerror}: {error.filename or directory}"}))
        os._exit(1)
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    code = supervisor.stand_by()
    while True:
        try:
            write(f"{directory}/exit_code", f"{code} {int(time.time())}\n")
            break
        except FileNotFoundError:
            break  # the directory was deleted: nobody is left to tell
        except OSError:
            time.sleep(BEAT)  # a full disk: someone may make room
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
