"""The real AutoModel on two nodes, through the magic; two trainings on one node; names that do not resolve."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import automodel_nb as am
from tests.automodel.real import AIDS, environment, losses, make_tiny, recipe_text, run
from tests.conftest import require
from tests.notebooks.kernel import Kernel as Notebook
from tests.notebooks.kernel import kernel as notebook_kernel
from tests.slurm.conftest import Kernel
from tests.slurm.lab import SlurmLab

pytestmark = [pytest.mark.slurm, pytest.mark.automodel, pytest.mark.timeout(600)]

SECTION = """
slurm:
  job_name: tiny on two nodes
  nodes: 2
  ntasks_per_node: 2
  time: "20"
  gpu_request: none
  gpus_per_node: 0
  env_vars:
    TOKEN: "${CANARY}"
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("nemo_automodel", reason="AutoModel is not installed; `make test` installs it")
    place = tmp_path_factory.mktemp("notebook")
    (place / "tiny").symlink_to(make_tiny())
    return place


@pytest.fixture(scope="module")
def notebook(slurm_lab: SlurmLab, place: Path) -> Iterator[Notebook]:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "SBATCH_"))}
    env |= {
        "SLURM_CONF": slurm_lab.env["SLURM_CONF"],
        "AUTOMODEL_NB_HOME": str(place / "home"),
        "PYTHONPATH": str(AIDS),
        "IPYTHONDIR": str(place / "ipython"),
        "CANARY": "canary-5pLw9XzQ",
    }
    with notebook_kernel(env, place) as one:
        yield one


RECIPE = {"max_steps": 8, "val_every_steps": 4, "ckpt_every_steps": 4, "local_batch_size": 2}


def test_two_nodes_train_as_one_process_does(notebook: Notebook, place: Path, slurm_lab: SlurmLab) -> None:
    notebook.ok("%load_ext automodel_nb")
    shown = notebook.ok(f"%%automodel_launch slurm --as job\n{recipe_text(**RECIPE)}{SECTION}")
    assert "tiny on two nodes" in shown.text
    notebook.ok("state = job.wait(500)", timeout=520)
    log = notebook.value("job.log()")
    assert notebook.value("str(job.state)") == "COMPLETED", log
    assert "World size: 4" in log
    assert notebook.value("job.status.observation.nodes") == ("n1", "n2")
    trained = losses(log)
    assert [step for step, _ in trained] == list(range(8))
    assert notebook.value("job.checkpoint.name") == "epoch_0_step_7"
    assert "canary-5pLw9XzQ" not in log

    (place / "alone.yaml").write_text(recipe_text(**RECIPE))
    alone = run(["-m", "nemo_automodel.cli.app", "alone.yaml", "--checkpoint.checkpoint_dir=alone"], place, environment())
    assert alone.returncode == 0, alone.stdout
    for (step, loss), (_, expected) in zip(trained, losses(alone.stdout), strict=True):
        assert abs(loss - expected) <= 1.1e-4, f"step {step}"


ALLREDUCE = r"""
import os, sys, time, torch, torch.distributed as dist
dist.init_process_group("gloo")
value = torch.ones(1)
dist.all_reduce(value)
sys.stdout.write(f"sum {int(value)} rank {dist.get_rank()} of {dist.get_world_size()}\n")
if dist.get_rank() == 0:
    open(sys.argv[1] + ".up", "w").close()
while not os.path.exists(sys.argv[2] + ".up"):
    time.sleep(0.1)
dist.destroy_process_group()
"""


def torchrun(script: Path, *arguments: str) -> str:
    """A user's own command, with the same rendezvous as AutoModel's."""
    from automodel_nb.configs import SlurmConfig
    from automodel_nb.rendering.shell import join
    from automodel_nb.rendering.slurm import torchrun_options

    options = torchrun_options(SlurmConfig.model_validate({"nodes": "2", "ntasks_per_node": "2"}))
    return join([sys.executable, "-m", "torch.distributed.run", *options, str(script), *arguments])


