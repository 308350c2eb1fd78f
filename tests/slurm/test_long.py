"""The real AutoModel under a real time limit and a real preemption: it saves, it says so, and no step is lost."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import automodel_nb as am
from automodel_nb import cpu
from automodel_nb.job.handle import Job
from automodel_nb.showing import card_data
from tests.automodel.real import AIDS, environment, losses, make_tiny, recipe_text, run
from tests.conftest import require
from tests.slurm.conftest import Kernel
from tests.slurm.lab import SlurmLab

pytestmark = [pytest.mark.slurm, pytest.mark.automodel, pytest.mark.timeout(900)]

STEPS = 60
RECIPE = {"max_steps": STEPS, "num_epochs": 9, "val_every_steps": 1000, "ckpt_every_steps": 1000}
#: Seconds that saving is slowed down by: torchrun, told to stop, would have killed its workers after 30.
SAVING = [pytest.param(5, id="saving takes 5 s"), pytest.param(60, id="saving takes 60 s", marks=pytest.mark.soak)]
Losses = list[tuple[int, float]]


def document(kernel: Kernel, saving: float = 0, step: float = 1, **fields: object) -> str:
    """Two nodes, one process each; a step and saving take so many seconds longer."""
    aids = {"AM_STEP_SLEEP": str(step), "AM_SAVE_SLEEP": str(saving), "PYTHONPATH": f"{cpu.PATH}:{AIDS}"}
    section = {"gpus_per_node": "0", "nodes": 2, "nodelist": "n[1-2]", "env_vars": {**aids, "OMP_NUM_THREADS": "1"}, **fields}
    return kernel.text(**section) + recipe_text(**RECIPE)


def written(directory: Path) -> Losses:
    """(step, loss) of every step as AutoModel writes it down, with all digits."""
    entries = map(json.loads, (directory / "training.jsonl").read_text().splitlines())
    return [(entry["step"], entry["loss"]) for entry in entries]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Losses:
    """The losses of a run that nothing interrupts."""
    pytest.importorskip("nemo_automodel", reason="AutoModel is not installed; `make test` installs it")
    place = tmp_path_factory.mktemp("whole")
    (place / "recipe.yaml").write_text(recipe_text(make_tiny(), **RECIPE))
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "-m", "nemo_automodel.cli.app"]
    done = run([*torchrun, "recipe.yaml", "--checkpoint.checkpoint_dir=out"], place, environment(2))
    assert done.returncode == 0, done.stdout
    return written(place / "out")


def compare(parts: Losses, whole: Losses) -> None:
    assert [step for step, _ in parts] == [step for step, _ in whole] == list(range(STEPS))
    assert max(abs(loss - expected) for (_, loss), (_, expected) in zip(parts, whole, strict=True)) <= 1e-6


def until(condition: Callable[[], object], seconds: float, job: Job) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, job.log()
        time.sleep(0.3)


@pytest.mark.parametrize("saving", SAVING)
def test_the_time_limit(kernel: Kernel, whole: Losses, saving: int) -> None:
    """Told to save before the limit, it does; resumed on other nodes it goes on with the next step."""
    Path("tiny").symlink_to(make_tiny())
    limit, signal = ("2", 60) if saving < 60 else ("4", 180)
    job = am.launch(document(kernel, saving, time=limit, signal=signal))
    assert job.wait(400) == "TIMEOUT", job.log()
    first = written(job.directory / "checkpoints")
    last = first[-1][0]
    assert 0 < last < STEPS - 1
    assert (job.reason, job.reason_code) == (f"the time limit was near: saved at step {last}", "saved_at_time_limit")
    assert job.checkpoint is not None
    assert job.checkpoint.name.endswith(f"_step_{last}")
    fast = {f"slurm.env_vars.AM_{what}_SLEEP": "0" for what in ("STEP", "SAVE")}
    resumed = job.resume({**fast, "slurm.nodelist": "n[3-4]", "slurm.time": "10", "slurm.signal": "0"})
    assert resumed.wait(300) == "COMPLETED", resumed.log()
    assert resumed.status.observation.nodes == ("n3", "n4")
    compare(first + written(resumed.directory / "checkpoints"), whole)


@pytest.mark.parametrize("saving", SAVING)
def test_a_preemption(
    slurm_lab_accounting: SlurmLab, whole: Losses, saving: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Preempted, it saves within the grace time; Slurm starts it again, on other nodes, and it goes on with the next step."""
    lab, kernel = slurm_lab_accounting, Kernel(slurm_lab_accounting, tmp_path, monkeypatch)
    Path("tiny").symlink_to(make_tiny())
    lab.run("scontrol", "update", "PartitionName=preempt", f"GraceTime={15 + saving}")
    job = am.launch(document(kernel, saving, step=0.5, partition="preempt", requeue=True))
    until(lambda: (job.progress.step or 0) > 3, 120, job)
    lab.sbatch("#!/bin/bash\nsleep 1\n", "--nodes=2", "--nodelist=n[1-2]", "--exclusive", "--partition=batch")
    until(lambda: lab.job(job.scheduler_id)["Restarts"] == "1", 180, job)
    until(lambda: job.state == "PENDING", 30, job)
    lab.run("scontrol", "update", f"JobId={job.scheduler_id}", "ReqNodeList=n[3-4]", "StartTime=now")
    assert job.wait(300) == "COMPLETED", job.log()
    assert job.attempts == 2
    assert job.status.observation.nodes == ("n3", "n4")
    assert not (job.directory / "exit_code").exists()  # the first attempt was Slurm's to end
    assert (job.directory / "exit_code.1").exists()
    assert job.progress.restarts == 1
    followed = [line for _, line in job.follow()]
    assert sum("initiating graceful stop" in line for line in followed) == 1
    compare(written(job.directory / "checkpoints"), whole)


