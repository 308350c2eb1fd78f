"""What is known of the node where an interactive job will run: gathered before planning, which itself looks at nothing."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from automodel_nb import hosts
from automodel_nb.errors import UnreachableError

#: Prints what a Python can import, as JSON.
PROBE = """
import importlib.metadata as m, importlib.util as u, json
try: v = m.version("nemo-automodel")
except m.PackageNotFoundError: v = None
s = u.find_spec("nemo_automodel")
print(json.dumps({
    "automodel": v or ("" if s else None), "torch": bool(u.find_spec("torch")),
    "root": list(s.submodule_search_locations)[0] if s and s.submodule_search_locations else "",
    "fault_tolerance": bool(u.find_spec("nvidia_resiliency_ext"))}))
"""


@dataclass(frozen=True, slots=True)
class PythonFacts:
    """What a Python can import.

    Attributes:
        automodel: version of nemo-automodel; empty for a source tree without one; None where it is not installed.
        torch: whether PyTorch is there.
        root: directory of the package nemo_automodel; empty where it is not installed.
        fault_tolerance: whether nvidia-resiliency-ext is there, which has ``ft_launcher``.
        problem: why the interpreter cannot be asked; empty where it can.
    """

    automodel: str | None = None
    torch: bool = False
    root: str = ""
    fault_tolerance: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """This node: number of usable GPUs and of CPUs."""

    gpus: int
    cpus: int


def node_facts(environ: Mapping[str, str] = os.environ, dev: Path = Path("/dev")) -> NodeFacts:
    """Count what this process may use. ``CUDA_VISIBLE_DEVICES`` counts where it is set (a Slurm allocation sets it)."""
    visible = environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        gpus = len([device for device in visible.split(",") if device.strip() not in ("", "-1", "NoDevFiles")])
    else:
        gpus = sum(1 for path in dev.glob("nvidia[0-9]*") if re.fullmatch(r"nvidia\d+", path.name))
    return NodeFacts(gpus, len(os.sched_getaffinity(0)))


def python_facts(python: str | None) -> PythonFacts:
    """What the interpreter of a job can import.

    Args:
        python: as in the launcher section (a path, or a prefix such as ``uv run --no-sync python``); None for the kernel's.
    """
    if python is None or shlex.split(python) == [sys.executable]:
        return PythonFacts(_installed(), _has("torch"), _root(), _has("nvidia_resiliency_ext"))
    return _asked(python, os.getcwd())


def _installed() -> str | None:
    try:
        return importlib.metadata.version("nemo-automodel")
    except importlib.metadata.PackageNotFoundError:
        return "" if _has("nemo_automodel") else None


def _has(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def _root() -> str:
    spec = importlib.util.find_spec("nemo_automodel")
    return next(iter(spec.submodule_search_locations), "") if spec and spec.submodule_search_locations else ""


@cache
def _asked(python: str, cwd: str) -> PythonFacts:
    words = shlex.split(python)
    if not words or shutil.which(words[0]) is None:
        return PythonFacts(problem=f"there is no program `{words[0] if words else ''}`")
    try:
        done = hosts.run([*words, "-c", PROBE], cwd=cwd, timeout=30)
        answer = json.loads(done.stdout.strip().splitlines()[-1])
        return PythonFacts(answer["automodel"], answer["torch"], answer["root"], answer["fault_tolerance"])
    except (OSError, UnreachableError, ValueError, IndexError, KeyError):
        return PythonFacts(problem="it is not a working Python")
