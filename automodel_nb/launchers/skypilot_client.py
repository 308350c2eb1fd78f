"""The door to SkyPilot's SDK: imported when used, quiet, bounded in time, and never the one that starts a server."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from automodel_nb.errors import JobError, MissingDependencyError, UnreachableError
from automodel_nb.launchers.skypilot_errors import Explained, explain

T = TypeVar("T")

#: The oldest SkyPilot whose SDK has what is used here.
MINIMUM = (0, 14, 1)
INSTALL = "pip install 'automodel_nb[skypilot]'"
_stdout = threading.Lock()


class SkyPilotError(JobError):
    """SkyPilot refused; `explained` says why."""

    def __init__(self, explained: Explained) -> None:
        super().__init__(str(explained))
        self.explained = explained


def installed() -> bool:
    """Whether SkyPilot can be imported; it is not imported for that."""
    return importlib.util.find_spec("sky") is not None


def sdk() -> Any:
    """The package `sky`: 2 s at the first call, and it makes ``~/.sky``.

    Raises:
        MissingDependencyError: it is not installed, does not import, or is too old.
    """
    try:
        sky: Any = importlib.import_module("sky")
    except Exception as error:  # it reads and writes files while it is imported
        why = "SkyPilot is not installed" if getattr(error, "name", "") == "sky" else f"SkyPilot does not import: {error}"
        raise MissingDependencyError(f"{why} ({INSTALL})") from None
    version = tuple(int(part) for part in str(sky.__version__).split(".")[:3] if part.isdigit())
    if len(version) == len(MINIMUM) and version < MINIMUM:
        least = ".".join(map(str, MINIMUM))
        raise MissingDependencyError(f"SkyPilot {sky.__version__} is installed, and {least} is needed ({INSTALL})")
    return sky


def require_server() -> None:
    """Make sure that an API server answers. Every function of the SDK would start one, which then outlives the kernel.

    Raises:
        UnreachableError: none does; the message says how to start it.
    """
    sdk()
    common: Any = importlib.import_module("sky.server.common")
    try:
        state, _ = common.check_server_healthy()
    except Exception as error:
        raise UnreachableError(str(explain(error))) from None
    if "AUTH" in state.name:
        raise UnreachableError("the SkyPilot API server asks for a login (log in with `!sky api login`)")


def call(function: Callable[[Any], T], *, timeout: float = 60) -> T:
    """Call the SDK in a thread of its own, and wait for the answer.

    In a thread since SkyPilot draws its spinners in the main one only, where a cell would keep their debris.

    Args:
        function: is given the package `sky`.
        timeout: seconds after which the server counts as not answering.

    Raises:
        UnreachableError: no server, or no answer in time.
        SkyPilotError: SkyPilot raised something else.
    """
    require_server()
    sky = sdk()
    box: list[T] = []
    raised: list[BaseException] = []

    def work() -> None:
        try:
            box.append(function(sky))
        except BaseException as error:  # to be raised again where it is waited for
            raised.append(error)

    thread = threading.Thread(target=work, name="skypilot", daemon=True)
    thread.start()
    thread.join(timeout)
    if raised:
        raise translated(raised[0])
    if not box:
        raise UnreachableError(f"the SkyPilot API server did not answer within {timeout:g} s")
    return box[0]


def translated(error: BaseException) -> JobError:
    """An exception of SkyPilot's as one of ours."""
    if isinstance(error, JobError):
        return error
    explained = explain(error)
    return UnreachableError(str(explained)) if explained.unreachable else SkyPilotError(explained)


@contextlib.contextmanager
def muted() -> Iterator[None]:
    """Drop what this thread prints: `sky.launch` says ``Running on cluster: …`` on standard output, in whatever cell runs."""
    with _stdout:
        real = sys.stdout
        sys.stdout = _Muted(real, threading.get_ident())
        try:
            yield
        finally:
            sys.stdout = real


class _Muted(io.TextIOBase):
    """Standard output without one thread's text."""

    def __init__(self, real: Any, thread: int) -> None:
        self._real, self._thread = real, thread

    def write(self, text: str) -> int:
        if threading.get_ident() == self._thread:
            return len(text)
        return int(self._real.write(text) or 0)

    def flush(self) -> None:
        if threading.get_ident() != self._thread:
            self._real.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)
