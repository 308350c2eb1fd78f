from __future__ import annotations

import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest
import yaml

from automodel_nb.configs import SkyPilotConfig
from automodel_nb.rendering import skypilot
from automodel_nb.rendering.command import Training, checkpoint_override, torchrun


def config(**fields: object) -> SkyPilotConfig:
    return SkyPilotConfig.model_validate(fields)


PORT = 23742  # not the usual one, which another job may use on this machine


def task(fields: SkyPilotConfig, **options: object) -> dict[str, object]:
    given = {"name": "llm", "setup": "true", "run": "true", "chdir": "/work", "envs": {}, "secrets": []} | options
    loaded = yaml.safe_load(skypilot.task_yaml(fields, **given))  # type: ignore[arg-type]
    assert isinstance(loaded, dict)
    return loaded


def run(text: str, tmp_path: Path, rank: int = 0, addresses: str = "10.0.0.1", **env: str) -> subprocess.CompletedProcess[str]:
    """Run a node's text as SkyPilot does: bash, its variables, a home of its own. `python` prints what it is given."""
    (tmp_path / "bin").mkdir(exist_ok=True)
    python = tmp_path / "bin/python"
    names = ("MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "HF_HOME")
    python.write_text('#!/bin/bash\nprintf "%s\\n" "$@" ' + " ".join(f'"{name}=${name}"' for name in names) + "\n")
    python.chmod(0o755)
    sky = {
        "SKYPILOT_NODE_IPS": addresses,
        "SKYPILOT_NODE_RANK": str(rank),
        "SKYPILOT_NUM_NODES": str(len(addresses.splitlines())),
        "SKYPILOT_NUM_GPUS_PER_NODE": "8",
        "SKYPILOT_TASK_ID": "sky-2026-12-01_llm_1",
        "HOME": str(tmp_path),
        "PATH": f"{tmp_path}/bin:/usr/bin:/bin",
    }
    return subprocess.run(["bash", "-c", text], env=sky | env, capture_output=True, text=True, timeout=20)


def training(fields: SkyPilotConfig) -> str:
    command = torchrun(Training(overrides=[checkpoint_override()]), skypilot.torchrun_options(fields))
    return skypilot.run_text(fields, command)


@pytest.mark.parametrize("nodes", [1, 2, 4])
def test_every_node_meets_at_the_first_address(nodes: int, tmp_path: Path) -> None:
    addresses = [f"10.0.0.{n + 1}" for n in range(nodes)]
    text = training(config(accelerators="H100:8", num_nodes=nodes, master_port=PORT))
    for rank in range(nodes):
        done = run(text, tmp_path, rank, "\n".join(addresses))
        assert done.stderr == ""
        said = done.stdout.splitlines()
        assert said[:11] == [
            "-m",
            "torch.distributed.run",
            f"--nnodes={nodes}",
            "--nproc-per-node=8",
            "--rdzv-backend=c10d",
            "--rdzv-id=sky-2026-12-01_llm_1",
            f"--rdzv-endpoint=10.0.0.1:{PORT}",
            f"--rdzv-conf=is_host={int(rank == 0)}",
            f"--local-addr=10.0.0.{rank + 1}",
            "-m",
            "nemo_automodel.cli.app",
        ]
        assert said[11:13] == [
            f"{tmp_path}/automodel_job/recipe.yaml",
            f"--checkpoint.checkpoint_dir={tmp_path}/automodel_job/checkpoints",
        ]
        assert {"MASTER_ADDR=10.0.0.1", f"MASTER_PORT={PORT}", f"WORLD_SIZE={8 * nodes}"} <= set(said)


def test_a_trailing_newline_adds_no_node(tmp_path: Path) -> None:
    done = run(training(config(accelerators="H100:8", num_nodes=2, master_port=PORT)), tmp_path, 1, "10.0.0.1\n10.0.0.2\n")
    assert "--local-addr=10.0.0.2" in done.stdout.splitlines()


def test_env_vars_win_over_the_rendezvous_of_ours(tmp_path: Path) -> None:
    done = run(training(config(accelerators="H100:8")), tmp_path, MASTER_ADDR="head", MASTER_PORT="29500", WORLD_SIZE="3")
    assert {"MASTER_ADDR=head", "MASTER_PORT=29500", "WORLD_SIZE=3", "--rdzv-endpoint=head:29500"} <= set(
        done.stdout.splitlines()
    )


def test_processes_where_only_the_node_knows_its_accelerators(tmp_path: Path) -> None:
    fields = config(instance_type="p5.48xlarge", num_nodes=2, master_port=PORT)
    said = run(training(fields), tmp_path, 0, "10.0.0.1\n10.0.0.2").stdout.splitlines()
    assert {"--nproc-per-node=8", "WORLD_SIZE=16"} <= set(said)
    none = run(training(fields), tmp_path, 0, "10.0.0.1\n10.0.0.2", SKYPILOT_NUM_GPUS_PER_NODE="0").stdout.splitlines()
    assert {"--nproc-per-node=1", "WORLD_SIZE=2"} <= set(none)


@pytest.mark.parametrize(
    ("accelerators", "gpus_per_node", "expected"),
    [("H100", None, 1), ("A100-80GB:4", None, 4), ("H100:8", 2, 2), ("T4:0.5", None, 1)],
)
def test_processes(accelerators: str, gpus_per_node: int | None, expected: int) -> None:
    assert skypilot.processes(config(accelerators=accelerators, gpus_per_node=gpus_per_node)) == expected


def test_a_port_in_use_is_passed_over_by_one_node_and_named_by_the_first_of_several(tmp_path: Path) -> None:
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]
        one = training(config(accelerators="H100:8")).replace("{13742..13997}", f"{{{port}..{port + 20}}}")
        said = run(one, tmp_path).stdout.splitlines()
        assert f"MASTER_PORT={port}" not in said
        assert any(line.startswith("MASTER_PORT=") and line != "MASTER_PORT=" for line in said)
        two = training(config(accelerators="H100:8", num_nodes=2, master_port=port))
        first = run(two, tmp_path, 0, "10.0.0.1\n10.0.0.2")
        assert (first.returncode, first.stdout) == (1, "")
        assert first.stderr == f"automodel_nb: port {port} is in use on 10.0.0.1; give another master_port\n"
        assert run(two, tmp_path, 1, "10.0.0.1\n10.0.0.2").returncode == 0  # it is free on the other nodes