@pytest.mark.soak  # two minutes; the chains below take seconds, with a command in AutoModel's place
def test_a_chain_trains_on(kernel: Kernel, whole: Losses) -> None:
    """Its first job stops at its time limit, its second goes on with the next step and ends the training; no third runs."""
    Path("tiny").symlink_to(make_tiny())
    job = am.launch(document(kernel, time="2", signal=60, chain=3))
    assert job.wait(500) == "COMPLETED", job.log()
    assert (job.attempts, job.progress.restarts) == (2, 1)
    compare(written(job.directory / "checkpoints"), whole)
    assert [point.step for point in job.metrics() if point.split == "train"] == list(range(STEPS))


NSYS = r"""#!/bin/bash
# stands in for nsys, which cannot be had here: fills in the output's name as nsys does, runs the program, writes the report
for word; do case $word in --output=*) name=${word#--output=} ;; esac; done
name=${name//%h/$SLURMD_NODENAME}
while [[ $name =~ %q\{([A-Z_]+)\} ]]; do name=${name//"${BASH_REMATCH[0]}"/${!BASH_REMATCH[1]}}; done
while [ "${1#-}" != "$1" ] || [ "$1" = profile ]; do shift; done
trap : TERM INT
"$@"
code=$?
[ ! -e "$name.nsys-rep" ] || exit 99
echo "$*" >"$name.nsys-rep"
exit $code
"""


def test_nsys_writes_one_report_a_node_and_rank(kernel: Kernel) -> None:
    Path("tiny").symlink_to(make_tiny())
    nsys = kernel.directory / "bin" / "nsys"
    nsys.parent.mkdir()
    nsys.write_text(NSYS)
    nsys.chmod(0o755)
    fields = {"nsys_enabled": True, "pre_commands": f"PATH={nsys.parent}:$PATH", "signal": 0}
    job = am.launch(document(kernel, step=0, **fields).replace(f"max_steps: {STEPS}", "max_steps: 3"))
    assert job.wait(200) == "COMPLETED", job.log()
    reports = sorted(path.name for path in (job.directory / "nsys").iterdir())
    rows = dict(card_data(job).config)
    assert rows["profiling"].startswith("nsys is on")
    assert rows["reports"] == f"{job.directory}/nsys: {', '.join(reports)}"
    assert reports == [f"job{job.scheduler_id}.n{rank + 1}.rank{rank}.0.nsys-rep" for rank in (0, 1)]


