"""A cell that stays with its job: what it shows comes from threads or is printed, the stop button is heard here.

The loop runs in the cell's own thread, for the stop button reaches that one, and nothing waits for a message from the
browser: a busy kernel does not get any.
"""

from __future__ import annotations

import time
from dataclasses import replace

from automodel_nb.errors import JobError
from automodel_nb.job.handle import Job
from automodel_nb.showing import card_data
from automodel_nb.states import JobState
from automodel_nb.views import card_text
from automodel_nb.watching.follow import LogFile
from automodel_nb.watching.lines import clean
from automodel_nb.widgets.deeds import detached_words
from automodel_nb.widgets.display import in_notebook
from automodel_nb.widgets.panel import Panel

TICK = 0.1  # seconds
BURST = 200  # lines a tick that are printed; nobody reads more
_STOP_SAVES = (
    "■ (the notebook's stop button) asks the training to save a checkpoint and stop; "
    "a second press interrupts it, a third kills it."
)
_STOP_DETACHES = "■ (the notebook's stop button) lets go of the job, which goes on."
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
        words = _STOP_SAVES if stop_cancels else _STOP_DETACHES
        self._face: Panel | _Printed = Panel(job, words) if in_notebook() else _Printed(job)

    def run(self) -> JobState:
        """Stay until the job has ended or the stop button let go of it; its last seen state."""
        presses = 0
        while True:
            try:
                over = self._job.state.final  # asked before looking: what it wrote before its end is shown
                if isinstance(self._face, _Printed):
                    self._face.look()  # of a panel, threads do
                if over:
                    break
                time.sleep(TICK)
            except KeyboardInterrupt:
                if not self._stop_cancels:
                    self._face.say(f"■ {detached_words(self._job)}")
                    break
                self._press(presses)
                presses += 1
        self._face.finish()
        return self._job.state

    def _press(self, presses: int) -> None:
        try:
            self._job.cancel()
        except JobError as error:
            self._face.say(f"■ Stop: {error}")
            return
        self._face.say(_ASKED[min(presses, len(_ASKED) - 1)])


class _Printed:
    """A terminal: lines as they come, the card at the end."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._log = LogFile(job.log_source)

    def look(self) -> None:
        self._lines(over=False)

    def finish(self) -> None:
        self._lines(over=True)
        self.say(card_text(replace(card_data(self._job), last_lines=())))  # they stand right above

    def say(self, note: str) -> None:
        print(note, flush=True)  # noqa: T201  a terminal's only way

    def _lines(self, *, over: bool) -> None:
        physical = self._log.flush() if over else self._log.read()
        new = [self._job.mask(text) for line in physical for text in clean(line.text) if text.strip()]
        if dropped := max(0, len(new) - BURST):
            new[:dropped] = [f"… {dropped} lines not shown; whole log: {self._job.paths.log}"]
        if new:
            self.say("\n".join(new))
