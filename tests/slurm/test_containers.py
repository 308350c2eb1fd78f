"""Containers by Pyxis: what its options are given, on a stand-in that records them and refuses as Pyxis does."""

from __future__ import annotations

from pathlib import Path

import pytest

import automodel_nb as am
from automodel_nb.errors import LaunchError
from tests.slurm.conftest import Kernel

pytestmark = pytest.mark.slurm


def test_every_option(kernel: Kernel) -> None:
    mounted = kernel.directory / "it's a data # set"
    mounted.mkdir()
    (kernel.directory / "Automodel").mkdir()
    job = kernel.launch(
        'echo "$PYTHONPATH" >"$AUTOMODEL_JOB_DIR/pythonpath"; env >"$AUTOMODEL_JOB_DIR/env.$SLURM_NODEID"',
        nodes=2,
        container_image="nvcr.io/nvidia/nemo:dev",
        container_mount_home=False,
        nemo_mount=f"{kernel.directory}/Automodel:/opt/Automodel",
        extra_mounts=[f"{mounted}:/data:ro", {"source": "../work", "dest": "/w"}, "/usr"],
        env_vars={"MSG": "a,b:c", "NCCL_DEBUG": "INFO"},
    )
    assert job.state == "COMPLETED", job.log()
    steps = kernel.lab.containers(job.scheduler_id)
    containers = [step for step in steps if "container-image" in step]
    assert sorted(step["node"] for step in containers) == ["n1", "n2"]
    work = kernel.directory / "work"
    names = containers[0].pop("container-env").split(",")
    for step in containers:
        assert step["container-image"] == "nvcr.io#nvidia/nemo:dev"
        assert step["container-workdir"] == str(work)
        assert step["no-container-mount-home"] == "1"
        assert step["container-mounts"].split(",") == [
            *(f"{path}:{path}" for path in (job.directory, work, kernel.directory / "hf")),
            f"{kernel.directory}/Automodel:/opt/Automodel",
            f"{mounted}:/data:ro",
            f"{work}:/w",
            "/usr:/usr",
        ]
    # what was set on purpose wins over the image; PATH and HOME are the image's own
    assert {"MSG", "NCCL_DEBUG", "HF_HOME", "MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "AUTOMODEL_JOB_DIR"} <= set(names)
    assert not {"PATH", "HOME", "LANG", "USER"} & set(names)
    assert (kernel.directory / "hf").is_dir()
    assert (job.directory / "pythonpath").read_text().startswith("/opt/Automodel")
    assert f"HF_HOME={kernel.directory}/hf\n" in (job.directory / "env.1").read_text()


def test_the_users_variable_wins_over_the_images(kernel: Kernel) -> None:
    kernel.lab.set_image_environment(NCCL_DEBUG="WARN", HF_HOME="/image/hf", PATH="/usr/bin:/bin")
    try:
        job = kernel.launch('echo "$NCCL_DEBUG $HF_HOME $PATH"', container_image="i", env_vars={"NCCL_DEBUG": "INFO"})
    finally:
        kernel.lab.set_image_environment()
    assert f"INFO {kernel.directory}/hf /usr/bin:/bin\n" in job.log() + "\n"


def test_a_source_that_one_node_lacks_stops_the_job_before_the_container(kernel: Kernel) -> None:
    data = kernel.directory / "node-local data"
    data.mkdir()
    (data / "set").mkdir()
    kernel.lab.in_node(2, "mount", "-t", "tmpfs", "tmpfs", str(data))
    try:
        job = kernel.launch("true", nodes=2, nodelist="n[1-2]", container_image="i", extra_mounts=[f"{data}/set:/d"])
    finally:
        kernel.lab.in_node(2, "umount", str(data))
    assert job.state == "FAILED"
    assert f"automodel_nb: mount source {data}/set does not exist on n2" in job.log()
    assert "on n1" not in job.log().replace("job ", "").split("mount source")[1]
    assert not [step for step in kernel.lab.containers(job.scheduler_id) if "container-image" in step]


def test_the_same_without_our_check_is_pyxis_own_message(kernel: Kernel) -> None:
    done = kernel.lab.run("srun", "--container-image=i", "--container-mounts=/nope:/nope", "true", check=False)
    assert "pyxis: --container-mounts: source path does not exist: /nope" in done.stderr


def test_an_image_file_of_the_working_directory(kernel: Kernel) -> None:
    Path("image.sqsh").touch()
    job = kernel.launch("true", container_image="image.sqsh")
    (container,) = [step for step in kernel.lab.containers(job.scheduler_id) if "container-image" in step]
    assert container["container-image"] == str(kernel.directory / "work/image.sqsh")


@pytest.mark.parametrize("name", ["a,b", "a:b"])
def test_directories_that_pyxis_cannot_mount(kernel: Kernel, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path(name).mkdir()
    monkeypatch.chdir(name)
    with pytest.raises(LaunchError, match="no way to write a comma or colon"):
        am.launch(kernel.text("true", container_image="i"))
    assert kernel.launch("true").state == "COMPLETED"  # without a container any name is fine
