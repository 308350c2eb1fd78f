"""A cell that stays with its job: log and loss as they come, the stop button, a card at the end.

The loop runs in the cell's own thread, for the stop button reaches that one, and nothing here waits for a message from
the browser: a busy kernel does not get any.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import replace

from automodel_nb.errors import JobError
from automodel_nb.job.handle import Job
from automodel_nb.showing import card_data
from automodel_nb.states import JobState
from automodel_nb.views import card_html, card_text, lines_html
from automodel_nb.views.html import esc
from automodel_nb.watching.follow import LogFile
from automodel_nb.watching.lines import clean
from automodel_nb.widgets.display import Output, in_notebook

TICK = 0.1  # seconds
SHOWN_LINES = 200  # in the box below the cell; the file on disk is whole
BURST = 200  # lines a tick; nobody reads more, and the browser would choke on them
CARD_EVERY = 1.0  # seconds between two looks at the card
# column-reverse keeps the end in sight while lines come, and lets the reader scroll up
_SCROLLED = "max-height:24em;overflow:auto;display:flex;flex-direction:column-reverse"
_ASKED = (
    "■ Stop: asked the training to save a checkpoint and stop. Press again to interrupt it without saving.",
    "■ Stop: interrupted. Press again to kill it.",
    "■ Stop: killed.",
)


class Stream:
    """Shows one job until it ends.

    Args:
        job: what to show.
        stop_cancels: the stop button asks the job to stop (interactive); else it only lets go of it.
    """

    def __init__(self, job: Job, *, stop_cancels: bool) -> None:
        self._job = job
        self._stop_cancels = stop_cancels
        self._log = LogFile(job.paths.log)
        self._recent: deque[str] = deque(maxlen=SHOWN_LINES)
        self._seen = 0
        self._left_out = 0
        self._notes: list[str] = []
        self._card, self._lines = Output(), Output()

    def run(self) -> JobState:
        """Stay until the job has ended or the stop button let go of it; its last seen state."""
        self.show_card(final=False)
        presses, next_card = 0, time.monotonic() + CARD_EVERY
        while True:
            try:
                over = self._job.state.final  # asked before reading: what it wrote before its end is read
                self._read(everything=over)
                if over:
                    break
                if time.monotonic() >= next_card:
                    self.show_card(final=False)
                    next_card = time.monotonic() + CARD_EVERY
                time.sleep(TICK)
            except KeyboardInterrupt:
                if not self._stop_cancels:
                    self._say(f"■ Detached; the job goes on. Come back with %automodel_attach {self._job.id}")
                    break
                self._press(presses)
                presses += 1
        self.show_card(final=True)
        return self._job.state

    def show_card(self, *, final: bool) -> None:
        """Bring the card up to date."""
        data = card_data(self._job)
        if not in_notebook():
            data = replace(data, last_lines=())  # they stand right above
        self._card.show(card_html(data), card_text(data), final=final)

    def _press(self, presses: int) -> None:
        try:
            self._job.cancel()
        except JobError as error:
            self._say(f"■ Stop: {error}")
            return
        self._say(_ASKED[min(presses, len(_ASKED) - 1)])

    def _read(self, *, everything: bool) -> None:
        physical = self._log.flush() if everything else self._log.read()
        new = [self._job.mask(text) for line in physical for text in clean(line.text) if text.strip()]
        if not new:
            return
        self._seen += len(new)
        if not in_notebook():
            dropped = max(0, len(new) - BURST)
            self._left_out += dropped
            lines = ([f"… {dropped} lines not shown; whole log: {self._job.paths.log}"] if dropped else []) + new[dropped:]
            print("\n".join(lines), flush=True)  # noqa: T201  a terminal's only way
        self._recent.extend(new)
        self._show_lines()

    def _say(self, note: str) -> None:
        self._notes.append(note)
        if in_notebook():
            self._show_lines()
        else:
            print(note, flush=True)  # noqa: T201

    def _show_lines(self) -> None:
        if not in_notebook():
            return
        hidden = self._seen - len(self._recent)
        head = [f"… {hidden} earlier lines; whole log: {self._job.paths.log}"] if hidden else []
        html = [f"<div>{esc(line)}</div>" for line in head]
        html.append(f'<div style="{_SCROLLED}">{lines_html(self._recent)}</div>')
        html += [f"<div><b>{esc(note)}</b></div>" for note in self._notes]
        self._lines.show("".join(html), "\n".join([*head, *self._recent, *self._notes]), final=False)
