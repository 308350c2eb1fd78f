"""AutoModel's checkpoint directory on a login node: the rules of `watching.checkpoints`, asked in one trip."""

from __future__ import annotations

import shlex
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from automodel_nb import hosts
from automodel_nb.errors import UnreachableError
from automodel_nb.watching.checkpoints import step_of

FRESH = 20.0  # seconds for which an answer is taken by who only looks on
_LIST = r"""
cd {directory} 2>/dev/null || exit 0
whole() {{ [ -d "$1" ] && [ ! -e "$1/.incomplete" ]; }}
loads() {{
  if [ -f "$1/adapter_config.json" ]; then [ -f "$1/adapter_model.safetensors" ]; return; fi
  [ -f "$1/config.json" ] || return 1
  if [ ! -f "$1/model.safetensors.index.json" ]; then [ -f "$1/model.safetensors" ]; return; fi
  for w in $(grep -o '"[^" ]*\.safetensors"' "$1/model.safetensors.index.json" | tr -d '"' | sort -u); do
    [ -f "$1/$w" ] || return 1
  done
}}
show() {{
  echo "$1 $2"
  for m in "$2/model/consolidated" "$2/model"; do if loads "$m"; then echo "model $m"; return; fi; done
}}
l=$(readlink LATEST || cat LATEST.txt) 2>/dev/null
case $l in '') ;; /*) whole "$l" && show latest "$l" ;; *) whole "$l" && show latest "$PWD/$l" ;; esac
for c in *step_*; do [ ! -L "$c" ] && whole "$c" && show complete "$PWD/$c"; done
exit 0
"""


@dataclass(frozen=True, slots=True)
class Found:
    """What a checkpoint directory holds.

    Attributes:
        newest: what AutoModel would resume from; None where there is no complete checkpoint.
        model: the newest model that transformers (or PEFT) loads; None where there is none.
    """

    newest: Path | None = None
    model: Path | None = None


_kept: dict[tuple[str, str], tuple[float, Found]] = {}
_lock = threading.Lock()


def look(host: str, directory: str, *, anew: bool = False) -> Found:
    """The newest checkpoint and model in a directory there.

    Args:
        host: name of the login node.
        directory: the checkpoint directory, absolute.
        anew: ask now. Otherwise an answer that is young enough will do, and an old one while the host is silent.

    Raises:
        UnreachableError: with `anew`, the host does not answer.
    """
    with _lock:
        kept = _kept.get((host, directory))
    if kept and not anew and time.monotonic() - kept[0] < FRESH:
        return kept[1]
    try:
        there = hosts.host(host)
        if not isinstance(there, hosts.SshHost):
            raise UnreachableError(f"{host} is this machine")
        answer = there.sh(_LIST.format(directory=shlex.quote(directory)), role="files", timeout=20)
        found = parse(answer.stdout.decode("utf-8", "surrogateescape"))
    except UnreachableError:
        if anew:
            raise
        found = kept[1] if kept else Found()
    with _lock:
        _kept[host, directory] = time.monotonic(), found
    return found


def parse(text: str) -> Found:
    """Out of the lines ``latest PATH``, ``complete PATH``, each with a line ``model PATH`` behind it where it has one."""
    models: dict[str, str] = {}
    latest, complete, last = "", [], ""
    for line in text.splitlines():
        word, _, path = line.partition(" ")
        if word == "model":
            models[last] = path
            continue
        last = path
        if word == "latest":
            latest = path
        elif step_of(path) is not None:
            complete.append(path)
    order = [*([latest] if latest else []), *sorted(complete, key=lambda path: step_of(path) or 0, reverse=True)]
    model = next((models[path] for path in order if path in models), None)
    return Found(Path(order[0]) if order else None, Path(model) if model else None)
