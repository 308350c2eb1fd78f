"""The form in a notebook: the model, and one widget that draws it and hears what a user does."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from IPython import get_ipython

from automodel_nb.editing.choices import choices, cluster
from automodel_nb.editing.form import Form
from automodel_nb.editing.planned import Planned, cost, plan_state
from automodel_nb.editing.state import State
from automodel_nb.editing.trying import LIMITED, with_problems
from automodel_nb.errors import AutomodelError, LaunchError, MissingDependencyError
from automodel_nb.job.handle import Job
from automodel_nb.plan import Plan
from automodel_nb.planning.explaining import explain
from automodel_nb.widgets.deeds import in_thread
from automodel_nb.widgets.display import Output, Slots, in_notebook
from automodel_nb.widgets.form.hearing import Hearing
from automodel_nb.widgets.form.static import static_html, static_text
from automodel_nb.widgets.form.wire import choices_of, preview_of, shape, state_of
from automodel_nb.widgets.live import in_browser, new_key

_FRONT = Path(__file__).with_name("front")
_SHARED = Path(__file__).parents[1] / "front"
_SCRIPTS = (_SHARED / "dom.js", *(_FRONT / f"{name}.js" for name in (
    "inputs", "combo", "rows", "field", "groups", "yaml", "preview", "notebook", "view", "form",
)))  # fmt: skip
_PAUSE = 0.05  # seconds without an edit before a plan is made: letters come faster than that


class LaunchForm(Form):
    """`automodel_nb.form()`: the model of a launch, shown where it is the last value of a cell.

    Whatever changes it, a user in the browser or `set` in a cell, the other one sees it.
    """

    def __init__(self, source: str | Path | None = None, *, namespace: Mapping[str, Any] | None = None) -> None:
        super().__init__(source, namespace=namespace)
        self._key = new_key()
        self._lock = threading.RLock()  # edits come from cells, from the browser's messages and, planned, from a thread
        self._launching = threading.Lock()
        self._hearing = Hearing(self)
        self._shown: Any = None
        self._static: Output | None = None
        self._slots: Slots | None = None
        self._edited = threading.Event()
        self._worker: threading.Thread | None = None
        self._previewed: Plan | None = None
        self._before: Mapping[str, str] = {}  # what the preview showed before its last change
        self._last: Planned | None = None
        self._cost = ""
        self.note = ""
        self.watch(self._refresh)

    @property
    def widget(self) -> Any:
        """The form as a Jupyter widget, to be laid out with others.

        Raises:
            MissingDependencyError: anywidget is not installed.
        """
        if self._shown is None:
            made = _widget_class()
            if made is None:
                raise MissingDependencyError("the form needs anywidget: pip install 'automodel_nb[widgets]'")
            self._shown = made(key=self._key, shape=shape(), state=state_of(self, None), seq=0)
            self._shown.on_msg(lambda _widget, message, _buffers: self._hear(dict(message)))
            self._refresh()
        return self._shown

    def _ipython_display_(self) -> None:
        self.show()

    def show(self) -> None:
        """Show the form below the running cell; as text where there is no browser."""
        self._static = Output()
        self._show_static()
        if not in_notebook() or not in_browser() or _widget_class() is None:
            return
        self._slots = None
        Output().show(f'<div class="amnb-form-{self._key}"></div>', " ")
        self._slots = Slots(2)  # for a card, and its live panel
        _ = self.widget

    def to_cell(self) -> None:
        """Write a cell that launches this, below the running one."""
        shell = get_ipython()
        if shell is None:
            raise AutomodelError("there is no cell here; `form.cell` is its text")
        shell.set_next_input(self.cell, replace=False)

    def launch_here(self) -> None:
        """Launch it, and show the job below the form; what goes wrong becomes a remark. Returns at once."""
        in_thread(self._launch, self.say)

    def say(self, note: str) -> None:
        """Show a remark in the form."""
        with self._lock:
            self.note = note
            self._put()

    def choices_for(self, field: str) -> None:
        """Send what a field could be: what is known now, and again when the cluster has answered."""
        host = self.state.sheet.raw("slurm.host") if self.method == "slurm" else None
        there = cluster(host if isinstance(host, str) else "")
        facts = there.look(lambda: self._send_choices(field)) if self.method == "slurm" else None
        self._send_choices(field, facts)

    # --- inside ---

    def _launch(self) -> str:
        if not self._launching.acquire(blocking=False):
            return "It is being launched already."
        try:
            return self._launched()
        finally:
            self._launching.release()

    def _launched(self) -> str:
        self.say("Launching …")
        try:
            job = self.launch()
        except LaunchError as error:
            with self._lock:
                self.replan()
                self._refresh()
            return f"✗ {error}"
        self._show_job(job)
        return f"Launched {job.name} as {job.id}. Come back to it in any notebook with %automodel_attach {job.id}"

    def _show_job(self, job: Job) -> None:
        from automodel_nb.widgets.panel import Panel

        if self._slots is not None:
            with self._slots.used():
                Panel(job)

    def _hear(self, message: dict[str, Any]) -> None:
        with self._lock:
            self._hearing.hear(message)
            number = message.get("seq")
            with self._shown.hold_sync():
                if isinstance(number, int):
                    self._shown.seq = max(self._shown.seq, number)
                    self._put()

    def _refresh(self) -> None:
        """After an edit: show it at once, and have it planned."""
        with self._lock:
            self.note = ""
            self._put()
            if self._shown is None:
                return
            self._edited.set()
            if self._worker is None:
                self._worker = threading.Thread(target=self._work, name="automodel_nb form", daemon=True)
                self._worker.start()

    def _put(self) -> None:
        if self._shown is not None:
            known = self._planned[1] if self._planned and self._planned[0] is self.state else None
            # what was found before stays beside the fields while it is looked for anew: nothing flickers
            shown = state_of(self, known or self._last)
            self._shown.state = {**shown, "checking": known is None, "note": self.note, "cost": self._cost}

    def _work(self) -> None:
        while True:
            if not self._edited.wait(10):
                with self._lock:
                    if not self._edited.is_set():
                        self._worker = None
                        return
            while self._edited.is_set():
                self._edited.clear()
                self._edited.wait(_PAUSE)
            self._plan(self.state)

    def _plan(self, state: State) -> None:
        planned = plan_state(state, self._namespace)
        with self._lock:
            if not self.take(state, planned):
                return
            self._last = planned
            self._put()
            self._show_static()
        if planned.plan is not None:
            self._preview(planned.plan)
            self._price(planned.plan)

    def _preview(self, plan: Plan) -> None:
        explained = explain(plan)
        with self._lock:
            if self._planned is None or self._planned[1].plan is not plan:
                return
            last = self._previewed
            if last is None or last.method != plan.method:
                self._before = plan.files
            elif last.files != plan.files:  # the same once more: what was marked as changed stays so
                self._before = last.files
            self._shown.preview = preview_of(plan, explained, self._before)
            self._previewed = plan

    def _price(self, plan: Plan) -> None:
        """What it costs; SkyPilot, which knows it, is slow to load."""
        found = cost(plan)
        with self._lock:
            if found != self._cost:
                self._cost = found
                self._put()

    def _show_static(self) -> None:
        if self._static is not None:
            self._static.show(static_html(self, self._key), static_text(self))

    def _send_choices(self, field: str, facts: Any = None) -> None:
        if self._shown is None:
            return
        host = self.state.sheet.raw("slurm.host") if self.method == "slurm" else None
        known = facts or (cluster(host if isinstance(host, str) else "").facts if self.method == "slurm" else None)
        found = choices(field, known)
        planned = self._planned
        if field in LIMITED and planned is not None:
            found = with_problems(found, field, planned[1].plan, known)
        self._shown.send({"kind": "choices", "field": field, "choices": choices_of(found)})


@cache
def _widget_class() -> Any:
    try:
        import anywidget
        import traitlets
    except ImportError:
        return None

    class FormWidget(anywidget.AnyWidget):
        _esm = "\n".join(path.read_text(encoding="utf-8") for path in _SCRIPTS)
        _css = (_FRONT / "form.css").read_text(encoding="utf-8")
        key = traitlets.Unicode().tag(sync=True)
        shape = traitlets.Dict().tag(sync=True)
        state = traitlets.Dict().tag(sync=True)
        preview = traitlets.Dict().tag(sync=True)
        seq = traitlets.Int().tag(sync=True)

    return FormWidget


def form(source: str | Path | None = None) -> LaunchForm:
    """A form to launch from.

    Args:
        source: a cell's text (str), a file (Path), or a launch method to begin from its template; None begins on this node.

    Returns:
        The form; a cell shows it as its last value. `.set`, `.yaml`, `.findings`, `.plan`, `.launch()` need no screen.

    Raises:
        LaunchError: the source cannot be read.
    """
    shell = get_ipython()
    return LaunchForm(source, namespace=shell.user_ns if shell is not None else None)
