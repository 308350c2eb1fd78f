"""Scripts of Slurm jobs, run by a real bash under an srun and a scontrol that record what they are given."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

from automodel_nb.configs import SlurmConfig, read
from automodel_nb.rendering.command import Training, torchrun
from automodel_nb.rendering.slurm import script, torchrun_options
from automodel_nb.rendering.slurm_task import Saving, profiler

SRUN = r"""#!/bin/bash
i=0; while [ -e "$RECORD/srun.$i" ]; do i=$((i + 1)); done
printf '%s\0' "$@" >"$RECORD/srun.$i"
while [ "${1#-}" != "$1" ]; do shift; done
SLURM_NODEID=0 SLURMD_NODENAME=n1 exec "$@"
"""
SCONTROL = """#!/bin/bash
[ "$2" = hostnames ] && printf 'n1.invalid\\nn2.invalid\\n' || echo "NodeName=n1 NodeAddr=10.1.2.3 NodeHostName=n1"
"""
APPTAINER = r"""#!/bin/bash
printf '%s\0' "$@" >"$RECORD/apptainer"
env -0 >"$RECORD/apptainer.env"
while [ "$1" != bash ]; do shift; done
exec "$@"
"""
PYTHON = r"""#!/bin/bash
printf '%s\0' "$@" >"$RECORD/python"
env -0 >"$RECORD/env"
exit "${EXIT_WITH:-0}"
"""


def config(**raw: Any) -> SlurmConfig:
    section, findings = read("slurm", raw)
    assert not findings, findings
    assert isinstance(section, SlurmConfig)
    return section


def render(section: SlurmConfig, *, name: str = "job", chdir: str = "/w", overrides: tuple[str, ...] = ()) -> str:
    training = Training(overrides=overrides, shell=section.command)
    command = torchrun(training, torchrun_options(section), before_worker=profiler(section))
    return script(section, command, name=name, chdir=chdir, environment=["HF_HOME", "MSG"], saving=Saving())


class Run:
    """One run of a script under recording commands, in a directory of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name, text in {"srun": SRUN, "scontrol": SCONTROL, "python": PYTHON, "apptainer": APPTAINER}.items():
            path = root / "bin" / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            path.chmod(0o755)

    def __call__(self, text: str, *, job_dir: str = "job", chdir: str = "work", **env: str) -> subprocess.CompletedProcess[str]:
        for old in ("record", "places"):
            shutil.rmtree(self.root / old, ignore_errors=True)
        self.job_dir, self.chdir = self.root / "places" / "j" / job_dir, self.root / "places" / "w" / chdir
        (self.root / "record").mkdir()
        self.job_dir.mkdir(parents=True)
        self.chdir.mkdir(parents=True)
        return subprocess.run(
            ["bash", "-s"],
            input=text,
            text=True,
            capture_output=True,
            timeout=30,
            cwd=self.chdir,
            env={
                "PATH": f"{self.root}/bin:/usr/bin:/bin",
                "LC_ALL": "C.UTF-8",
                "RECORD": str(self.root / "record"),
                "AUTOMODEL_JOB_DIR": str(self.job_dir),
                "HF_HOME": str(self.root / "places" / "hf"),
                "SLURM_JOB_ID": "7",
                "SLURM_JOB_NODELIST": "n[1-2]",
                "SLURM_NNODES": "2",
                "SLURMD_NODENAME": "n1",
                **env,
            },
        )

    def words(self, name: str) -> list[str]:
        return (self.root / "record" / name).read_bytes().decode().split("\0")[:-1]

    @property
    def env(self) -> dict[str, str]:
        return dict(pair.split("=", 1) for pair in self.words("env") if "=" in pair)

    def srun(self, call: int) -> dict[str, str]:
        """The options of one call of srun."""
        words = self.words(f"srun.{call}")
        return {name: value for name, _, value in (word.partition("=") for word in words[: words.index("bash")])}
