"""The published resume keys that current AutoModel does not read, and the ones that it does.

``step_scheduler.checkpoint_interval`` raises after the model has loaded; a top-level ``restore_from`` is ignored, so that
training starts anew. Both are in published guidance. They become ``step_scheduler.ckpt_every_steps`` and
``checkpoint.restore_from``, as an edit that the user sees. AutoModel before 0.4 is not concerned.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import unified_diff
from typing import Any

from automodel_nb.document.model import Document
from automodel_nb.document.nodes import Leaf, Table
from automodel_nb.errors import DocumentError
from automodel_nb.findings import Finding, Fix, Severity

_INTERVAL = "step_scheduler.checkpoint_interval"
_EVERY = "step_scheduler.ckpt_every_steps"
_OLD_RESTORE = "restore_from"
_RESTORE = "checkpoint.restore_from"


@dataclass(frozen=True)
class Published:
    """The recipe with the keys that AutoModel reads.

    Attributes:
        text: the recipe text.
        diff: unified diff from the recipe as typed; empty where nothing was to do.
        values: the recipe's data after the edit.
        findings: what was edited (warnings), or why it was not (errors).
    """

    text: str
    diff: str = ""
    values: dict[str, Any] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()


def published_keys(document: Document) -> Published:
    """Edit the recipe text of `document` where it holds one of the published keys.

    Raises:
        DocumentError: as `Document.recipe_text`.
    """
    text = document.recipe_text
    if document.node(_INTERVAL) is None and document.node(_OLD_RESTORE) is None:
        return Published(text, values=document.recipe())
    after = before = Document.parse(text, document.source)
    findings: list[Finding] = []
    for edit in (_interval, _restore_from):
        after = edit(document, after, findings)
    lines = unified_diff(
        before.text.splitlines(keepends=True), after.text.splitlines(keepends=True), "recipe.yaml", "recipe.yaml"
    )
    return Published(
        after.text, "".join(line if line.endswith("\n") else f"{line}\n" for line in lines), after.recipe(), tuple(findings)
    )


def _interval(document: Document, recipe: Document, findings: list[Finding]) -> Document:
    if recipe.node(_INTERVAL) is None:
        return recipe
    message = f"`{_INTERVAL}` is not a key of current AutoModel"
    if recipe.node(_EVERY) is not None:
        findings.append(_finding(document, _INTERVAL, "error", message, f"remove it; `{_EVERY}` is there"))
        return recipe
    findings.append(_finding(document, _INTERVAL, "warning", message, f"launched as `{_EVERY}`"))
    return recipe.rename(_INTERVAL, "ckpt_every_steps")


def _restore_from(document: Document, recipe: Document, findings: list[Finding]) -> Document:
    node = recipe.node(_OLD_RESTORE)
    if node is None:
        return recipe
    message = "current AutoModel ignores a top-level `restore_from`"
    path = node.value if isinstance(node, Leaf) and not node.null else None
    if isinstance(node, Table) and [entry.name for entry in node.effective()] == ["path"]:
        inner = node.effective().__next__().value.node
        path = inner.value if isinstance(inner, Leaf) and not inner.null else None
    if not isinstance(path, str):
        findings.append(_finding(document, _OLD_RESTORE, "error", message, f"write `{_RESTORE}: PATH`"))
        return recipe
    if recipe.node(_RESTORE) is not None:
        findings.append(_finding(document, _OLD_RESTORE, "error", message, f"remove it; `{_RESTORE}` is there"))
        return recipe
    try:
        edited = recipe.set(_RESTORE, path).remove(_OLD_RESTORE)
    except DocumentError:
        findings.append(_finding(document, _OLD_RESTORE, "error", message, f"write `{_RESTORE}: PATH` in its place"))
        return recipe
    findings.append(_finding(document, _OLD_RESTORE, "warning", message, f"launched as `{_RESTORE}`"))
    return edited


def _finding(document: Document, path: str, severity: Severity, message: str, fix: str) -> Finding:
    line, column = document.place(path, key=True) or (None, None)
    return Finding("published-key", severity, message, path, line, column, Fix(fix), document.source)
