"""Rules of a SkyPilot launch that need no SkyPilot."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from automodel_nb.configs import SkyPilotConfig
from automodel_nb.findings import Finding, Fix
from automodel_nb.rendering.clouds import NO_AUTOSTOP, NO_SPOT, STOPS
from automodel_nb.rendering.skypilot import REMOTE_DIR, autostop, cloud, is_managed
from automodel_nb.rendering.slurm import absolute

if TYPE_CHECKING:
    from automodel_nb.planning.parts import Parts

#: Infrastructures whose nodes share a file system, so that any absolute path may well outlive a cluster.
_SHARED = frozenset({"slurm", "kubernetes", "k8s", "ssh"})
_OFTEN = 500  # steps between two checkpoints that are many where an instance can vanish at any time


def place(parts: Parts) -> list[Finding]:
    """Cloud, region and zone are said once, and together."""
    config = parts.config
    found = []
    for field in ("cloud", "region", "zone"):
        if config.infra is not None and getattr(config, field) is not None:
            message = f"`infra` and `{field}` say the same thing twice"
            found.append(parts.finding("infra-and-cloud", "error", message, f"skypilot.{field}", Fix("keep one of them")))
        elif config.infra is None and config.cloud is None and field != "cloud" and getattr(config, field) is not None:
            fix = Fix("add `cloud:`, such as `cloud: aws`", "skypilot.cloud")
            message = f"`{field}` needs a cloud that it belongs to"
            found.append(parts.finding("region-without-cloud", "error", message, f"skypilot.{field}", fix))
    return found


def spot(parts: Parts) -> list[Finding]:
    """Spot instances exist there, something starts the job again, and the published checklist is kept."""
    config: SkyPilotConfig = parts.config
    if not config.use_spot:
        return []
    where = cloud(config)
    if where in NO_SPOT:
        fix = Fix("take `use_spot` out", "skypilot.use_spot", "false")
        return [parts.finding("no-spot", "error", f"{where} has no spot instances", "skypilot.use_spot", fix)]
    found = []
    if not is_managed(config):
        message = "without `managed` nothing starts the job again when its spot instances are taken away"
        fix = Fix("`managed: true`", "skypilot.managed", "true")
        found.append(parts.finding("spot-unmanaged", "warning", message, "skypilot.managed", fix))
    fields = {"accelerators": config.accelerators or config.instance_type, "disk_size": config.disk_size,
              "region": config.region or config.infra, "setup": config.setup}  # fmt: skip
    if missing := [f"`{name}`" for name, value in fields.items() if value is None]:
        message = f"not said, so that SkyPilot's or our defaults hold: {', '.join(missing)}"
        found.append(parts.finding("spot-checklist", "hint", message, "skypilot.use_spot"))
    interval = _number(parts.recipe.get("step_scheduler.ckpt_every_steps"))
    if config.command is None and (interval is None or interval > _OFTEN):
        says = "no `ckpt_every_steps`" if interval is None else f"a checkpoint every {interval} steps only"
        message = f"the recipe has {says}, and spot instances can vanish at any time"
        fix = Fix("a short interval, such as `ckpt_every_steps: 50` under `step_scheduler`")
        found.append(parts.finding("spot-interval", "warning", message, "step_scheduler.ckpt_every_steps", fix))
    return found


def checkpoints_survive(parts: Parts) -> list[Finding]:
    """Checkpoints lie where they outlive the cluster, and where every node sees them."""
    config: SkyPilotConfig = parts.config
    directory = parts.recipe.get("checkpoint.checkpoint_dir")
    if config.command is not None or parts.recipe.get("checkpoint.enabled") is False or _durable(config, directory):
        return []
    where = f"`{directory}` is" if isinstance(directory, str) else "the job's own directory is"
    fix = Fix("a bucket in `file_mounts`, and `checkpoint.checkpoint_dir` below it")
    field = "checkpoint.checkpoint_dir"
    if config.use_spot or is_managed(config):
        message = f"{where} on the instances' own disks: after a preemption there is nothing to go on from"
        return [parts.finding("spot-checkpoints", "warning", message, field, fix)]
    if config.num_nodes > 1 and cloud(config) not in _SHARED:
        message = f"{where} on each node's own disk: no node has the whole of a checkpoint of {config.num_nodes} nodes"
        return [parts.finding("checkpoints-apart", "warning", message, field, fix)]
    idle = autostop(config)
    if idle is not None and idle["down"]:
        message = f"{where} on the cluster, which is removed {idle['idle_minutes']} minutes after the job's end"
        return [parts.finding("checkpoints-removed", "warning", message, field, fix)]
    return []


def idle_clusters(parts: Parts) -> list[Finding]:
    """What becomes of the cluster when its job has ended is said before it costs money."""
    config: SkyPilotConfig = parts.config
    where = cloud(config)
    if is_managed(config):
        given = [name for name in ("autostop_minutes", "down") if getattr(config, name) is not None]
        message = "a managed job's cluster is removed at its end; this is not used"
        return [parts.finding("autostop-not-used", "hint", message, f"skypilot.{name}") for name in given]
    if where in NO_AUTOSTOP:
        message = f"{where} cannot stop an idle cluster by itself: it costs money until you take it down"
        fix = Fix("`%automodel_jobs` shows it with the button for that")
        return [parts.finding("no-autostop", "warning", message, "skypilot.autostop_minutes", fix)]
    if config.down is False and where is not None and where not in STOPS:
        message = f"{where} cannot stop a cluster, it can only remove it"
        return [parts.finding("no-stop", "error", message, "skypilot.down", Fix("`down: true`", "skypilot.down", "true"))]
    idle = autostop(config)
    assert idle is not None
    what = "removed, with its disks" if idle["down"] else "stopped, its disks are kept (and cost a little)"
    message = f"{idle['idle_minutes']} minutes after its job's end the cluster is {what}"
    return [parts.finding("autostop", "hint", message, "skypilot.autostop_minutes", Fix("change `autostop_minutes` or `down`"))]


def local_files(parts: Parts) -> list[Finding]:
    """What is to be uploaded is there."""
    config: SkyPilotConfig = parts.config
    found = []
    if config.workdir is not None and not os.path.isdir(path := absolute(config.workdir, parts.chdir)):
        fix = Fix(f"relative paths are taken from {parts.chdir}")
        found.append(parts.finding("no-workdir", "error", f"there is no directory {path}", "skypilot.workdir", fix))
    for target, source in config.file_mounts.items():
        local = source if isinstance(source, str) else source.get("source")
        if local is None or "://" in local or os.path.exists(path := absolute(local, parts.chdir)):
            continue
        fix = Fix(f"relative paths are taken from {parts.chdir}")
        found.append(parts.finding("no-mount-source", "error", f"there is no {path}", f"skypilot.file_mounts.{target}", fix))
    return found


def inherited(parts: Parts) -> list[Finding]:
    """The notebook's environment means nothing on another machine, and would stand in the task in clear."""
    if not parts.config.inherit_env:
        return []
    message = "the notebook's environment belongs to this machine"
    fix = Fix("name the variables in `env_vars`")
    return [parts.finding("inherit-env", "error", message, "skypilot.inherit_env", fix)]


