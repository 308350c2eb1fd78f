"""The panel of one job: a card that is always current, and where a browser looks on, a live view in its place."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Any

from automodel_nb.job.handle import Job
from automodel_nb.showing import card_data, last_lines
from automodel_nb.views import CardData, card_html, card_text, lines_html
from automodel_nb.views.html import details, esc, tag
from automodel_nb.watching.reading import LOOK, read_error
from automodel_nb.widgets.deeds import (
    detached_words,
    down_action,
    down_words,
    in_thread,
    resume_action,
    stop_action,
    stopped_words,
)
from automodel_nb.widgets.display import Output
from automodel_nb.widgets.facts import curves_of, printable, status_of
from automodel_nb.widgets.live import Live, live_beside, new_key, static
from automodel_nb.widgets.logfeed import LogFeed
from automodel_nb.widgets.ticker import CARDS

SAVED_LINES = 50  # of the log, in the saved notebook
HIDDEN_CARD_EVERY = 3.0  # seconds between two pictures of a card in whose place the live view stands


class Panel:
    """Shows a job in the running cell's output, until the job ends or the user lets go of it.

    Made in the cell's own thread. Threads keep it current; none of them prints, and none waits for the browser.

    Args:
        job: what to show.
        stop_button: what the notebook's stop button does, where the cell stays with the job (its kernel then hears no other
            button); empty where the cell returns at once.
    """

    def __init__(self, job: Job, stop_button: str = "") -> None:
        self._key = new_key()
        self._card = Output()
        self._lock = threading.Lock()  # held while the view changes, not while a scheduler is asked
        self._stop_button = stop_button
        self._take(job)
        self.refresh()
        self._live = live_beside("panel", self._key, self._heard)  # below the card
        if self._live:
            self._feed = LogFeed(self._live, job)
            self._feed.start()
        if self.refresh():
            CARDS.add(self.refresh)

    _live: Live | None = None
    _feed: LogFeed

    def _take(self, job: Job) -> None:
        self.job = job
        self._stops = 0
        self._over = False
        self._note = ""
        self._card_state: object = None
        self._card_at = 0.0

    def say(self, note: str) -> None:
        """Show a remark beside the state."""
        self._note = note
        self.refresh()

    def finish(self) -> None:
        """The cell no longer stays with the job: bring everything up to date, buttons work from now on."""
        self._stop_button = ""
        self.refresh()

    def refresh(self) -> bool:
        """Bring the state up to date; False once nothing will change any more."""
        job = self.job
        over = job.state.final  # asked before its log is read: what it wrote before its end is in the card
        data = card_data(job)
        with self._lock:
            if job is not self.job:
                return True  # resumed meanwhile
            state = (data.state, data.reason, self._note, self._stop_button)
            changed = state != self._card_state
            if changed or over != self._over or self._live is None or time.monotonic() - self._card_at >= HIDDEN_CARD_EVERY:
                self._card_state, self._card_at = state, time.monotonic()
                self._show_card(data)
            if self._live:
                self._live.put("status", self._status(data))
                self._live.put("curves", curves_of(data))
                if over and not self._over:
                    self._feed.finish()
            self._over = over
            return not over or bool(data.cluster_up)

    def _show_card(self, data: CardData) -> None:
        lines = last_lines(self.job, SAVED_LINES)
        log = details(f"Log, last {len(lines)} lines", lines_html(lines), is_open=True) if lines else ""
        note = tag("div", esc(self._note)) if self._note else ""
        html = static(self._key, card_html(replace(data, last_lines=())) + note, log)
        self._card.show(html, card_text(data), final=data.state.final)

    def _status(self, data: CardData) -> dict[str, Any]:
        error = None if data.state.ok else read_error(self.job.log_source, LOOK)
        pinned = [error.number, self.job.mask(error.text), error.rank] if error else None
        more = {"note": self._note, "error": pinned, "actions": self._actions(data), "hint": self._stop_button}
        return {**status_of(data), **printable(more)}

    def _actions(self, data: CardData) -> list[dict[str, Any]]:
        if self._stop_button:
            return []
        if data.state.final:
            return [*resume_action(self.job), *down_action(self.job)]
        detach = {"do": "detach", "label": "Detach", "ask": None, "title": "Back to the card; the job goes on"}
        return [stop_action(self.job, self._stops), *down_action(self.job), detach]

    # --- what the buttons do ---

    def _heard(self, message: dict[str, Any]) -> None:
        match message.get("do"):
            case "hello":
                self._feed.again()
            case "stop":
                in_thread(self._stop, self.say)
            case "resume":
                in_thread(self._resume, self.say)
            case "down":
                in_thread(lambda: down_words(self.job), self.say)
            case "detach":
                in_thread(self._detach, self.say)

    def _stop(self) -> str:
        job, stops = self.job, self._stops
        job.cancel()
        self._stops = stops + 1
        return stopped_words(job, stops)

    def _resume(self) -> str:
        before = self.job
        job = before.resume()
        with self._lock:
            assert self._live is not None
            self._feed.close()
            self._take(job)
            self._feed = LogFeed(self._live, job)
            self._feed.start()
        CARDS.add(self.refresh)
        return f"Resumed {before.id} as {job.id}."

    def _detach(self) -> str:
        with self._lock:
            if self._live:
                self._feed.close()
                self._live.close()
                self._live = None
        return detached_words(self.job)