def test_pre_commands_and_own_command_share_a_shell(tmp_path: Path) -> None:
    text = skypilot.run_text(
        config(pre_commands=["x=1", "y=2"], command='echo "$x $y $WORLD_SIZE"'), 'echo "$x $y $WORLD_SIZE"'
    )
    assert run(text, tmp_path).stdout == "1 2 8\n"
    failing = skypilot.run_text(config(pre_commands=["false"]), "echo no")
    assert (run(failing, tmp_path).returncode, run(failing, tmp_path).stdout) == (1, "")


def test_cache_and_job_directory_are_on_the_node(tmp_path: Path) -> None:
    said = run(training(config(hf_home="~/my cache/hf")), tmp_path).stdout.splitlines()
    assert f"HF_HOME={tmp_path}/my cache/hf" in said
    assert (tmp_path / "my cache/hf").is_dir()
    assert (tmp_path / "automodel_job").is_dir()
    assert "HF_HOME=/big" in run(training(config()).replace("mkdir", ": mkdir"), tmp_path, HF_HOME="/big").stdout.splitlines()


@pytest.mark.parametrize(
    "fields", [config(accelerators="H100:8", num_nodes=2), config(instance_type="x", pre_commands=["true"])]
)
def test_shellcheck(fields: SkyPilotConfig, tmp_path: Path) -> None:
    if shutil.which("shellcheck") is None:
        pytest.skip("shellcheck is not installed")
    script = tmp_path / "run.sh"
    script.write_text("#!/bin/bash\n" + training(fields))
    done = subprocess.run(["shellcheck", "--severity=warning", script], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")


def test_resources_are_what_was_asked_for() -> None:
    fields = config(cloud="aws", region="us-east-1", accelerators="H100:8", use_spot="true", disk_size=200, num_nodes=2)
    loaded = task(fields, name="LLM_finetune v2!", envs={"A": "0123"}, secrets=["WANDB_API_KEY", "HF_TOKEN"])
    assert loaded == {
        "name": "llm-finetune-v2",
        "num_nodes": 2,
        "resources": {"cloud": "aws", "region": "us-east-1", "accelerators": "H100:8", "use_spot": True, "disk_size": 200},
        "file_mounts": {"~/automodel_job/recipe.yaml": "recipe.yaml"},
        "envs": {"A": "0123"},
        "secrets": {"HF_TOKEN": None, "WANDB_API_KEY": None},
        "setup": "true",
        "run": "true",
    }


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"cloud": "aws"}, {"idle_minutes": 10, "down": False}),
        ({"infra": "GCP/us-central1"}, {"idle_minutes": 10, "down": False}),
        ({"infra": "slurm/lab"}, {"idle_minutes": 10, "down": True}),
        ({}, {"idle_minutes": 10, "down": True}),
        ({"cloud": "aws", "use_spot": "on", "managed": "false"}, {"idle_minutes": 10, "down": True}),
        ({"cloud": "aws", "use_spot": "on"}, None),
        ({"cloud": "lambda", "autostop_minutes": "30", "down": "no"}, {"idle_minutes": 30, "down": False}),
    ],
)
def test_an_idle_cluster_is_stopped_or_removed(fields: dict[str, str], expected: dict[str, object] | None) -> None:
    resources = task(config(**fields))["resources"]
    assert isinstance(resources, dict)
    assert resources.get("autostop") == expected


