"""The tiny recipe's text, and AutoModel's own command line run on it: what the other tests and the launcher's share."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from automodel_nb import cpu

ROOT = Path(__file__).parents[2]
AIDS = Path(__file__).with_name("aids")
TRAINED = re.compile(r"\bstep (\d+) \| epoch \d+ \| loss ([\d.]+) \| grad_norm")


def cache_dir() -> Path:
    """Outside the repository, so that a fresh clone on the same machine downloads and builds nothing twice."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "automodel_nb-tests"


def make_tiny() -> Path:
    """The directory that holds the tiny model and data; made once for each text of tools/make_tiny.py."""
    maker = ROOT / "tools/make_tiny.py"
    target = cache_dir() / f"tiny-{hashlib.sha256(maker.read_bytes()).hexdigest()[:12]}"
    if not target.exists():
        subprocess.run([sys.executable, maker, target], check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    return target


def recipe_text(tiny: Path | str = "tiny", /, **values: object) -> str:
    """notebooks/tiny.yaml, with its paths under ``tiny`` and the named scalars changed (``max_steps=8``)."""
    text = (ROOT / "notebooks/tiny.yaml").read_text().replace(": tiny/", f": {tiny}/")
    for name, value in values.items():
        text, changed = re.subn(rf"^(\s*{name}: )[^#\n]*?( #.*)?$", rf"\g<1>{value}\2", text, flags=re.MULTILINE)
        assert changed == 1, f"the tiny recipe has {changed} lines for {name}"
    return text


def environment(devices: int = 1, /, **aids: str) -> dict[str, str]:
    """The environment of a run on CPU, with the test aids (``AM_FAIL``, …) within reach."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return {**kept, **cpu.environment(devices), "PYTHONPATH": f"{cpu.PATH}:{AIDS}", "TQDM_DISABLE": "1", **aids}


def run(arguments: list[str], cwd: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """``python ARGUMENTS``, output and errors together in ``stdout``."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=240,
        check=False,
    )


def losses(log: str) -> list[tuple[int, float]]:
    """(step, loss) of every training line, in the order of the log."""
    return [(int(step), float(loss)) for step, loss in TRAINED.findall(log)]
