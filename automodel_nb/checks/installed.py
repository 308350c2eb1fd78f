"""Is there an AutoModel that can train, where the job will run?"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from automodel_nb.findings import Finding, Fix

if TYPE_CHECKING:
    from automodel_nb.planning.parts import Parts


def python_works(parts: Parts) -> list[Finding]:
    """The job's interpreter exists, and has AutoModel and PyTorch."""
    python, config = parts.facts.python, parts.config
    if python is None or config.command is not None:
        return []
    named = config.python or parts.facts.default_python
    field = f"{parts.sources.method}.python"
    if python.problem:
        fix = Fix("give the path of a Python that has AutoModel, or leave `python` out for the notebook's own")
        return [parts.finding("no-python", "error", f"`{named}`: {python.problem}", field, fix)]
    if config.pre_commands:
        return []  # they may well activate the environment that has it
    if python.automodel is None:
        message = f"AutoModel is not installed in {named}"
        return [parts.finding("no-automodel", "error", message, field, Fix(f"{named} -m pip install nemo-automodel"))]
    if not python.torch:
        message = f"PyTorch is not installed in {named}, and AutoModel trains with it"
        return [parts.finding("no-torch", "error", message, field, Fix(f"{named} -m pip install torch"))]
    return []


def working_directory(parts: Parts) -> list[Finding]:
    """The training's working directory exists."""
    if parts.facts.python is None or os.path.isdir(parts.chdir):
        return []
    field = f"{parts.sources.method}.chdir"
    fix = Fix(f"make it, or give another; relative paths are taken from {parts.request.cwd}")
    return [parts.finding("no-chdir", "error", f"there is no directory {parts.chdir}", field, fix)]


RULES = (python_works, working_directory)
