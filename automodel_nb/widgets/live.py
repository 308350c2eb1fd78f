"""The live side of an output: a widget that never is an output itself.

What a notebook saves is HTML (`display.Output`). The widget's script finds the empty element beside it and draws the live
view there, in place of the static one, for as long as this kernel lives. A widget shown as an output would leave "Error
displaying widget: model not found" in every notebook that is opened again.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from IPython import get_ipython

from automodel_nb.widgets.display import Output, in_notebook, in_slots

_FRONT = Path(__file__).with_name("front")
# joined to one module, for anywidget takes one; each uses the ones before it
_SCRIPTS = ("dom.js", "ring.js", "log.js", "head.js", "actions.js", "panel.js", "jobs.js", "live.js")
_STYLES = ("panel.css", "log.css")
Heard = Callable[[dict[str, Any]], None]


class Live:
    """A live view beside a static one. Made in the cell's own thread, below the static output.

    Args:
        kind: which view: ``panel`` or ``jobs``.
        heard: called in the kernel's main thread with each message of the view.

    Its traits are ``status``, ``curves`` and ``tail``; its messages ``lines``, ``beat`` and ``ack``.
    """

    def __init__(self, kind: str, key: str, heard: Heard) -> None:
        self.widget = _widget_class()(kind=kind, key=key)
        self.widget.on_msg(lambda _widget, message, _buffers: self._hear(message, heard))
        Output().show(f'<div class="amnb-live-{key}"></div>', " ")

    def _hear(self, message: Any, heard: Heard) -> None:
        self.send("ack")
        heard(dict(message))

    def send(self, kind: str, **content: Any) -> None:
        """Send something that no page opened later needs."""
        self.widget.send({"kind": kind, **content})

    def put(self, trait: str, value: Any) -> None:
        """Set what a page that is opened later is given too. Nothing is sent where nothing changed."""
        self.widget.set_trait(trait, value)

    def close(self) -> None:
        """Take the live view away; the static one is back."""
        self.put("status", {"closed": True})
        self.put("tail", {})
        self.widget.close()


def live_beside(kind: str, key: str, heard: Heard) -> Live | None:
    """A live view for the running cell; None where the packages are missing or no browser shows this kernel's outputs."""
    if not in_notebook() or not (in_slots() or in_browser()) or _widget_class() is None:
        return None
    return Live(kind, key, heard)


def new_key() -> str:
    """What ties the parts of one output together."""
    return secrets.token_hex(6)


def static(key: str, html: str, log: str = "") -> str:
    """The static part, to be hidden while the live one stands in its place; its log, for as long as that shows one."""
    return f'<div class="amnb-static-{key}">{html}<div class="amnb-static-log-{key}">{log}</div></div>'


def in_browser() -> bool:
    """False for nbclient, papermill and consoles: a front end with cells says which one it runs."""
    parent = get_ipython().kernel.get_parent("shell") or {}
    return bool(parent.get("metadata", {}).get("cellId"))


@cache
def _widget_class() -> Any:
    try:
        import anywidget
        import traitlets
    except ImportError:
        return None

    class LiveWidget(anywidget.AnyWidget):
        _esm = "\n".join((_FRONT / name).read_text(encoding="utf-8") for name in _SCRIPTS)
        _css = "\n".join((_FRONT / name).read_text(encoding="utf-8") for name in _STYLES)
        kind = traitlets.Unicode().tag(sync=True)
        key = traitlets.Unicode().tag(sync=True)
        status = traitlets.Dict().tag(sync=True)
        curves = traitlets.Dict().tag(sync=True)
        tail = traitlets.Dict().tag(sync=True)

    return LiveWidget
