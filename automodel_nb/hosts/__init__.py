"""Where commands run and files lie: this machine, or a login node that the user's own `ssh` reaches.

Only this package starts processes.
"""

from __future__ import annotations

import os
import threading

from automodel_nb.hosts.base import Completed, Host, Piece
from automodel_nb.hosts.local import LOCAL, hostname, run
from automodel_nb.hosts.ssh import BrokenOff, SshHost

__all__ = ["LOCAL", "BrokenOff", "Completed", "Host", "Piece", "SshHost", "again", "forget", "host", "hostname", "run"]

_hosts: dict[str, SshHost] = {}
_lock = threading.Lock()


def host(name: str | None) -> Host:
    """The host of a name that ssh knows; this machine without one, or where the name means this very machine."""
    if not name:
        return LOCAL
    with _lock:
        found = _hosts.get(name)
        if found is None or found.process != os.getpid():  # a forked process must not talk through its parent's connection
            found = _hosts[name] = SshHost(name)
    return LOCAL if found.is_here else found


def again() -> None:
    """A user asked for something just now: a host that refused us or did not answer may be tried again."""
    for known in list(_hosts.values()):
        known.again()


def forget() -> None:
    """Close every connection of this process."""
    with _lock:
        for known in _hosts.values():
            known.close()
        _hosts.clear()
