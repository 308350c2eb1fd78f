"""A real IPython kernel, driven from outside: cells run in it, signals come from this other process."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty
from typing import Any

from jupyter_client.manager import KernelManager

TIMEOUT = 180.0


@dataclass
class Cell:
    """What a cell put below itself, updates of earlier outputs taken in, as a front end would show it.

    Attributes:
        text: streams and text/plain, in order.
        html: text/html of each output, as it stands at the end.
        error: (name, message) of the error, None without one; `traceback` is what is shown of it.
    """

    stream: str = ""
    shown: dict[str, dict[str, str]] = field(default_factory=dict)
    error: tuple[str, str] | None = None
    traceback: list[str] = field(default_factory=list)

    @property
    def html(self) -> str:
        return "\n".join(data.get("text/html", "") for data in self.shown.values())

    @property
    def text(self) -> str:
        return self.stream + "\n".join(data.get("text/plain", "") for data in self.shown.values())


class Kernel:
    """One kernel and the messages it sends."""

    def __init__(self, env: Mapping[str, str], cwd: Path) -> None:
        self._manager = KernelManager(kernel_name="python3")
        self._manager.start_kernel(env=dict(env), cwd=str(cwd))
        self._client = self._manager.blocking_client()
        self._client.start_channels()
        self._client.wait_for_ready(timeout=60)
        self._displays: dict[str, dict[str, str]] = {}

    @property
    def pid(self) -> int:
        pid = self._manager.provisioner.pid  # type: ignore[union-attr]
        assert pid is not None
        return int(pid)

    def begin(self, code: str) -> str:
        """Start a cell and return at once; its message id."""
        return str(self._client.execute(code))

    def end(self, message_id: str, timeout: float = TIMEOUT, *, until: str | None = None) -> Cell:
        """Collect what a cell shows, until it has ended or shows a text that `until` (a pattern) finds."""
        cell, deadline = Cell(), time.monotonic() + timeout
        while True:
            try:
                message = self._client.get_iopub_msg(timeout=max(0.1, deadline - time.monotonic()))
            except Empty:
                raise AssertionError(f"the cell did not end in time; it shows:\n{cell.text[-3000:]}") from None
            kind, content = message["msg_type"], message["content"]
            if kind == "update_display_data":
                self._put(cell, content)
            if message["parent_header"].get("msg_id") != message_id:
                continue
            if kind == "stream":
                cell.stream += content["text"]
            elif kind in ("display_data", "execute_result"):
                self._put(cell, content)
            elif kind == "error":
                cell.error, cell.traceback = (content["ename"], content["evalue"]), content["traceback"]
            elif kind == "status" and content["execution_state"] == "idle":
                return cell
            if until and re.search(until, cell.text + cell.html):
                return cell

    def run(self, code: str, timeout: float = TIMEOUT) -> Cell:
        """Run a cell to its end."""
        return self.end(self.begin(code), timeout)

    def ok(self, code: str, timeout: float = TIMEOUT) -> Cell:
        """Run a cell that must not fail."""
        cell = self.run(code, timeout)
        assert cell.error is None, f"{cell.error}\n{cell.text[-3000:]}"
        return cell

    def value(self, expression: str) -> Any:
        """The value of an expression in the kernel, by its repr."""
        import ast

        return ast.literal_eval(self.ok(f"print(repr({expression}))").stream.strip())

    def press_stop(self) -> None:
        """What JupyterLab's stop button does: SIGINT to the kernel, from another process."""
        os.kill(self.pid, signal.SIGINT)

    def kill(self) -> None:
        """As the out-of-memory killer would."""
        os.kill(self.pid, signal.SIGKILL)
        self.close()

    def close(self) -> None:
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)

    def _put(self, cell: Cell, content: Mapping[str, Any]) -> None:
        name = content.get("transient", {}).get("display_id") or f"unnamed {len(cell.shown)}"
        cell.shown[name] = content["data"]


@contextmanager
def kernel(env: Mapping[str, str], cwd: Path) -> Iterator[Kernel]:
    """A kernel with the extension loaded, gone at the end."""
    one = Kernel(env, cwd)
    try:
        one.ok("%load_ext automodel_nb\nimport automodel_nb as am")
        yield one
    finally:
        one.close()