def recipe_paths(parts: Parts) -> list[Finding]:
    """A relative path in the recipe that names a file here would name nothing on the nodes."""
    config: SkyPilotConfig = parts.config
    if config.command is not None:
        return []
    uploaded = absolute(config.workdir, parts.chdir) if config.workdir is not None else None
    found = []
    for path, value in _texts(parts.recipe.values):
        if os.path.isabs(value) or value.startswith("~") or not ("/" in value or "." in value):
            continue
        here = os.path.join(parts.chdir, value)
        if not os.path.exists(here) or (uploaded is not None and os.path.exists(os.path.join(uploaded, value))):
            continue
        message = f"`{value}` is a path on this machine, and will not be on the nodes"
        fix = Fix("upload it with `workdir` or `file_mounts`, or name a bucket")
        found.append(parts.finding("not-uploaded", "error", message, path, fix))
    return found


def _durable(config: SkyPilotConfig, directory: Any) -> bool:
    if not isinstance(directory, str):
        return False
    for target, source in config.file_mounts.items():
        remote = "://" in source if isinstance(source, str) else True
        below = directory == target or directory.startswith(target.rstrip("/") + "/")
        if remote and below:
            return True
    return cloud(config) in _SHARED and directory.startswith("/") and not directory.startswith(REMOTE_DIR)


def _texts(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in values.items():
        path = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from _texts(value, f"{path}.")
        elif isinstance(value, str) and key != "_target_" and "\n" not in value and not path.startswith("checkpoint."):
            yield path, value


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def only(rule: Any) -> Any:
    """A rule that is silent for other launch methods."""

    def check(parts: Parts) -> list[Finding]:
        return rule(parts) if parts.sources.method == "skypilot" else []

    return check


RULES = tuple(map(only, (place, spot, checkpoints_survive, idle_clusters, local_files, inherited, recipe_paths)))
