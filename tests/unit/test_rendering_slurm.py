"""The SBATCH script as text."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from automodel_nb.rendering.slurm import pyxis_image, sbatch_options
from automodel_nb.rendering.slurm_task import Saving
from tests.conftest import require
from tests.unit.recording import config, render


def test_nothing_given_leaves_no_line() -> None:
    assert list(sbatch_options(config(), "job", Saving())) == [
        "--job-name=job",
        "--nodes=1",
        "--ntasks-per-node=1",
        "--cpus-per-task=8",
        "--gpus-per-node=8",
        "--open-mode=append",
    ]
    assert "None" not in render(config())


def test_each_option_has_its_line() -> None:
    section = config(
        nodes="2",
        ntasks_per_node="4",
        time="10:00:00",
        account="a",
        partition="p,q",
        cpus_per_task="3",
        mem="64G",
        gres="nvme:1",
        gpu_request="gres",
        gpus_per_node="h100:4",
        qos="high",
        constraint="a&b",
        reservation="r",
        nodelist="n[1-2]",
        exclude="n3",
        exclusive="yes",
        dependency="afterok:1",
        array="0-3%2",
        requeue="no",
        mail_type="END",
        mail_user="a@b",
        comment="it's #5",
        extra_sbatch={"switches": "1", "contiguous": "true", "spread-job": "false"},
    )
    assert list(sbatch_options(section, "a b", Saving("SIGTERM", 600))) == [
        '--job-name="a b"',
        "--nodes=2",
        "--ntasks-per-node=1",
        "--cpus-per-task=12",
        "--gres=gpu:h100:4,nvme:1",
        "--time=10:00:00",
        "--signal=USR1@600",
        "--account=a",
        "--partition=p,q",
        "--qos=high",
        '--constraint="a&b"',
        "--reservation=r",
        '--nodelist="n[1-2]"',
        "--exclude=n3",
        "--mem=64G",
        "--exclusive",
        "--dependency=afterok:1",
        "--array=0-3%2",
        "--no-requeue",
        "--mail-type=END",
        "--mail-user=a@b",
        '--comment="it\'s #5"',
        "--open-mode=append",
        "--switches=1",
        "--contiguous",
    ]


def test_whole_nodes_are_not_cut_to_a_number_of_cpus() -> None:
    assert not [option for option in sbatch_options(config(exclusive="yes"), "job", Saving()) if "cpus" in option]
    assert "--cpus-per-task=24" in list(sbatch_options(config(exclusive="yes", cpus_per_task="3"), "job", Saving()))


@pytest.mark.parametrize(("request_", "gpus", "lines"), [("none", "8", 0), ("gpus-per-node", "0", 0), ("gres", "2", 1)])
def test_ways_to_ask_for_gpus(request_: str, gpus: str, lines: int) -> None:
    options = list(sbatch_options(config(gpu_request=request_, gpus_per_node=gpus), "job", Saving()))
    assert len([option for option in options if "gpu" in option]) == lines


@pytest.mark.parametrize(
    ("image", "spelled"),
    [
        ("nvcr.io/nvidia/nemo:dev", "nvcr.io#nvidia/nemo:dev"),
        ("nvcr.io#nvidia/nemo:dev", "nvcr.io#nvidia/nemo:dev"),
        ("docker://nvcr.io/nvidia/nemo:dev", "docker://nvcr.io#nvidia/nemo:dev"),
        ("$oauthtoken@nvcr.io/nvidia/nemo:dev", "$oauthtoken@nvcr.io#nvidia/nemo:dev"),
        ("localhost/a:b", "localhost#a:b"),
        ("registry:5000/a", "registry:5000#a"),
        ("ubuntu:24.04", "ubuntu:24.04"),
        ("ubuntu@sha256:0abc", "ubuntu@sha256:0abc"),
        ("nvidia/cuda:12", "nvidia/cuda:12"),
        ("dockerd://image:1", "dockerd://image:1"),
        ("image.sqsh", "/w/image.sqsh"),
        ("./image.sqsh", "/w/image.sqsh"),
        ("../image", "/image"),
        ("/images/nemo.sqsh", "/images/nemo.sqsh"),
    ],
)
def test_images_in_enroots_spelling(image: str, spelled: str) -> None:
    assert pyxis_image(image, "/w") == spelled


def test_shellcheck_and_syntax() -> None:
    require(shutil.which("shellcheck"), "shellcheck is not installed: apt-get install shellcheck")
    plain = {"nodes": "2", "comment": "it's"}
    pyxis = plain | {
        "container_image": "a b",
        "extra_mounts": ["/a b"],
        "container_mount_home": "no",
        "container_workdir": "/x y",
    }
    for raw in (
        plain,
        pyxis,
        plain | {"master_port": "29500"},
        pyxis | {"mpi": "pmix", "cpus_per_task": "2", "repo_root": "~/a b"},
        pyxis | {"container_runtime": "apptainer"},
        plain | {"nsys_enabled": "true", "nsys_output": "/a b", "fault_tolerance": "true"},
    ):
        text = render(config(**raw))
        assert text.isascii()
        assert max(map(len, text.splitlines())) < 600
        subprocess.run(["bash", "-n"], input=text, text=True, check=True)
        of_a_node = text.partition("<<'TASK'\n")[2].partition("\nTASK\n")[0]
        for part in (text, of_a_node):
            checked = subprocess.run(["shellcheck", "-s", "bash", "-"], input=part, text=True, capture_output=True, check=False)
            assert not checked.stdout
