"""How the user's own `ssh` is called, and what its errors mean.

Nothing of the user's ssh configuration is overridden but what a program needs: no questions (BatchMode), one connection
that is shared (ControlMaster) in a directory of our own, and signs of life. Host keys are the user's business.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import socket
import stat
from dataclasses import dataclass
from pathlib import Path

from automodel_nb.errors import UnreachableError
from automodel_nb.hosts.local import hostname, run

_LONGEST = 107  # characters of a socket's path
_NAME = 1 + 16 + 17  # of them for our name, and for what ssh adds to it while it makes one
_PERSIST = 600  # seconds for which an unused connection is kept


@dataclass(frozen=True, slots=True)
class Problem:
    """Why there is no connection.

    Attributes:
        message: in one line, with what to type.
        refused: the host answered and did not let us in: not to be tried again until the user has done something.
    """

    message: str
    refused: bool = False


def socket_directory() -> Path | None:
    """Where connections are shared, private to this user; None where no directory will do."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    for parent in filter(None, (runtime, "/tmp")):
        directory = Path(parent) / ("automodel_nb" if parent == runtime else f"automodel_nb-{os.getuid()}")
        if len(os.fsencode(directory)) + _NAME > _LONGEST:
            continue
        try:
            directory.mkdir(mode=0o700, exist_ok=True)
            about = directory.lstat()
        except OSError:
            continue
        if stat.S_ISDIR(about.st_mode) and about.st_uid == os.getuid() and not about.st_mode & 0o077:
            return directory
    return None


def control_path(name: str) -> str:
    """The socket of the connection to a host; ``none`` where it cannot be shared."""
    directory = socket_directory()
    # not ssh's %C: its 40 digits and what is added to them leave too little room
    return f"{directory}/{hashlib.sha256(name.encode()).hexdigest()[:16]}" if directory else "none"


def ssh_argv(name: str, command: str) -> list[str]:
    """The call of ssh that runs a command line there."""
    path = control_path(name)
    shared = ["ControlMaster=auto", f"ControlPath={path}", f"ControlPersist={_PERSIST}"] if path != "none" else []
    options = ["BatchMode=yes", *shared, "ServerAliveInterval=15", "ServerAliveCountMax=3"]
    return ["ssh", "-T", *(word for option in options for word in ("-o", option)), name, command]


def login_command(name: str) -> str:
    """What the user types in a terminal of this machine, to log in once for all notebooks."""
    path = control_path(name)
    if path == "none":
        return f"ssh {shlex.quote(name)}"
    return f"ssh -fNM -o ControlPath={shlex.quote(path)} {shlex.quote(name)}"


def check_name(name: str) -> None:
    """Refuse what ssh would take for an option, or a shell for more than a word.

    Raises:
        UnreachableError: it is no name of a host.
    """
    if not re.fullmatch(r"(?!-)[\w.@%:+-]+", name, re.ASCII):
        raise UnreachableError(f"{name!r} is no host's name, such as login or me@login.cluster.org")


def problem(name: str, stderr: str, returncode: int | None) -> Problem:
    """What ssh's failure means.

    Args:
        name: the host.
        stderr: what ssh said.
        returncode: its exit status, None where it took too long.
    """
    said = _said(stderr)
    log_in = f"type in a terminal of {hostname()}: {login_command(name)}"
    if re.search("REMOTE HOST IDENTIFICATION HAS CHANGED", stderr):
        words = f"the host key of {name} has changed: the site has a new one, or someone listens in between"
        return Problem(f"{words}; ask the site, and only then remove the old key as `ssh {name}` tells", refused=True)
    if "Host key verification failed" in stderr:
        return Problem(f"the host key of {name} is not known yet; to look at it and accept it, {log_in}", refused=True)
    if re.search(r"Permission denied|Too many authentication failures|[Nn]o more authentication methods", stderr):
        return Problem(f"{name} wants you to log in ({said}); {log_in}", refused=True)
    if returncode is None:
        return Problem(f"{name} does not answer" + (f": {said}" if said else ""))
    if returncode != 255 and re.search("not found|No such file|not available|cannot be used", said):
        return Problem(f"{name} gives no shell to work with: {said}", refused=True)
    return Problem(f"{name} does not answer: {said or 'the connection was closed'}")


def is_this_machine(name: str) -> bool:
    """Whether ssh would lead from this machine to itself, as where a notebook was moved to the login node that it names."""
    plain = name.rpartition("@")[2].lower()
    own = hostname().lower()
    if plain in (own, own.partition(".")[0]):
        return True
    try:
        done = run(["ssh", "-G", name], timeout=5)
    except (OSError, UnreachableError):
        return False
    settings = dict(line.partition(" ")[::2] for line in done.stdout.splitlines())
    if settings.get("port") != "22" or settings.get("proxyjump", "none") != "none" or "proxycommand" in settings:
        return False  # a tunnel may begin at this machine and end elsewhere
    try:
        with socket.socket() as probe:  # an address of this machine is one that can be bound
            probe.bind((socket.gethostbyname(settings.get("hostname", "")), 0))
    except (OSError, UnicodeError):
        return False
    return True


def _said(stderr: str) -> str:
    """The last line that says something of its own."""
    lines = [re.sub(r"^(ssh: |kex_exchange_identification: )", "", line).strip() for line in stderr.splitlines()]
    telling = [line for line in lines if line and not re.match(r"mux_client|ControlSocket |debug|Warning: ", line)]
    return telling[-1].rstrip(".\r")[:200] if telling else ""
