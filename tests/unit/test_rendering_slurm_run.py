"""The SBATCH script, run: what training and srun get, whatever the values are."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automodel_nb.paths import JobPaths
from automodel_nb.rendering.command import Training, torchrun
from automodel_nb.rendering.slurm import pyxis_image, script, torchrun_options
from automodel_nb.rendering.slurm_task import Saving
from tests.unit.recording import Run, config, render

EXAMPLES = 2000 if os.environ.get("SOAK") else 300


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    with tempfile.TemporaryDirectory() as root:
        yield Run(Path(root))


def test_the_multi_node_environment(run: Run) -> None:
    done = run(render(config(nodes="2", ntasks_per_node="4"), overrides=("--a=b c",)))
    assert done.returncode == 0, done.stderr
    # the stand-in's node names do not resolve: the node's address is taken
    assert (run.env["MASTER_ADDR"], run.env["WORLD_SIZE"]) == ("10.1.2.3", "8")
    port = run.env["MASTER_PORT"]
    assert 13742 <= int(port) < 13998
    assert f"job 7 on n[1-2], 8 workers, rendezvous at 10.1.2.3:{port}" in done.stdout
    assert run.words("python") == [
        "-m",
        "torch.distributed.run",
        "--nnodes=2",
        "--nproc-per-node=4",
        "--rdzv-backend=c10d",
        "--rdzv-id=7",
        f"--rdzv-endpoint=10.1.2.3:{port}",
        "--rdzv-conf=is_host=1",
        "--local-addr=10.1.2.3",
        "-m",
        "nemo_automodel.cli.app",
        f"{run.job_dir}/recipe.yaml",
        "--a=b c",
    ]
    assert run.srun(0) == {
        "--quiet": "",
        "--export": "ALL",
        "--kill-on-bad-exit": "1",
        "--ntasks": "2",
        "--ntasks-per-node": "1",
        "--cpu-bind": "none",
    }
    assert (run.root / "places/hf").is_dir()


def test_env_vars_win_over_ours(run: Run) -> None:
    run(render(config(master_port="29500")), MASTER_ADDR="ib1", MASTER_PORT="29600", WORLD_SIZE="3")
    assert [run.env[name] for name in ("MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE")] == ["ib1", "29600", "3"]


def test_a_port_in_use(run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        done = run(render(config(master_port=port)))
        assert done.returncode == 1
        assert f"port {port} is in use on n1" in done.stderr
    assert run(render(config(master_port=port))).returncode == 0
    assert run.env["MASTER_PORT"] == port


def test_two_jobs_that_start_at_once_take_two_ports(run: Run, tmp_path: Path) -> None:
    other = Run(tmp_path)
    waiting = render(config(command='until [ -e "$RECORD/go" ]; do sleep 0.05; done; env -0 >"$RECORD/env"'))
    first = subprocess.Popen(
        ["bash", "-c", waiting],
        env={
            **os.environ,
            "PATH": f"{tmp_path}/bin:/usr/bin:/bin",
            "RECORD": str(tmp_path),
            "AUTOMODEL_JOB_DIR": str(tmp_path),
            "HF_HOME": str(tmp_path / "hf"),
            "SLURM_JOB_ID": "1",
            "SLURM_JOB_NODELIST": "x",
            "SLURM_NNODES": "1",
        },
        stdout=subprocess.PIPE,
        text=True,
    )
    assert first.stdout is not None
    taken = re.search(r":(\d+)$", first.stdout.readline())
    run(render(config()))
    (other.root / "go").touch()
    assert first.wait() == 0
    first.stdout.close()
    assert taken is not None
    assert run.env["MASTER_PORT"] != taken[1]


@pytest.mark.parametrize(
    ("env", "mark"),
    [
        ({}, ""),
        ({"SLURM_RESTART_COUNT": "2"}, ".2"),
        ({"SLURM_ARRAY_TASK_ID": "3"}, ".task3"),
        ({"SLURM_RESTART_COUNT": "1", "SLURM_ARRAY_TASK_ID": "0"}, ".task0.1"),
    ],
)
def test_marks_of_each_attempt(run: Run, env: dict[str, str], mark: str) -> None:
    assert run(render(config()), EXIT_WITH="3", **env).returncode == 3
    assert sorted(path.name for path in run.job_dir.iterdir()) == [f"exit_code{mark}", f"started{mark}"]
    attempt, task = int(env.get("SLURM_RESTART_COUNT", 0)), env.get("SLURM_ARRAY_TASK_ID")
    code, when = JobPaths(run.job_dir).exit_code(attempt, int(task) if task else None).read_text().split()
    assert (code, when.isdigit()) == ("3", True)


def test_own_command_and_pre_commands_run_in_the_task(run: Run) -> None:
    section = config(
        command='echo "$A-$WORLD_SIZE" >out\nfalse\ntrue', pre_commands=["A='x y'", "TASK\n"[:-1] + "=1"], nodes="3"
    )
    done = run(render(section))
    assert done.returncode == 1  # `false` ends it
    assert (run.chdir / "out").read_text() == "x y-24\n"


def test_a_line_that_would_end_the_text(run: Run) -> None:
    run(render(config(command="TASK() { echo function >out; }\nTASK\n", pre_commands="cat <<TASK_ >here\nTASK\nTASK_")))
    assert (run.chdir / "out").read_text() == "function\n"
    assert (run.chdir / "here").read_text() == "TASK\n"


def test_a_missing_mount_source_stops_before_the_container(run: Run) -> None:
    done = run(render(config(container_image="i", extra_mounts=["/no such", "/usr:/y:ro"])))
    assert done.returncode == 1
    assert done.stderr == "automodel_nb: mount source /no such does not exist on n1\n"
    assert not (run.root / "record/srun.1").exists()


LINE = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=30).map(str.strip).filter(bool)
NASTY = st.sampled_from(
    [
        "$(touch pwned)",
        "`touch pwned`",
        "'; touch pwned; '",
        '"; touch pwned; "',
        "$HOME",
        "${HOME}",
        "!!",
        "*",
        "~",
        "{a,b}",
        "-n",
        "#x",
        "a#b",
        "\\",
        "\\'",
        "\\\\n",
        "%s%n",
        "a  b",
        "‮x",
        "é ü 漢字 🙂",
        "a\u00a0b",
        "$'x'",
        "--",
        "TASK",
        "a=b",
        "&& touch pwned",
        "{{ x }}",
        "{% x %}",
        ">pwned",
        "$((1))",
        "<(x)",
    ]
)
HOSTILE = NASTY | LINE | st.builds("{}{}".format, NASTY, LINE)
NAME = HOSTILE.map(lambda text: re.sub(r"[/\0,:]", "_", text)[:60]).filter(lambda text: text not in (".", ".."))


@pytest.mark.timeout(EXAMPLES)  # a second for each, where a tenth is usual
@settings(max_examples=EXAMPLES)
@given(
    name=HOSTILE,
    image=HOSTILE,
    source=NAME,
    dest=NAME,
    workdir=HOSTILE,
    argument=HOSTILE,
    job_dir=NAME,
    chdir=NAME,
    value=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30) | HOSTILE,
    hf=NAME,
)
def test_hostile_values_arrive_literally(
    run: Run,
    name: str,
    image: str,
    source: str,
    dest: str,
    workdir: str,
    argument: str,
    job_dir: str,
    chdir: str,
    value: str,
    hf: str,
) -> None:
    (run.root / "m" / source).mkdir(parents=True, exist_ok=True)
    mount = {"source": f"{run.root}/m/{source}", "dest": f"/{dest}"}
    section = config(container_image=image, container_workdir=workdir, extra_mounts=[mount], comment=name, nodes="2")
    there = run.root / "places" / "w" / chdir
    text = render(section, name=name, chdir=str(there), overrides=(f"--x={argument}",))
    done = run(text, job_dir=job_dir, chdir=chdir, MSG=value, HF_HOME=str(run.root / "hf" / hf))
    assert done.returncode == 0, done.stderr
    # a shell with job control says so where its job is over before it looks away; the stand-in for Python ends at once
    assert re.sub(r"^\[1\]\+  Done .*\n", "", done.stderr) == ""
    assert run.words("python")[-2:] == [f"{run.job_dir}/recipe.yaml", f"--x={argument}"]
    assert run.env["MSG"] == value
    assert run.env["AUTOMODEL_JOB_DIR"] == str(run.job_dir)
    container = run.srun(1)
    assert container["--container-image"] == pyxis_image(image.strip(), str(there))
    assert container["--container-workdir"] == workdir.strip()
    mounted = container["--container-mounts"].split(",")
    same = [run.job_dir, there, run.root / "hf" / hf]
    assert mounted[:3] == [f"{path}:{path}" for path in same]
    assert mounted[3:] == [f"{run.root}/m/{source}:/{dest}"]
    assert not list(run.root.rglob("pwned"))
    assert (run.root / "hf" / hf).is_dir()


def test_apptainer(run: Run) -> None:
    """By a stand-in that records: a real one was not tried."""
    section = config(
        container_image="nvcr.io/nvidia/nemo:dev",
        container_runtime="apptainer",
        extra_mounts=["/usr:/opt/a b:ro"],
        container_mount_home="no",
        nodes="2",
    )
    done = run(render(section), MSG="a secret, 'quoted'", HF_TOKEN="hf")
    assert done.returncode == 0, done.stderr
    words = run.words("apptainer")
    binds = f"{run.job_dir}:{run.job_dir},{run.chdir}:{run.chdir},{run.root}/places/hf:{run.root}/places/hf,/usr:/opt/a b:ro"
    before = words[: words.index("bash")]
    assert before == ["exec", f"--bind={binds}", f"--pwd={run.chdir}", "--nv", "--no-home", "docker://nvcr.io/nvidia/nemo:dev"]
    assert not any("secret" in word for word in words)
    env = dict(pair.split("=", 1) for pair in run.words("apptainer.env") if "=" in pair)
    assert env["APPTAINERENV_MSG"] == "a secret, 'quoted'"
    assert env["APPTAINERENV_WORLD_SIZE"] == "16"
    assert "torch.distributed.run" in run.words("python")


def test_nsys_stands_before_each_worker(run: Run) -> None:
    done = run(render(config(nsys_enabled="true", nsys_args="--trace=cuda", nodes="2")), SLURM_RESTART_COUNT="1")
    assert done.returncode == 0, done.stderr
    words = run.words("python")
    worker = words[words.index("--no-python") + 1 :]
    name = "job%q{SLURM_JOB_ID}.1.%h.rank%q{RANK}.%q{TORCHELASTIC_RESTART_COUNT}"
    assert worker[:5] == ["nsys", "profile", "--wait=primary", f"--output={run.job_dir}/nsys/{name}", "--trace=cuda"]
    assert worker[5:8] == ["python", "-m", "nemo_automodel.cli.app"]
    assert (run.job_dir / "nsys").is_dir()
    run(render(config(nsys_enabled="true", nsys_output=f"{run.root}/my reports")))
    assert any(word.startswith(f"--output={run.root}/my reports/job%q") for word in run.words("python"))


def test_a_later_attempt_goes_on_from_its_own_checkpoint(run: Run) -> None:
    """Although the recipe names one to begin with, as that of a resumed job does. AutoModel takes the last of two arguments."""
    section = config()
    training = Training(overrides=["--checkpoint.restore_from=/old"])
    saving = Saving(checkpoints='"$PWD"')
    text = script(section, torchrun(training, torchrun_options(section)), name="j", chdir="/w", environment=[], saving=saving)
    assert run(text).returncode == 0
    assert run.words("python")[-1] == "--checkpoint.restore_from=/old"
    begins = text.replace("set -u\n", 'set -u\ntouch "$PWD/LATEST"\n')
    assert run(begins, SLURM_RESTART_COUNT="1").returncode == 0
    assert run.words("python")[-2:] == ["--checkpoint.restore_from=/old", "--checkpoint.restore_from=LATEST"]
