"""The lab itself: it is a cluster, two fit on one machine, and nothing stays behind."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from tests.slurm.lab import SlurmLab

pytestmark = pytest.mark.slurm


def test_four_nodes_with_gpus(slurm_lab: SlurmLab, tmp_path: Path) -> None:
    out = tmp_path / "out"
    job = slurm_lab.sbatch(
        "#!/bin/bash\nsrun bash -c 'echo $(hostname) $CUDA_VISIBLE_DEVICES'\n", "-N4", "--gpus-per-node=3", f"--output={out}"
    )
    assert slurm_lab.wait(job)["JobState"] == "COMPLETED"
    assert sorted(out.read_text().split("\n")[:-1]) == [f"n{n} 0,1,2" for n in (1, 2, 3, 4)]


def test_container_options_are_recorded_and_a_missing_source_is_refused(slurm_lab: SlurmLab, tmp_path: Path) -> None:
    out = tmp_path / "out"
    job = slurm_lab.sbatch(
        "#!/bin/bash\nsrun --container-image=nvcr.io#nvidia/nemo:dev --container-mounts='/tmp:/it is' true\n"
        "srun --container-image=x --container-mounts=/nope:/nope true\n",
        f"--output={out}",
    )
    assert slurm_lab.wait(job)["JobState"] == "FAILED"
    assert "pyxis: --container-mounts: source path does not exist: /nope" in out.read_text()
    (batch, first, second) = slurm_lab.containers(job)
    assert "container-image" not in batch
    assert (first["container-image"], first["container-mounts"]) == ("nvcr.io#nvidia/nemo:dev", "/tmp:/it is")
    assert second["node"] == "n1"


def test_image_environment_needs_container_env(slurm_lab: SlurmLab, tmp_path: Path) -> None:
    out = tmp_path / "out"
    slurm_lab.set_image_environment(NCCL_DEBUG="WARN", OTHER="image")
    job = slurm_lab.sbatch(
        "#!/bin/bash\nexport NCCL_DEBUG=INFO OTHER=job\n"
        "srun --container-image=x --container-env=NCCL_DEBUG bash -c 'echo $NCCL_DEBUG $OTHER'\n",
        f"--output={out}",
    )
    slurm_lab.wait(job)
    slurm_lab.set_image_environment()
    assert out.read_text() == "INFO image\n"


def test_controller_stops_and_comes_back(slurm_lab: SlurmLab) -> None:
    job = slurm_lab.sbatch("#!/bin/bash\nsleep 1\n")
    slurm_lab.stop_controller()
    assert slurm_lab.run("squeue", check=False).returncode == 1
    slurm_lab.start_controller()
    assert slurm_lab.wait(job)["JobState"] == "COMPLETED"


def test_two_labs_at_once_and_nothing_left(slurm_lab: SlurmLab) -> None:
    with SlurmLab(nodes=1) as other:
        assert other.number != slurm_lab.number
        assert other.run("srun", "hostname").stdout == "n1\n"
        assert slurm_lab.run("srun", "hostname").stdout == "n1\n"
        root, bridge = other.root, f"amslab{other.number}"
    assert not root.exists()
    assert bridge not in subprocess.run(["ip", "-br", "link"], capture_output=True, text=True, check=True).stdout
    assert not [p for p in Path("/proc").glob("[0-9]*/cmdline") if str(root).encode() in p.read_bytes()]
    assert str(root) not in Path("/proc/mounts").read_text()


def test_accounting(slurm_lab_accounting: SlurmLab) -> None:
    job = slurm_lab_accounting.sbatch("#!/bin/bash\nexit 3\n")
    slurm_lab_accounting.wait(job)
    rows = ""
    for _ in range(100):  # slurmctld tells slurmdbd a moment later
        rows = slurm_lab_accounting.run("sacct", "-nPX", "-j", str(job), "-o", "State,ExitCode").stdout
        if rows == "FAILED|3:0\n":
            return
        time.sleep(0.1)
    pytest.fail(rows)


def test_accounting_refuses(slurm_lab_accounting: SlurmLab) -> None:
    refused = slurm_lab_accounting.run("sbatch", "--account=nosuch", "--wrap=true", check=False)
    assert "Invalid account" in refused.stderr
