"""The scripts of the live views on a page of their own, without a server or a kernel."""

from __future__ import annotations

from typing import Any

from automodel_nb.widgets.live import _FRONT, _SCRIPTS, _STYLES

NAMES = "Ring, LogView, Head, Actions, Live, VIEWS, redrawn, h"


def open_front(page: Any) -> None:
    """Load scripts and styles; the classes are `window.amnb`. `hit()` counts what ran that should not."""
    scripts = "\n".join((_FRONT / name).read_text() for name in _SCRIPTS).partition("export default")[0]
    styles = "\n".join((_FRONT / name).read_text() for name in _STYLES)
    page.set_content(f"<!doctype html><meta charset=utf-8><style>{styles}</style><main id=place class=amnb></main>")
    page.evaluate(
        f"() => {{ window.hits = 0; window.hit = () => {{ window.hits += 1; }}; {scripts}\nwindow.amnb = {{ {NAMES} }}; }}"
    )


def open_log(page: Any, rows: list[list[Any]] | None = None) -> None:
    """A log view on the page: `window.ring`, `window.view`, and `feed(rows, total)`."""
    open_front(page)
    page.evaluate(
        """rows => {
            window.ring = new amnb.Ring();
            window.view = new amnb.LogView(ring);
            document.getElementById('place').append(view.root);
            window.feed = (rows, total) => { ring.add(rows, total); view.update('/jobs/output.log'); };
            feed(rows, rows.length);
        }""",
        rows or [],
    )
