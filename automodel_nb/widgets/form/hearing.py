"""What the browser says, and what the form does then. A message may hold anything: what is not understood is passed over."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from automodel_nb.errors import AutomodelError
from automodel_nb.findings import Fix
from automodel_nb.plan import METHODS

if TYPE_CHECKING:
    from automodel_nb.widgets.form.view import LaunchForm

_DEEDS = frozenset(
    {"set", "remove", "lift", "rename", "fix", "write", "choose", "profile", "undo", "redo", "load", "launch", "choices"}
)
_SURROGATE = re.compile("[\ud800-\udfff]")


class Hearing:
    """Acts on the messages of one form's widget; called with the form's lock held."""

    def __init__(self, form: LaunchForm) -> None:
        self._form = form

    def hear(self, message: dict[str, Any]) -> None:
        """Do what a message says; a mistake of the user's is shown, beside the field or as a remark."""
        if message.get("do") not in _DEEDS:
            return
        try:
            getattr(self, f"_{message['do']}")(message)
        except AutomodelError as error:
            if message.get("do") not in ("set", "rename"):  # these are told beside their field
                self._form.note = f"✗ {error}".replace("\nNothing was launched.", "")

    def _set(self, message: dict[str, Any]) -> None:
        if keys := _keys(message.get("path")):
            self._form.set(keys, message.get("value"), step=message.get("step"))

    def _remove(self, message: dict[str, Any]) -> None:
        if keys := _keys(message.get("path")):
            self._form.remove(keys)

    def _lift(self, message: dict[str, Any]) -> None:
        if keys := _keys(message.get("path")):
            self._form.lift(keys)

    def _rename(self, message: dict[str, Any]) -> None:
        if keys := _keys(message.get("path")):
            self._form.rename(keys, str(message.get("name")))

    def _fix(self, message: dict[str, Any]) -> None:
        self._form.apply(Fix("", str(message.get("field")), str(message.get("value"))))

    def _write(self, message: dict[str, Any]) -> None:
        # a lone surrogate cannot be sent back, nor written to a file
        self._form.write(_SURROGATE.sub("\ufffd", str(message.get("text"))), step=message.get("step"))

    def _choose(self, message: dict[str, Any]) -> None:
        if (method := next((known for known in METHODS if known == message.get("method")), None)) is not None:
            self._form.choose(method)

    def _profile(self, message: dict[str, Any]) -> None:
        self._form.use(str(message["profile"]) if message.get("profile") else None)

    def _undo(self, _message: dict[str, Any]) -> None:
        self._form.undo()

    def _redo(self, _message: dict[str, Any]) -> None:
        self._form.redo()

    def _load(self, message: dict[str, Any]) -> None:
        text, file = message.get("text"), message.get("file")
        self._form.load(Path(str(file).strip()) if file else str(text))

    def _launch(self, _message: dict[str, Any]) -> None:
        self._form.launch_here()

    def _choices(self, message: dict[str, Any]) -> None:
        self._form.choices_for(str(message.get("field")))


def _keys(path: object) -> tuple[str | int, ...]:
    """A path out of JSON: names, and numbers for items."""
    if not isinstance(path, list) or not all(isinstance(key, str | int) for key in path):
        return ()
    return tuple(path)
