"""Rules of a SkyPilot launch that need no SkyPilot."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from automodel_nb.checks.rules import Problem, Rule, rule
from automodel_nb.checks.world import number
from automodel_nb.configs import SkyPilotConfig
from automodel_nb.findings import Fix, Severity
from automodel_nb.rendering.clouds import NO_AUTOSTOP, NO_SPOT, SHARED, STOPS
from automodel_nb.rendering.skypilot import autostop, cloud, is_managed, outlives_its_cluster

if TYPE_CHECKING:
    from automodel_nb.checks.facts import Facts
    from automodel_nb.planning.parts import Parts

_OFTEN = 200  # steps between two checkpoints that are many where an instance can vanish at any time
_DIR = "checkpoint.checkpoint_dir"
_EVERY = "step_scheduler.ckpt_every_steps"
_BUCKET = Fix("a bucket in `file_mounts`, and `checkpoint.checkpoint_dir` below it")


def sky_rule(code: str, severity: Severity) -> Callable[[Callable[[Parts, SkyPilotConfig, Facts], Iterator[Problem]]], Rule]:
    """A rule that is silent for other launch methods."""

    def make(find: Callable[[Parts, SkyPilotConfig, Facts], Iterator[Problem]]) -> Rule:
        def only(parts: Parts, facts: Facts) -> Iterator[Problem]:
            return find(parts, parts.config, facts) if parts.sources.method == "skypilot" else iter(())

        only.__doc__ = find.__doc__
        return rule(code, severity)(only)

    return make


@sky_rule("infra-and-cloud", "error")
def place_is_said_once(parts: Parts, config: SkyPilotConfig, facts: Facts) -> Iterator[Problem]:
    """Cloud, region and zone are said once: by `infra`, or by their own fields.

    Source: SkyPilot refuses `infra` together with them (ValueError).
    """
    for field in ("cloud", "region", "zone"):
        if config.infra is not None and getattr(config, field) is not None:
            yield Problem(f"`infra` and `{field}` say the same thing twice", f"skypilot.{field}", Fix("keep one of them"))


@sky_rule("region-without-cloud", "error")
def region_has_a_cloud(parts: Parts, config: SkyPilotConfig, facts: Facts) -> Iterator[Problem]:
    """A region or zone is said together with the cloud that it belongs to.

    Source: SkyPilot cannot tell whose region it is.
    """
    for field in ("region", "zone"):
        if config.infra is None and config.cloud is None and getattr(config, field) is not None:
            fix = Fix("add `cloud:`, such as `cloud: aws`", "skypilot.cloud")
            yield Problem(f"`{field}` needs a cloud that it belongs to", f"skypilot.{field}", fix)


@sky_rule("no-spot", "error")
def spot_exists_there(parts: Parts, config: SkyPilotConfig, facts: Facts) -> Iterator[Problem]:
    """Spot instances are asked for only where there are some.

    Source: SkyPilot's own table of what each cloud has.
    """
    if config.use_spot and (where := cloud(config)) in NO_SPOT:
        fix = Fix("take `use_spot` out", "skypilot.use_spot", "false")
        yield Problem(f"{where} has no spot instances", "skypilot.use_spot", fix)


@sky_rule("spot-unmanaged", "warning")
def preempted_jobs_come_back(parts: Parts, config: SkyPilotConfig, facts: Facts) -> Iterator[Problem]:
    """A spot job is a managed one.

    Source: SkyPilot starts only managed jobs again after a preemption.
    """
    if _spot(config) and not is_managed(config):
        message = "without `managed` nothing starts the job again when its spot instances are taken away"
        yield Problem(message, "skypilot.managed", Fix("`managed: true`", "skypilot.managed", "true"))


@sky_rule("spot-checklist", "hint")
def spot_checklist(parts: Parts, config: SkyPilotConfig, facts: Facts) -> Iterator[Problem]:
    """A spot launch says accelerators, nodes, disk size, region, setup, and the token of a model on the hub.

    Source: the published spot checklist. (Its checkpoint interval and place to resume from are rules of their own.)
    """
    if not _spot(config):
        return
    model = parts.recipe.get("model.pretrained_model_name_or_path")
    on_hub = isinstance(model, str) and re.fullmatch(r"[\w.-]+/[\w.-]+", model) is not None
    said = {
        "accelerators": config.accelerators or config.instance_type,
        "num_nodes": "num_nodes" in config.model_fields_set or None,
        "disk_size": config.disk_size,
        "region": config.region or config.zone or config.infra,
        "setup": config.setup,
        "env_vars.HF_TOKEN": parts.user_environment.get("HF_TOKEN") if on_hub else "",
    }
    if missing := [f"`{name}`" for name, value in said.items() if value is None]:
        yield Problem(f"not said, so that defaults hold: {', '.join(missing)}", "skypilot.use_spot")


@sky_rule("spot-interval", "warning")
def spot_interval(parts: Parts, config: SkyPilotConfig, facts: Facts) -> Iterator[Problem]:
    """With spot instances the recipe sets a short checkpoint interval, 200 steps at most.

    Source: the published pitfalls: a preempted job goes on from its last checkpoint.
    """
    every = number(parts, _EVERY)
    if _spot(config) and config.command is None and (every is None or every > _OFTEN):
        says = "no `ckpt_every_steps`" if every is None else f"a checkpoint every {every} steps only"
        message = f"the recipe has {says}, and spot instances can vanish at any time"
        yield Problem(
            message, _EVERY, Fix("a short interval, such as `ckpt_every_steps: 50` under `step_scheduler`", _EVERY, "50")
        )


@sky_rule("spot-checkpoints", "warning")
def spot_checkpoints_survive(parts: Parts, config: SkyPilotConfig, facts: Facts) -> Iterator[Problem]:
    """Checkpoints of a spot or managed job are on, and lie where they survive the instance.

    Source: the published pitfalls and spot checklist. A bucket in `file_mounts` at or above `checkpoint.checkpoint_dir` is such
    a place, and so is an address (`msc://…`).
    """
    if not (_spot(config) or is_managed(config)) or config.command is not None:
        return
    if parts.recipe.get("checkpoint.enabled") is False:
        message = "checkpoints are off: after a preemption there is nothing to go on from"
        yield Problem(message, "checkpoint.enabled", Fix("turn them on", "checkpoint.enabled", "true"))
    elif where := _instance_disk(parts, config):
        yield Problem(f"{where} on the instances' own disks: after a preemption there is nothing to go on from", _DIR, _BUCKET)


@sky_rule("checkpoints-apart", "warning")
def checkpoints_are_together(parts: Parts, config: SkyPilotConfig, facts: Facts) -> Iterator[Problem]:
    """The nodes of a job write one checkpoint to one place that all of them see.

    Source: each node writes its own part of a checkpoint.
    """
    where = _instance_disk(parts, config)
    if where and not is_managed(config) and not config.use_spot and config.num_nodes > 1 and cloud(config) not in SHARED:
        message = f"{where} on each node's own disk: no node has the whole of a checkpoint of {config.num_nodes} nodes"
        yield Problem(message, _DIR, _BUCKET)


@sky_rule("checkpoints-removed", "warning")
def checkpoints_outlive_the_cluster(parts: Parts, config: SkyPilotConfig, facts: Facts) -> Iterator[Problem]:
    """Checkpoints of a cluster that is removed when it is idle lie elsewhere.

    Source: a cluster's disks go with it.
    """
    where, idle = _instance_disk(parts, config), autostop(config)
    apart = config.num_nodes > 1 and cloud(config) not in SHARED
    if where and not is_managed(config) and not config.use_spot and not apart and idle is not None and idle["down"]:
        message = f"{where} on the cluster, which is removed {idle['idle_minutes']} minutes after the job's end"
        yield Problem(message, _DIR, _BUCKET)


@sky_rule("autostop-not-used", "hint")
def managed_jobs_have_no_autostop(parts: Parts, config: SkyPilotConfig, facts: Facts) -> Iterator[Problem]:
    """`autostop_minutes` and `down` are said of clusters that outlive their job.

    Source: a managed job's cluster is removed by its controller.
    """
    for name in ("autostop_minutes", "down"):
        if is_managed(config) and getattr(config, name) is not None:
            yield Problem("a managed job's cluster is removed at its end; this is not used", f"skypilot.{name}")


@sky_rule("no-autostop", "warning")
def idle_clusters_stop(parts: Parts, config: SkyPilotConfig, facts: Facts) -> Iterator[Problem]:
    """An idle cluster stops costing money by itself.

    Source: SkyPilot's own table of what each cloud can do.
    """
    if not is_managed(config) and (where := cloud(config)) in NO_AUTOSTOP:
        message = f"{where} cannot stop an idle cluster by itself: it costs money until you take it down"
        yield Problem(message, "skypilot.autostop_minutes", Fix("`%automodel_jobs` shows it with the button for that"))


@sky_rule("no-stop", "error")
def clusters_can_be_stopped(parts: Parts, config: SkyPilotConfig, facts: Facts) -> Iterator[Problem]:
    """`down: false` is said only of a cloud that can stop a cluster and keep its disks.

    Source: SkyPilot's own table of what each cloud can do.
    """
    where = cloud(config)
    if (
        not is_managed(config)
        and where not in NO_AUTOSTOP
        and config.down is False
        and where is not None
        and where not in STOPS
    ):
        fix = Fix("`down: true`", "skypilot.down", "true")
        yield Problem(f"{where} cannot stop a cluster, it can only remove it", "skypilot.down", fix)


@sky_rule("autostop", "hint")
def idle_is_said(parts: Parts, config: SkyPilotConfig, facts: Facts) -> Iterator[Problem]:
    """What becomes of the cluster when its job has ended is said before it costs money.

    Source: `autostop` of the task.
    """
    where = cloud(config)
    idle = None if is_managed(config) or where in NO_AUTOSTOP else autostop(config)
    if idle is not None and not (config.down is False and where is not None and where not in STOPS):
        what = "removed, with its disks" if idle["down"] else "stopped, its disks are kept (and cost a little)"
        message = f"{idle['idle_minutes']} minutes after its job's end the cluster is {what}"
        yield Problem(message, "skypilot.autostop_minutes", Fix("change `autostop_minutes` or `down`"))


@sky_rule("no-upload", "error")
def uploads_exist(parts: Parts, config: SkyPilotConfig, facts: Facts) -> Iterator[Problem]:
    """What is to be uploaded (`workdir`, local sources of `file_mounts`) is there.

    Source: SkyPilot stops at a path that is not there, some of them only on the nodes.
    """
    for place in facts.places:
        seen = facts.of(place)
        if place.role == "upload" and seen and not (seen.is_dir if place.field == "skypilot.workdir" else seen.exists):
            what = "directory " if place.field == "skypilot.workdir" else ""
            yield Problem(f"there is no {what}{place.path}", place.field, Fix(f"relative paths are taken from {parts.chdir}"))


@sky_rule("inherit-env", "error")
def environment_is_named(parts: Parts, config: SkyPilotConfig, facts: Facts) -> Iterator[Problem]:
    """The notebook's whole environment is not passed to another machine.

    Source: it means nothing there, and would stand in the task in clear.
    """
    if config.inherit_env:
        message = "the notebook's environment belongs to this machine"
        yield Problem(message, "skypilot.inherit_env", Fix("name the variables in `env_vars`"))


@sky_rule("not-uploaded", "error")
def the_cloud_has_the_files(parts: Parts, config: SkyPilotConfig, facts: Facts) -> Iterator[Problem]:
    """A relative path in the recipe that names a file here is uploaded, by `workdir` or `file_mounts`.

    Source: SkyPilot uploads what is asked for and nothing else; relative paths mean `workdir` there.
    """
    uploaded = {place.field for place in facts.places if place.role == "uploaded" and (seen := facts.of(place)) and seen.exists}
    for place in facts.places:
        seen = facts.of(place)
        if place.role == "here" and seen and seen.exists and place.field not in uploaded:
            message = f"`{place.written}` is a path on this machine, and will not be on the nodes"
            yield Problem(message, place.field, Fix("upload it with `workdir` or `file_mounts`, or name a bucket"))


def _spot(config: SkyPilotConfig) -> bool:
    return config.use_spot and cloud(config) not in NO_SPOT


def _instance_disk(parts: Parts, config: SkyPilotConfig) -> str:
    """``… is``, where checkpoints are written to a disk of the instances; empty where they are not."""
    directory = parts.recipe.get(_DIR)
    if config.command is not None or parts.recipe.get("checkpoint.enabled") is False or outlives_its_cluster(config, directory):
        return ""
    return f"`{directory}` is" if isinstance(directory, str) else "the job's own directory is"


RULES = (
    place_is_said_once,
    region_has_a_cloud,
    spot_exists_there,
    preempted_jobs_come_back,
    spot_checklist,
    spot_interval,
    spot_checkpoints_survive,
    checkpoints_are_together,
    checkpoints_outlive_the_cluster,
    managed_jobs_have_no_autostop,
    idle_clusters_stop,
    clusters_can_be_stopped,
    idle_is_said,
    uploads_exist,
    environment_is_named,
    the_cloud_has_the_files,
)
