"""Launch NVIDIA NeMo AutoModel training from a notebook: on this node, on Slurm, on any cloud.

    %load_ext automodel_nb
    %%automodel_launch slurm
    slurm: {nodes: 2, account: my_account}
    recipe: TrainFinetuneRecipeForNextTokenPrediction
    ...

Importing this package loads nothing heavy: each name below is fetched when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from automodel_nb.api import attach as attach
    from automodel_nb.api import doctor as doctor
    from automodel_nb.api import jobs as jobs
    from automodel_nb.api import launch as launch
    from automodel_nb.api import preview as preview
    from automodel_nb.api import template as template
    from automodel_nb.errors import AutomodelError as AutomodelError
    from automodel_nb.errors import JobError as JobError
    from automodel_nb.errors import JobFailedError as JobFailedError
    from automodel_nb.errors import LaunchError as LaunchError
    from automodel_nb.findings import Finding as Finding
    from automodel_nb.job.handle import Job as Job
    from automodel_nb.plan import Plan as Plan
    from automodel_nb.states import JobState as JobState
    from automodel_nb.widgets.form.view import form as form

_HOME = {
    "attach": "api",
    "form": "widgets.form.view",
    "doctor": "api",
    "jobs": "api",
    "launch": "api",
    "preview": "api",
    "template": "api",
    "AutomodelError": "errors",
    "JobError": "errors",
    "JobFailedError": "errors",
    "LaunchError": "errors",
    "Finding": "findings",
    "Job": "job.handle",
    "Plan": "plan",
    "JobState": "states",
}

__all__ = [*_HOME, "__version__", "load_ipython_extension"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


def load_ipython_extension(ipython: Any) -> None:
    """Register the magics: ``%load_ext automodel_nb``."""
    from automodel_nb.magics import load_ipython_extension as load

    load(ipython)