def test_a_worker_that_dies_is_started_again(kernel: Kernel) -> None:
    """ft_launcher in torchrun's place: one worker dies once, all begin again at the checkpoint."""
    nvrx = Path(sys.prefix) / "nvrx"
    require(nvrx.is_dir(), "nvidia-resiliency-ext is not in .venv/nvrx; `make test` installs it there")
    Path("tiny").symlink_to(make_tiny())
    aids = {"AM_FAIL": "1:5", "AM_FAIL_KIND": "kill", "AM_FAIL_ONCE": str(kernel.directory / "once")}
    env = {"env_vars": {**aids, "PYTHONPATH": f"{cpu.PATH}:{AIDS}:{nvrx}", "OMP_NUM_THREADS": "1"}}
    fields = {"nodes": 1, "ntasks_per_node": 2, "nodelist": "n1", "fault_tolerance": {"max_restarts": 2}, **env}
    recipe = {"ckpt_every_steps: 1000": "ckpt_every_steps: 3", f"max_steps: {STEPS}": "max_steps: 8"}
    text = document(kernel, **fields)
    for old, new in recipe.items():
        text = text.replace(old, new)
    job = am.launch(text, ignore=["no-ft-launcher"])  # it is on the job's path only
    assert job.wait(300) == "COMPLETED", job.log()
    assert (kernel.directory / "once").exists()
    assert [step for step, _ in losses(job.log())] == [0, 1, 2, 3, 4, 3, 4, 5, 6, 7]
    assert job.progress.restarts == 1


def test_a_chain_goes_on_where_the_job_before_stopped(kernel: Kernel) -> None:
    """A command stands for the training: told to save in its first job, killed in its second, done in its third."""
    step = kernel.directory / "step"
    code = """
import os, signal, sys, time
mark, step = sys.argv[1:]
done = int(open(step).read()) if os.path.exists(step) else 0
print(f"begins at {done}", flush=True)
open(step, "w").write(str(done + 1))
if done == 0:
    open(mark, "w").close()  # as a node's task does when Slurm signals it
    sys.exit(0)
if done == 1:
    time.sleep(300)
"""
    script = kernel.directory / "train.py"
    script.write_text(code)
    command = f'{sys.executable} {script} "$AUTOMODEL_JOB_DIR/limit$attempt" {step}'
    job = kernel.launch(command, wait=False, chain=5)
    ids = str(job.record.submission.extra["chain"]).split(",") if job.record.submission else []
    assert len(ids) == 5
    until(lambda: step.exists() and step.read_text() == "2", 60, job)
    assert job.state == "RUNNING"
    kernel.lab.run("scancel", "--signal=KILL", "--batch", ids[1])  # as when its node is lost: it leaves no exit code
    until(lambda: step.read_text() == "3", 60, job)
    assert job.wait(60) == "COMPLETED", job.log()
    assert job.attempts == 3
    assert [line for _, line in job.follow() if line.startswith("begins")] == [f"begins at {n}" for n in range(3)]
    until(lambda: not kernel.lab.run("squeue", "-h", "-j", ",".join(ids[3:]), check=False).stdout.strip(), 20, job)


def test_a_chain_whose_training_fails_ends(kernel: Kernel) -> None:
    job = kernel.launch("exit 3", chain=3)
    assert (job.state, job.exit_code, job.attempts) == ("FAILED", 3, 1)


def test_a_chain_is_cancelled_whole(kernel: Kernel) -> None:
    job = kernel.launch("sleep 100", wait=False, chain=3)
    until(lambda: job.state == "RUNNING", 30, job)
    job.cancel()
    assert job.wait(30) == "CANCELLED"
    assert not kernel.lab.run("squeue", "-h", "-u", "root", "-n", job.name).stdout.strip()
    assert job.attempts == 1


def test_a_chain_of_which_one_is_refused_leaves_nothing(kernel: Kernel) -> None:
    with pytest.raises(am.LaunchError):
        kernel.launch("true", wait=False, chain=3, partition="nowhere")
    assert not kernel.lab.run("squeue", "-h", "-u", "root").stdout.strip()
