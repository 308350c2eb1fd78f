"""The `skypilot:` section."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator

from automodel_nb.configs.base import LauncherConfig, setting
from automodel_nb.configs.values import Count, Flag, Shell, Text, matching, one_line, refuse, scalar, whole

#: Files to put on the nodes: path there to a local path, a bucket's URL, or SkyPilot's own storage mapping.
FileMounts = dict[str, str | dict[str, str]]

_accelerators = matching(r"[A-Za-z][\w.-]*(:[0-9]+(\.[0-9]+)?)?", "an accelerator, such as H100:8 or A100-80GB:4")


def _accelerator(value: Any) -> str:
    """``H100:8``, or the mapping ``{H100: 8}``."""
    if isinstance(value, dict):
        if len(value) != 1:
            raise refuse("one accelerator is expected, such as H100:8")
        ((name, count),) = value.items()
        return _accelerators(f"{name}:{scalar(count)}")
    return _accelerators(value)


def _file_mounts(value: Any) -> FileMounts:
    if not isinstance(value, dict):
        raise refuse("a mapping is expected, such as `/data: s3://bucket/data`, one path a line")
    mounts: FileMounts = {}
    for path, source in value.items():
        if isinstance(source, dict):
            mounts[str(path)] = {str(key): one_line(text) for key, text in source.items()}
        elif source is None:
            raise refuse(f"{path} has no source")
        else:
            mounts[str(path)] = one_line(source)
    return mounts


class SkyPilotConfig(LauncherConfig):
    """A SkyPilot task, on any cloud that the installed SkyPilot knows."""

    cloud: Text | None = setting(None, "Cloud; any enabled one by default.", "most needed", example="aws")
    infra: Text | None = setting(
        None,
        "Cloud, region and zone in SkyPilot's own spelling, in place of the three fields.",
        "most needed",
        example="aws/us-east-1",
    )
    accelerators: Annotated[str, BeforeValidator(_accelerator)] | None = setting(
        None, "GPUs of each node.", "most needed", example="H100:8"
    )
    num_nodes: Count = setting(1, "Nodes.", "most needed", unit="nodes", example="2")
    use_spot: Flag = setting(False, "Cheaper instances that can be taken away at any time.", "most needed")
    disk_size: Count | None = setting(None, "Disk of each node.", "resources", unit="GB", example="200")
    region: Text | None = setting(None, "Region.", "most needed", example="us-east-1")
    zone: Text | None = setting(None, "Zone.", "resources", example="us-east-1a")
    instance_type: Text | None = setting(
        None, "Instance type; found from the accelerators by default.", "resources", example="p5.48xlarge"
    )
    gpus_per_node: Count | None = setting(
        None,
        "Training processes on each node; the number of accelerators by default.",
        "resources",
        unit="processes",
        example="8",
    )
    setup: Shell | None = setting(
        None,
        "Shell commands run once on each node before training; by default they install AutoModel, a given text replaces that.",
        "environment",
        example="pip install nemo-automodel",
    )
    workdir: Text | None = setting(
        None, "Local directory to upload; becomes the working directory.", "environment", example="."
    )
    file_mounts: Annotated[FileMounts, BeforeValidator(_file_mounts)] = setting(
        {},
        "Files and buckets to have on the nodes: path there, and where from.",
        "environment",
        example="/data: s3://bucket/data",
    )
    managed: Flag | None = setting(
        None, "A managed job, which SkyPilot starts again after a preemption; by default where spot is used.", "scheduling"
    )
    autostop_minutes: Annotated[int, BeforeValidator(whole(0))] | None = setting(
        None, "Idle time after which the cluster stops costing money.", "scheduling", unit="minutes", example="10"
    )
    down: Flag | None = setting(
        None, "Whether the cluster is removed (true) or only stopped (false) when it is idle.", "scheduling"
    )
