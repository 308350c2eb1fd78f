"""Launch methods: one module a method behind one protocol (`base.Launcher`)."""

from __future__ import annotations

from automodel_nb.launchers.base import JobRef, Launcher, Stop, Submission

__all__ = ["JobRef", "Launcher", "Stop", "Submission", "launcher"]


def launcher(method: str) -> Launcher:
    """The launcher of a method. Imported when used: SkyPilot's client alone takes seconds."""
    if method == "interactive":
        from automodel_nb.launchers.interactive import InteractiveLauncher

        return InteractiveLauncher()
    if method == "slurm":
        from automodel_nb.launchers.slurm import SlurmLauncher

        return SlurmLauncher()
    if method == "skypilot":
        from automodel_nb.launchers.skypilot import SkyPilotLauncher

        return SkyPilotLauncher()
    raise ValueError(f"no launch method {method!r}")
