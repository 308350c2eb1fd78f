"""The real AutoModel on two nodes, launched by a laptop's cell; the login node goes away; the notebook moves there."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest

from tests.automodel.real import AIDS, ROOT, make_tiny, recipe_text
from tests.ssh.laptop import Laptop
from tests.ssh.login_node import LoginNode

pytestmark = [pytest.mark.slurm, pytest.mark.automodel, pytest.mark.timeout(600)]

SECTION = f"""
slurm:
  job_name: tiny
  nodes: 2
  ntasks_per_node: 1
  time: "20"
  gpu_request: none
  gpus_per_node: 0
  python: {sys.executable}
  env_vars: {{AM_STEP_SLEEP: "2.5", PYTHONPATH: {AIDS}}}
"""
START = """
    import automodel_nb as am, time
    from automodel_nb import hosts
    from automodel_nb.job.session import session
    from IPython.core.interactiveshell import InteractiveShell
    session().tracker.floor["slurm"] = 0.3
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "automodel_nb")
"""
#: In a notebook on the login node itself, with the laptop's records.
MOVED = """
import json, automodel_nb as am
job = am.attach("tiny")
again = am.preview('slurm:\\n  host: login1\\n  time: "5"\\n  command: "true"\\n')
print(json.dumps([job.state, str(job.checkpoint), len(job.metrics()), job.record.remote, again.host, again.submit[0]]))
print(am.launch(again).wait(60))
"""


def test_two_nodes_from_a_laptop(laptop: Laptop, login: LoginNode) -> None:
    pytest.importorskip("nemo_automodel", reason="AutoModel is not installed; `make test` installs it")
    (login.home / "tiny").symlink_to(make_tiny())
    text = SECTION + recipe_text(max_steps=8, val_every_steps=4, ckpt_every_steps=4)
    laptop.do(START)
    assert laptop.do("__import__('os').path.exists('tiny')") is False  # a path of the cluster only
    laptop.do("shell.run_cell_magic('automodel_launch', 'slurm --host login --as job', text)", text=text)
    laptop.do("job = shell.user_ns['job']")
    _until(laptop, "len([p for p in job.metrics() if p.split == 'train']) >= 1")
    login.stop()
    time.sleep(1.5)
    assert laptop.do("session().tracker.poke('slurm'); [job.state, job.status.silent[:22]]") == [
        "RUNNING",
        "login does not answer:",
    ]
    login.start()
    laptop.do("hosts.again()")
    # the steps are so slow that it is far from its end, however long this takes
    _until(laptop, "job._record.checkpoint(anew=True) is not None")
    laptop.do("job.cancel()")
    assert laptop.do("job.wait(60)") == "CANCELLED"
    points = laptop.do("[p.step for p in job.metrics() if p.split == 'train']")
    assert points == list(range(len(points)))
    first = laptop.do("str(job.checkpoint)")
    assert Path(first).is_dir()
    assert first.startswith(f"{login.home}/automodel_jobs/tiny-")

    laptop.do("job = job.resume({'slurm.env_vars.AM_STEP_SLEEP': '0'})")
    assert laptop.do("[job.wait(200), job.exit_code]") == ["COMPLETED", 0], laptop.do("job.log(40)")
    steps = laptop.do("[p.step for p in job.metrics() if p.split == 'train']")
    assert steps[-1] == 7
    assert 0 < steps[0] <= len(points)
    newest, model = laptop.do("found = [str(job._record.checkpoint(anew=True)), str(job.model_path)]; found")
    assert Path(newest).name == "epoch_0_step_7"
    assert Path(model, "config.json").is_file()
    assert len(login.lab.run("squeue", "-h", "-t", "all", "-u", "root", "-n", "tiny", "-o", "%A").stdout.split()) == 2

    records = laptop.do("{path.name: path.read_text() for path in session().store.directory.iterdir()}")
    moved = login.home / "moved/jobs"
    moved.mkdir(parents=True, mode=0o700)
    for name, record in records.items():
        (moved / name).write_text(record)
    (login.home / "moved.py").write_text(MOVED)
    answer = login.run(f"cd ~ && PYTHONPATH={ROOT} AUTOMODEL_NB_HOME=~/moved {sys.executable} moved.py")
    seen, launched = answer.splitlines()
    assert json.loads(seen) == ["COMPLETED", newest, len(laptop.do("job.metrics()")), "", "", "sbatch"]
    assert launched == "COMPLETED"  # by the login node's own sbatch: the same cell, without ssh


def _until(laptop: Laptop, condition: str) -> None:
    end = time.monotonic() + 180
    while not laptop.do(condition):
        assert laptop.do("job.state.final") is False, laptop.do("[job.reason, job.log()]")
        assert time.monotonic() < end, laptop.do("[job.state, job.log()]")
        time.sleep(0.2)
