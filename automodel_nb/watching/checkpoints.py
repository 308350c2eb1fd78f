"""AutoModel's checkpoint directory: the newest complete checkpoint, and the model in it.

The rules are those of AutoModel's own auto-resume (`find_latest_checkpoint` of 0.7.0).
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

_NAME = re.compile(r"step_(\d+)$")
_INCOMPLETE = ".incomplete"  # in the directory from its first moment until the save is published (0.7.0)


def step_of(checkpoint: str | os.PathLike[str]) -> int | None:
    """The 0-based step after which a checkpoint was made, from its name (``epoch_0_step_39``); None for another name."""
    match = _NAME.search(Path(checkpoint).name)
    return int(match.group(1)) if match else None


def complete_checkpoints(checkpoint_dir: str | os.PathLike[str]) -> list[Path]:
    """Those whose save has ended, newest (highest step) first."""
    root = Path(checkpoint_dir)
    try:
        names = os.listdir(root)
    except (FileNotFoundError, NotADirectoryError):
        return []
    found = [root / name for name in names if _NAME.search(name)]
    return sorted(
        (path for path in found if _is_complete(path) and not path.is_symlink()),
        key=lambda path: step_of(path) or 0,
        reverse=True,
    )


def newest_checkpoint(checkpoint_dir: str | os.PathLike[str]) -> Path | None:
    """What AutoModel would resume from: ``LATEST`` where it leads to a complete checkpoint, else the highest complete step."""
    latest = _pointer(Path(checkpoint_dir), "LATEST")
    if latest and _is_complete(latest):
        return latest
    return next(iter(complete_checkpoints(checkpoint_dir)), None)


def model_path(checkpoint_dir: str | os.PathLike[str]) -> Path | None:
    """The newest model that transformers (or PEFT) loads: a consolidated one with all its weights, or a LoRA adapter.

    None where no checkpoint has one: AutoModel by default consolidates only the last checkpoint of a training that finished.
    """
    newest = newest_checkpoint(checkpoint_dir)
    for checkpoint in dict.fromkeys([*([newest] if newest else []), *complete_checkpoints(checkpoint_dir)]):
        for path in (checkpoint / "model" / "consolidated", checkpoint / "model"):
            if _is_model(path):
                return path
    return None


def _is_complete(checkpoint: Path) -> bool:
    return checkpoint.is_dir() and not (checkpoint / _INCOMPLETE).exists()


def _pointer(root: Path, name: str) -> Path | None:
    """Where the symbolic link ``name``, or the text file that stands for it, leads."""
    try:
        target = os.readlink(root / name)
    except OSError:
        try:
            target = (root / f"{name}.txt").read_text().strip()
        except (OSError, UnicodeError):
            return None
    return Path(os.path.abspath(root / target)) if target else None


def _is_model(path: Path) -> bool:
    if (path / "adapter_config.json").is_file():
        return (path / "adapter_model.safetensors").is_file()
    if not (path / "config.json").is_file():
        return False
    try:
        index = json.loads((path / "model.safetensors.index.json").read_text())
        return all((path / file).is_file() for file in set(index["weight_map"].values()))
    except FileNotFoundError:
        return (path / "model.safetensors").is_file()
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return False
