"""Getting about without a mouse."""

from __future__ import annotations

from typing import Any

_NAME = """() => {
  const e = document.activeElement;
  return e?.getAttribute('aria-label') ?? e?.labels?.[0]?.innerText ?? e?.innerText ?? '';
}"""


def tab_to(page: Any, name: str, at_most: int = 150, key: str = "Tab") -> None:
    """Press Tab (or another key) until what is so named has the focus; ``Advanced*`` is whatever begins so."""
    seen = []
    for _ in range(at_most):
        page.keyboard.press(key)
        seen.append(page.evaluate(_NAME).strip())
        if seen[-1] == name or (name.endswith("*") and seen[-1].startswith(name[:-1])):
            return
    raise AssertionError(f"{key} never came to {name!r}: {seen}")