def test_local_paths_are_absolute_and_urls_stay() -> None:
    loaded = task(
        config(workdir="src", file_mounts={"/data": "data", "/s3": "s3://bucket/x", "/ckpt": {"name": "b", "source": "./c"}})
    )
    assert loaded["workdir"] == "/work/src"
    assert loaded["file_mounts"] == {
        "~/automodel_job/recipe.yaml": "recipe.yaml",
        "/data": "/work/data",
        "/s3": "s3://bucket/x",
        "/ckpt": {"name": "b", "source": "/work/c"},
    }
    home = task(config(workdir="~/src"))
    assert home["workdir"] == os.path.expanduser("~/src")


def test_setup_installs_automodel_unless_given() -> None:
    assert skypilot.setup_text(config(), "python") == "python -m pip install --quiet nemo-automodel\n"
    assert (
        skypilot.setup_text(config(automodel_version="0.7.0"), "python3")
        == "python3 -m pip install --quiet nemo-automodel==0.7.0\n"
    )
    assert skypilot.setup_text(config(setup="./install.sh"), "python") == "./install.sh"


@pytest.mark.parametrize(
    ("name", "expected"),
    [("llm_finetune", "llm-finetune"), ("7b", "job-7b"), ("Ünï", "n"), ("..", "job"), ("x" * 60, "x" * 40)],
)
def test_names(name: str, expected: str) -> None:
    assert skypilot.task_name(name) == expected


def test_the_command_by_hand_names_secrets_and_no_value() -> None:
    assert skypilot.by_hand(config(), ["HF_TOKEN"]) == ["sky", "launch", "--detach-run", "--secret", "HF_TOKEN", "task.yaml"]
    assert skypilot.by_hand(config(use_spot="on"), [])[:3] == ["sky", "jobs", "launch"]
