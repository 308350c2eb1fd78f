"""Launcher sections as typed values: `read` for a launch, `fields` for the form and the documentation."""

from automodel_nb.configs.base import LauncherConfig
from automodel_nb.configs.fields import FieldDoc, fields
from automodel_nb.configs.interactive import InteractiveConfig
from automodel_nb.configs.mounts import VolumeMapping
from automodel_nb.configs.reading import CONFIGS, read
from automodel_nb.configs.skypilot import SkyPilotConfig
from automodel_nb.configs.slurm import FaultTolerance, SlurmConfig
from automodel_nb.configs.values import WallTime

__all__ = [
    "CONFIGS",
    "FaultTolerance",
    "FieldDoc",
    "InteractiveConfig",
    "LauncherConfig",
    "SkyPilotConfig",
    "SlurmConfig",
    "VolumeMapping",
    "WallTime",
    "fields",
    "read",
]
