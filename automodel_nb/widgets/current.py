"""Cards of jobs that no cell stays with: one daemon thread brings them up to date until their jobs have ended."""

from __future__ import annotations

import threading
import time

from automodel_nb.job.handle import Job
from automodel_nb.showing import card_data
from automodel_nb.views import card_html, card_text
from automodel_nb.widgets.display import Output, in_notebook

EVERY = 1.0  # seconds; the tracker asks the scheduler less often than that

_cards: list[tuple[Job, Output]] = []
_lock = threading.Lock()
_thread: threading.Thread | None = None


def show_card(job: Job) -> None:
    """Show a job's card, and keep it current for as long as the job and this kernel live."""
    output = Output()
    _update(job, output)
    if in_notebook() and not job.state.final:
        _keep(job, output)


def _keep(job: Job, output: Output) -> None:
    global _thread
    with _lock:
        _cards.append((job, output))
        if _thread is None:
            _thread = threading.Thread(target=_run, name="automodel_nb cards", daemon=True)
            _thread.start()


def _run() -> None:
    global _thread
    while True:
        time.sleep(EVERY)
        with _lock:
            cards = list(_cards)
        over = [card for card in cards if not _update(*card)]
        with _lock:
            _cards[:] = [card for card in _cards if card not in over]
            if not _cards:
                _thread = None
                return


def _update(job: Job, output: Output) -> bool:
    """Show where the job stands; False once it has ended."""
    over = job.state.final
    data = card_data(job)
    output.show(card_html(data), card_text(data))
    return not over
