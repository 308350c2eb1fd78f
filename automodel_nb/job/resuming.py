"""A job launched again, from where the earlier one saved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from automodel_nb.errors import JobError
from automodel_nb.job.launching import submit
from automodel_nb.job.record import JobRecord
from automodel_nb.job.store import JobStore
from automodel_nb.planning import make_plan
from automodel_nb.rendering.skypilot import outlives_its_cluster


def resume(record: JobRecord, store: JobStore, overrides: Mapping[str, str]) -> JobRecord:
    """Launch a job again from its newest complete checkpoint.

    A bucket is not read from here: AutoModel, launched again, goes on from the newest checkpoint in its directory by itself.

    Args:
        record: of a job that has ended.
        store: where the new record is kept.
        overrides: further ``--set`` values.

    Raises:
        JobError: there is nothing to go on from.
        LaunchError: it cannot be launched again; nothing was.
    """
    given = {**record.request.overrides, **overrides}
    newest = record.checkpoint(anew=True)
    if newest is not None:
        given["checkpoint.restore_from"] = str(newest)
    elif record.method != "skypilot":
        raise JobError(f"{record.id} has no complete checkpoint in {record.checkpoint_dir}")
    plan = make_plan(replace(record.request, overrides=given), yaml=record.yaml)
    config: Any = plan.config
    if newest is None and not plan.errors and not outlives_its_cluster(config, plan.recipe_checkpoint_dir):
        raise JobError(
            f"{record.id} kept its checkpoints on its cluster's own disks, so that there is nothing to go on from; "
            "`checkpoint.checkpoint_dir` below a bucket of `file_mounts` outlives a cluster"
        )
    return submit(plan, store, resumed_from=record.id)
