"""Is there an AutoModel that can train, where the job will run?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from automodel_nb.checks.rules import Problem, rule
from automodel_nb.findings import Fix

if TYPE_CHECKING:
    from automodel_nb.checks.facts import Facts
    from automodel_nb.planning.parts import Parts


@rule("no-python", "error")
def python_works(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """The job's interpreter, `python`, is a Python that starts.

    Source: it is asked.
    """
    python = parts.facts.python
    if python is not None and python.problem and parts.config.command is None:
        fix = Fix("give the path of a Python that has AutoModel, or leave `python` out for the notebook's own")
        yield Problem(f"`{_named(parts)}`: {python.problem}", f"{parts.sources.method}.python", fix)


@rule("no-automodel", "error")
def automodel_is_there(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """AutoModel is installed in the job's Python (where `pre_commands` may activate another one, nothing is said).

    Source: that Python is asked. Silent for containers and clouds.
    """
    if _asked(parts) and parts.facts.python and parts.facts.python.automodel is None:
        fix = Fix(f"{_named(parts)} -m pip install nemo-automodel")
        yield Problem(f"AutoModel is not installed in {_named(parts)}", f"{parts.sources.method}.python", fix)


@rule("no-torch", "error")
def torch_is_there(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """PyTorch is installed beside AutoModel.

    Source: that Python is asked. Silent for containers and clouds.
    """
    python = parts.facts.python
    if _asked(parts) and python and python.automodel is not None and not python.torch:
        message = f"PyTorch is not installed in {_named(parts)}, and AutoModel trains with it"
        yield Problem(message, f"{parts.sources.method}.python", Fix(f"{_named(parts)} -m pip install torch"))


@rule("no-ft-launcher", "error")
def ft_launcher_is_there(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """`fault_tolerance` starts the workers with ft_launcher, which nvidia-resiliency-ext brings.

    Source: nvidia-resiliency-ext 0.4.1, `nvidia_resiliency_ext.fault_tolerance.launcher`.
    """
    python = parts.facts.python
    if _asked(parts) and python and not python.fault_tolerance and getattr(parts.config, "fault_tolerance", None):
        message = f"fault_tolerance needs nvidia-resiliency-ext, which is not installed in {_named(parts)}"
        yield Problem(message, "slurm.fault_tolerance", Fix(f"{_named(parts)} -m pip install nvidia-resiliency-ext"))


@rule("fault-tolerance", "error", at_key=True)
def fault_tolerance_is_slurms(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """Fault tolerance works with Slurm only, and is asked for in the `slurm:` section.

    Source: the published pitfalls; a top-level section of that name is read by no recipe.
    """
    for name in ("fault_tolerance", "ft"):
        value = parts.recipe.values.get(name)
        if not value or (isinstance(value, Mapping) and value.get("enabled") is False):
            continue
        if parts.sources.method == "slurm":
            yield Problem(f"AutoModel does not read a top-level `{name}`", name, Fix("write it in the slurm section"))
        else:
            message = f"`{name}` works with Slurm only, and this is a launch by {parts.sources.method}"
            yield Problem(message, name, Fix("take it out, or launch with slurm"))


@rule("no-chdir", "error")
def working_directory(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """The training's working directory exists.

    Source: the job's script begins with going there.
    """
    seen = facts.paths.get(parts.chdir)
    if seen is not None and not seen.is_dir and not (seen.elsewhere and parts.sources.method == "slurm"):
        fix = Fix(f"make it, or give another; relative paths are taken from {parts.request.cwd}")
        yield Problem(f"there is no directory {parts.chdir}", f"{parts.sources.method}.chdir", fix)


def _named(parts: Parts) -> str:
    return parts.config.python or parts.facts.default_python


def _asked(parts: Parts) -> bool:
    python, config = parts.facts.python, parts.config
    return python is not None and not python.problem and config.command is None and not config.pre_commands


RULES = (
    python_works,
    automodel_is_there,
    torch_is_there,
    ft_launcher_is_there,
    fault_tolerance_is_slurms,
    working_directory,
)
