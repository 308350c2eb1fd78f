"""A notebook's kernel for the tests: runs cells, keeps what they put out, and can be killed."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from jupyter_client.manager import KernelManager


@dataclass
class Ran:
    """What a cell put out.

    Attributes:
        text: of stdout and stderr.
        shown: the plain text of what it displays (not of what threads change in earlier outputs).
        error: the last line of an error, and all of them.
    """

    text: str = ""
    shown: str = ""
    error: str = ""
    traceback: str = ""


class Kernel:
    """An ipykernel of this Python."""

    def __init__(self, env: Mapping[str, str], cwd: Path) -> None:
        self.manager = KernelManager(transport="ipc", ip=str(Path(tempfile.mkdtemp(prefix="kernel-")) / "k"))
        self.manager.start_kernel(env=dict(env), cwd=str(cwd))
        self.client = self.manager.blocking_client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)
        # what does not change is asked about less and less often, up to once a minute: here nobody has that time
        self.run("import automodel_nb.job.tracker as tracker; tracker.SLOWEST = 8")

    def run(self, code: str, timeout: float = 120) -> Ran:
        """Run one cell to its end."""
        return self.collect(self.client.execute(code), timeout)

    def collect(self, request: str, timeout: float) -> Ran:
        """What the cell of that request puts out, until it ends."""
        ran = Ran()
        end = time.monotonic() + timeout
        while True:
            message = self.client.get_iopub_msg(timeout=max(0.1, end - time.monotonic()))
            if message["parent_header"].get("msg_id") != request:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "stream":
                ran.text += content["text"]
            elif kind in ("display_data", "execute_result"):
                ran.shown += content["data"].get("text/plain", "") + "\n"
            elif kind == "error":
                ran.error, ran.traceback = content["evalue"], "\n".join(content["traceback"])
            elif kind == "status" and content["execution_state"] == "idle":
                return ran

    def kill(self) -> None:
        """End it at once, as a crash does."""
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
        shutil.rmtree(Path(self.manager.ip).parent, ignore_errors=True)


def until(condition: Callable[[], object], timeout: float, what: str, otherwise: Callable[[], str] = str) -> None:
    """Wait for something; where it does not come, fail with what `otherwise` says."""
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, f"no {what} after {timeout:.0f} s {otherwise()}"
        time.sleep(0.5)
