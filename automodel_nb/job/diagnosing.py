"""From a job to why it failed: its logs, its end, and what its document says, given to `watching.diagnosis`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from automodel_nb.errors import LaunchError
from automodel_nb.job.record import JobRecord
from automodel_nb.watching.diagnosis import Diagnosis, Setting, diagnose_log

if TYPE_CHECKING:
    from automodel_nb.job.handle import Job


def diagnosis(job: Job) -> Diagnosis | None:
    """Why a job failed, its secrets masked; None for one that did not fail, or has not ended."""
    end = job.status.observation
    if not end.state.final or end.state.ok:
        return None
    setting = setting_of(job.record)
    found = [told for log in job.logs.values() if (told := diagnose_log(log, end, setting)) is not None]
    if not found:
        return None
    # of an array's tasks, the first that knows
    best = next((told for told in found if told.code != "unknown"), found[0])
    return replace(best, cause=job.mask(best.cause), evidence=job.mask(best.evidence), fix=job.mask(best.fix))


def setting_of(record: JobRecord) -> Setting:
    """What a job's own document says of its recipe and workers; nothing where it can no longer be read."""
    from automodel_nb.planning.sources import read

    try:
        sources = read(record.request, {})
    except LaunchError:
        return Setting(method=record.method)
    recipe: dict[str, Any] = sources.base.recipe()
    for path, value in record.request.overrides.items():
        _put(recipe, path.split("."), value)
    workers = {"slurm": "ntasks_per_node", "interactive": "nproc_per_node", "skypilot": "gpus_per_node"}[record.method]
    text = str(sources.section.get(workers) or ("8" if record.method == "slurm" else ""))
    return Setting(recipe, int(text) if text.isdigit() else None, record.method)


def _put(values: dict[str, Any], path: list[str], text: str) -> None:
    for key in path[:-1]:
        below = values.get(key)
        values[key] = dict(below) if isinstance(below, dict) else {}
        values = values[key]
    values[path[-1]] = int(text) if text.isdigit() else text
