"""A real JupyterLab server on loopback, and Chromium to look at it. Nothing is read from or left in the user's own settings."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CHROMIUM_ARGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--enable-precise-memory-info", "--js-flags=--expose-gc"),
]
# settings that keep dialogs and pop-ups out of the way; saving is what a test does, not a timer
SETTINGS: dict[str, dict[str, Any]] = {
    "@jupyterlab/notebook-extension/tracker": {"autoStartDefaultKernel": True, "kernelShutdown": True},
    "@jupyterlab/apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/docmanager-extension/plugin": {"autosave": False},
}


def chromium() -> str | None:
    """A Chromium of the system."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@contextlib.contextmanager
def server(home: Path, root: Path, app: str = "jupyterlab", **environment: str) -> Iterator[str]:
    """A running server; its address.

    Args:
        home: where its settings and its log lie.
        root: the notebooks' directory.
        app: module to start: ``jupyterlab`` or ``notebook``.
        environment: further variables for it and its kernels.
    """
    settings = home / "settings"
    for name, values in SETTINGS.items():
        file = settings / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values))
    own = {
        "JUPYTER_CONFIG_DIR": home / "config",
        "JUPYTER_DATA_DIR": home / "data",
        "JUPYTER_RUNTIME_DIR": home / "runtime",
        "IPYTHONDIR": home / "ipython",
        "JUPYTERLAB_SETTINGS_DIR": settings,
        "JUPYTERLAB_WORKSPACES_DIR": home / "workspaces",
    }
    port, log = _free_port(), home / f"{app}.log"
    command = [
        *(sys.executable, "-m", app, "--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}"),
        *("--ServerApp.port_retries=0", "--IdentityProvider.token=", "--ServerApp.password="),
        *("--ServerApp.disable_check_xsrf=True", f"--ServerApp.root_dir={root}", "--LabApp.expose_app_in_browser=True"),
        *("--JupyterNotebookApp.expose_app_in_browser=True", "--LabApp.news_url="),
    ]
    with log.open("w") as file:
        env = {**os.environ, **{name: str(path) for name, path in own.items()}, **environment}
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, env=env, start_new_session=True)
    try:
        _wait_for(f"http://127.0.0.1:{port}/api/status", process, log)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()  # the server ends its kernels
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()


def _wait_for(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=2):
            return
        time.sleep(0.1)
    raise RuntimeError(f"the server did not start:\n{log.read_text()[-3000:]}")


APP = "(window.jupyterapp || window.jupyterlab)"


class Notebook:
    """One notebook in a page: cells are added and run as a user does, through JupyterLab's own commands.

    Attributes:
        page: Playwright's page.
        problems: what the page logged as an error, and exceptions that nothing caught.
    """

    def __init__(self, page: Any, base: str, path: str, route: str = "lab/tree") -> None:
        self.page = page
        self._address = f"{base}/{route}/{path}?reset"
        self.problems: list[str] = []
        page.on("console", lambda message: self.problems.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.problems.append(str(error)))

    def open(self) -> Notebook:
        """Open it (or open it anew, as a reload does) and wait for its kernel."""
        self.page.goto(self._address)
        self.page.locator(".jp-Notebook").first.wait_for(state="visible", timeout=60_000)
        self.wait_for_kernel()
        return self

    def wait_for_kernel(self) -> None:
        # the toolbar shows "idle" before the kernel is connected, and a cell that is run then is lost
        self.page.wait_for_function(
            f"""async () => {{
                const panel = {APP}?.shell.currentWidget;
                if (!panel?.sessionContext) return false;
                await panel.revealed; await panel.sessionContext.ready;
                const kernel = panel.sessionContext.session?.kernel;
                if (!kernel) return false;
                await kernel.info;
                return kernel.status === 'idle' && kernel.connectionStatus === 'connected';
            }}""",
            timeout=60_000,
            polling=100,
        )

    def run(self, source: str, *, wait: bool = True) -> Any:
        """Add a cell at the end and run it; a locator of that cell."""
        index = self.page.evaluate(
            f"""source => {{
                const app = {APP}, notebook = app.shell.currentWidget.content;
                notebook.model.sharedModel.addCell({{cell_type: 'code', source}});
                notebook.activeCellIndex = notebook.widgets.length - 1;
                notebook.deselectAll();
                app.commands.execute('notebook:run-cell');
                return notebook.activeCellIndex;
            }}""",
            source,
        )
        if wait:
            self.wait_for_cell(index)
        return self.cell(index)

    def cell(self, index: int) -> Any:
        """A locator of one cell."""
        return self.page.locator(f'.jp-Notebook .jp-Cell[data-windowed-list-index="{index}"]')

    def wait_for_cell(self, index: int, timeout: float = 60_000) -> None:
        """Wait until a cell has run."""
        self.page.wait_for_function(
            f"i => ({APP}.shell.currentWidget.content.widgets[i].model.executionState ?? 'idle') === 'idle'",
            arg=index,
            timeout=timeout,
            polling=50,
        )

    def command(self, name: str, **arguments: object) -> None:
        """Start one of JupyterLab's commands, without waiting for its end (a dialog would hold it)."""
        self.page.evaluate(f"([name, given]) => {{ {APP}.commands.execute(name, given); }}", [name, arguments])

    def interrupt(self) -> None:
        """The stop button."""
        self.command("notebook:interrupt-kernel")

    def restart(self) -> None:
        """A new kernel, as after a crash."""
        self.page.evaluate(f"async () => {{ await {APP}.shell.currentWidget.sessionContext.session.kernel.restart(); }}")
        self.wait_for_kernel()

    def save(self) -> None:
        """Write the file, and wait until it is written."""
        self.page.evaluate(f"async () => {{ await {APP}.shell.currentWidget.context.save(); }}")


@contextlib.contextmanager
def browser() -> Iterator[Any]:
    """Chromium, without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM_ARGS)
        try:
            yield running
        finally:
            running.close()


def new_page(running: Any, *, width: int = 1280, height: int = 1000, dark: bool = False) -> Any:
    """A page in a context of its own."""
    context = running.new_context(viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light")
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.set_default_timeout(20_000)
    return page