def test_two_jobs_share_their_nodes(kernel: Kernel) -> None:
    """Each waits for the other, so that both train at the same time on the same two nodes."""
    script = kernel.directory / "allreduce.py"
    script.write_text(ALLREDUCE)
    pair = ("a", "b")
    jobs = [
        kernel.launch(
            torchrun(script, f"{kernel.directory}/{me}", f"{kernel.directory}/{other}"),
            wait=False,
            nodes=2,
            ntasks_per_node=2,
            nodelist="n[1-2]",
            env_vars={"OMP_NUM_THREADS": "1"},
        )
        for me, other in (pair, pair[::-1])
    ]
    for job in jobs:
        assert job.wait(200) == "COMPLETED", job.log()
        assert sorted(line.split(" rank")[0] for line in job.log().splitlines() if line.startswith("sum")) == ["sum 4"] * 4
    ports = {job.log().split("rendezvous at n1:")[1].split("\n")[0] for job in jobs}
    assert len(ports) == 2


def test_a_dead_worker_ends_the_whole_job(kernel: Kernel) -> None:
    script = kernel.directory / "die.py"
    script.write_text("import os, sys, time\nif os.environ['RANK'] == '3': sys.exit(7)\ntime.sleep(300)\n")
    started = time.monotonic()
    job = kernel.launch(torchrun(script), nodes=2, ntasks_per_node=2)
    assert job.state == "FAILED"
    assert time.monotonic() - started < 90
    assert "exitcode  : 7" in job.log()


def test_names_that_do_not_resolve(kernel: Kernel) -> None:
    """As on clusters whose node names are in no name service: the address is taken, and the workers meet there."""
    script = kernel.directory / "allreduce.py"
    script.write_text(ALLREDUCE)
    hosts = kernel.directory / "hosts"
    hosts.write_text("127.0.0.1 localhost\n")
    for node in (1, 2):
        kernel.lab.in_node(node, "mount", "--bind", str(hosts), "/etc/hosts")
    try:
        job = kernel.launch(
            torchrun(script, f"{kernel.directory}/x", f"{kernel.directory}/x"),
            nodes=2,
            ntasks_per_node=2,
            nodelist="n[1-2]",
            env_vars={"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "eth0"},  # gloo, too, asks for the host name,
        )
    finally:
        for node in (1, 2):
            kernel.lab.in_node(node, "umount", "/etc/hosts")
    assert job.state == "COMPLETED", job.log()
    assert "rendezvous at 10.213." in job.log()


def test_the_script_is_the_preview(kernel: Kernel) -> None:
    plan = am.preview(kernel.text("true"))
    again = am.preview(kernel.text("true"))
    assert plan.files == again.files
    job = am.launch(plan)
    assert job.paths.sbatch.read_text() == plan.files["launch.sbatch"]
    kept = subprocess.run(
        ["scontrol", "write", "batch_script", job.scheduler_id, "-"], capture_output=True, text=True, check=True
    ).stdout
    assert kept.strip() == plan.files["launch.sbatch"].strip()


def test_modules_and_a_virtual_environment(kernel: Kernel, place: Path) -> None:
    """Bare metal: a module of the site is loaded, an environment is activated, and its `python` trains."""
    modules = Path("/usr/share/modules/init/bash")
    require(modules.exists(), "environment-modules is not installed: apt-get install environment-modules")
    own = kernel.directory / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(own)], check=True)
    site = next(path for path in sys.path if path.endswith("site-packages"))
    next(own.glob("lib/python*/site-packages")).joinpath("other.pth").write_text(site)
    (kernel.directory / "modulefiles").mkdir()
    (kernel.directory / "modulefiles/site").write_text("#%Module1.0\nsetenv FROM_A_MODULE yes\n")
    Path("tiny").symlink_to(make_tiny())
    commands = [
        f"source {modules}",
        f"module use {kernel.directory}/modulefiles",
        "module load site",
        f"source {own}/bin/activate",
    ]
    commands.append('echo "$FROM_A_MODULE, $(command -v python)"')
    section = kernel.text(python="python", pre_commands=commands, gpus_per_node="0")
    job = am.launch(section + recipe_text(max_steps=2, val_every_steps=100, ckpt_every_steps=100))
    assert job.wait(200) == "COMPLETED", job.log()
    assert f"yes, {own}/bin/python" in job.log()
    assert [step for step, _ in losses(job.log())] == [0, 1]
