"""The form without a screen: a document that is edited field by field or as text, its findings and its plan."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from automodel_nb import api
from automodel_nb.document import SECTIONS
from automodel_nb.document import Path as DocumentPath
from automodel_nb.editing import cells, sections
from automodel_nb.editing.fields import FieldState, Inherited, field_states, inherited
from automodel_nb.editing.history import History
from automodel_nb.editing.opening import method_of, opened
from automodel_nb.editing.planned import Planned, plan_state
from automodel_nb.editing.sheet import Sheet
from automodel_nb.editing.state import Refused, State, spliced
from automodel_nb.editing.writing import Keys, as_typed, keys_of, removed, written
from automodel_nb.errors import DocumentError, LaunchError
from automodel_nb.findings import Finding, Fix
from automodel_nb.job.handle import Job
from automodel_nb.plan import METHODS, Method, Plan
from automodel_nb.planning.sources import route

Edit = Callable[[Sheet, Mapping[str, Inherited]], Sheet]


class Form:
    """A launch that is being written.

    Args:
        source: a cell's text (str), with or without its first line; a file (Path); a method's name; None for a template.
        namespace: where ``{{ name }}`` takes its values from; None leaves them alone.

    Raises:
        LaunchError: the source cannot be read.
    """

    def __init__(self, source: str | Path | None = None, *, namespace: Mapping[str, Any] | None = None) -> None:
        self._namespace = namespace
        self._history = History(opened(source))
        self._planned: tuple[State, Planned] | None = None
        self._inherited: tuple[object, dict[str, Inherited]] | None = None
        self._watchers: list[Callable[[], None]] = []

    # --- what it holds ---

    @property
    def state(self) -> State:
        """The present state; immutable."""
        return self._history.now

    @property
    def yaml(self) -> str:
        """The document's text."""
        return self.state.text

    @property
    def method(self) -> Method:
        """The chosen launch method."""
        return self.state.method

    @property
    def cell(self) -> str:
        """A cell's text that launches this."""
        state = self.state
        method = None if state.method == "interactive" and "interactive" not in state.sheet.document.sections else state.method
        return cells.Cell(method, state.options, state.text).text

    @property
    def planned(self) -> Planned:
        """The plan with its findings, made when it is first asked for after an edit."""
        if self._planned is None or self._planned[0] is not self.state:
            self.take(self.state, plan_state(self.state, self._namespace))
        assert self._planned is not None
        return self._planned[1]

    def take(self, state: State, planned: Planned) -> bool:
        """Keep what `plan_state` found elsewhere (in a thread); False where the form has moved on since."""
        if state is not self.state:
            return False
        self._planned = (state, planned)
        return True

    def replan(self) -> None:
        """Forget the plan: the world (a file, the cluster, a variable) may have changed."""
        self._planned = None
        self._inherited = None

    @property
    def plan(self) -> Plan | None:
        """The plan; None where there is none, for the reasons in `findings`."""
        return self.planned.plan

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is wrong or doubtful, errors first."""
        return self.planned.findings

    @property
    def inherited(self) -> Mapping[str, Inherited]:
        """What holds where the document gives nothing: out of profiles, and of the file that the cell is launched with."""
        return self._inherited_by(self.state)

    @property
    def fields(self) -> tuple[FieldState, ...]:
        """The fields of the chosen method."""
        return self.fields_with(self.findings)

    def fields_with(self, findings: Iterable[Finding]) -> tuple[FieldState, ...]:
        """The fields, with these findings beside them: those of an earlier plan, while a new one is made."""
        return field_states(self.state, self.inherited, findings)

    # --- edits ---

    def set(self, path: DocumentPath, value: object, *, step: object = None) -> None:
        """Write one value, as a user's edit does: just its characters change.

        Args:
            path: ``slurm.nodes``, ``slurm.env_vars.MODE``, ``("slurm", "extra_mounts", 0)``, or a recipe's value.
            value: text as a user would type it, a number, a list, a mapping; None or an empty text takes the field out.
            step: edits with the same step are undone together.

        Raises:
            LaunchError: it cannot be written there; the document stays as it is, and `findings` tells why.
        """
        keys = keys_of(path)
        if value is None or (value == "" and len(keys) == 2):
            self.remove(path)
            return
        self._edit(keys, lambda sheet, below: written(sheet, keys, value, below), step, typed=value)

    def lift(self, path: DocumentPath) -> None:
        """Write null: what a profile gives there does not hold."""
        keys = keys_of(path)
        self._edit(keys, lambda sheet, below: written(sheet, keys, None, below))

    def remove(self, path: DocumentPath) -> None:
        """Take a value out; the last one of a collection takes the collection with it."""
        keys = keys_of(path)
        self._edit(keys, lambda sheet, below: removed(sheet, keys, below))

    def rename(self, path: DocumentPath, name: str) -> None:
        """Write another key, such as the name of a variable."""
        keys = keys_of(path)
        self._edit(keys, lambda sheet, _below: sheet.rename(keys, name), typed=name)

    def apply(self, fix: Fix) -> None:
        """Do what a finding's fix says, where it says it in a way that a click can do."""
        if fix.field is not None and fix.value is not None:
            keys = tuple(re.sub(r"\[(\d+)\]", r".\1", fix.field).split("."))
            self.set(keys, fix.value if keys[0] in SECTIONS else as_typed(fix.value))

    def write(self, text: str, *, step: object = None) -> None:
        """Take the text of the YAML pane; one that cannot be read leaves the fields as they are."""
        state = self.state
        text = spliced(state.text, text)
        if text == state.text:
            return
        after = replace(state, refused={}).read(text)
        if after.problem is None:
            after = replace(after, method=method_of(after.sheet, state.method))
        self._go(after, step)

    def choose(self, method: Method) -> None:
        """Launch by another method: its section takes the place of the present one, which comes back when it is chosen again.

        Raises:
            LaunchError: the sections cannot be exchanged in place.
        """
        route(method, [])  # says what there is, for a typo
        if method != self.method or method not in self.state.sheet.document.sections:
            self._go(self._chosen(self._readable(), method))

    def use(self, profile: str | None) -> None:
        """Take the defaults of a named profile."""
        self._go(replace(self.state, options=replace(self.state.options, profile=profile)))

    def load(self, source: str | Path) -> None:
        """Begin anew from a cell's text or a file; undo brings back what was there.

        Raises:
            LaunchError: it cannot be read; the form stays as it is.
        """
        self._go(opened(source))

    def undo(self) -> None:
        """Take the last edit back, whether it was made in a field or in the text."""
        self._history.undo()
        self._changed()

    def redo(self) -> None:
        """Do again what was undone."""
        self._history.redo()
        self._changed()

    @property
    def can_undo(self) -> bool:
        """Whether there is an edit to take back."""
        return self._history.can_undo

    @property
    def can_redo(self) -> bool:
        """Whether something was undone last."""
        return self._history.can_redo

    def launch(self) -> Job:
        """Launch it.

        Raises:
            LaunchError: nothing was launched, for the reasons in `.findings`.
        """
        self.replan()
        planned = self.planned
        if planned.plan is None or planned.errors:
            raise LaunchError(planned.findings)
        return api.launch(planned.plan)

    def watch(self, changed: Callable[[], None]) -> None:
        """Call `changed` after each edit."""
        self._watchers.append(changed)

    # --- inside ---

    def _readable(self) -> State:
        state = self.state
        if state.problem is not None:
            where = f"line {state.problem.line}" if state.problem.line else "the text"
            fix = Fix(f"correct {where} of the YAML, or undo")
            raise LaunchError([Finding("edit", "error", "the YAML cannot be read, so no field of it can be changed", fix=fix)])
        return state

    def _inherited_by(self, state: State) -> Mapping[str, Inherited]:
        key = (state.method, state.options.profile, state.options.file, os.getcwd())
        if self._inherited is None or self._inherited[0] != key:
            self._inherited = (key, inherited(*key))
        return self._inherited[1]

    def _for_edit(self, keys: Keys) -> State:
        """The state in which these keys belong to the chosen method; comes with the edit, not before it."""
        state, method = self._readable(), keys[0] if keys else ""
        known = next((known for known in METHODS if known == method), None)
        if known is None or known == state.method or known in state.sheet.document.sections:
            return state if known is None else replace(state, method=known)
        return self._chosen(state, known)

    def _chosen(self, state: State, method: Method) -> State:
        if method in state.sheet.document.sections:
            return replace(state, method=method)
        if method == "interactive" and not state.sheet.document.sections:
            return replace(state, method=method)
        sheet, gone = sections.exchange(state.sheet, method, state.kept.get(method))
        return state.show(sheet, method=method, kept={**state.kept, **gone}, refused={})

    def _edit(self, keys: Keys, edit: Edit, step: object = None, typed: object = "") -> None:
        state, path = self._for_edit(keys), ".".join(map(str, keys))
        try:
            sheet = edit(state.sheet, self._inherited_by(state))
        except DocumentError as error:
            finding = replace(error.findings[0], field=path, line=None, column=None)
            shown = typed if isinstance(typed, str) and finding.code != "literal-secret" else ""
            self._stay(replace(self.state, refused={**self.state.refused, path: Refused(shown, finding)}))
            raise LaunchError([finding]) from None
        after = state.show(sheet).without_refusal(path)
        if after.text != self.state.text or after.method != self.method:
            self._go(after, step and (path, step))
        else:
            self._stay(after)

    def _stay(self, state: State) -> None:
        """Something to show, and nothing to undo."""
        if state.refused != self.state.refused:
            self._history.replace(state)
            self._changed()

    def _go(self, state: State, step: object = None) -> None:
        self._history.push(state, step)
        self._changed()

    def _changed(self) -> None:
        for watcher in self._watchers:
            watcher()
