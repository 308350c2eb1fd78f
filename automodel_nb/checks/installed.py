"""Is there an AutoModel that can train, where the job will run?"""

from __future__ import annotations

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


RULES = (python_works,)
