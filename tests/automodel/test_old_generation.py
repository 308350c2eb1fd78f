"""AutoModel before 0.4: its own command line reads what we would run. Its models need a transformers of their own time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from automodel_nb.rendering.command import Training, alone, torchrun
from tests.automodel.real import recipe_text

pytestmark = pytest.mark.automodel

# Runs AutoModel's own main() with only the last step taken out: what it would train, and whether it would start torchrun.
OWN_MAIN = """
import json, sys
from nemo_automodel._cli import app
from nemo_automodel.components.config._arg_parser import parse_args_and_load_config
import torch.distributed.run as launcher

launcher.determine_local_world_size = lambda nproc_per_node: 8
launcher.run = lambda arguments: told.update(torchrun=arguments.nproc_per_node)
told = {"torchrun": None}

def recipe_main(path):
    print_to, sys.stdout = sys.stdout, sys.stderr
    told.update(path=str(path), config=parse_args_and_load_config(path).to_dict())
    sys.stdout = print_to

def load_function(path, name):
    told.update(script=str(path), function=name)
    return recipe_main

app.load_function = load_function
app.main()
print(json.dumps(told, default=repr))
"""


def run_main(old_automodel: Path, job: Path, shell_command: str) -> dict[str, object]:
    """What 0.3.0 makes of the words that our command gives it; a shell expands them, as it would in the job."""
    words = shell_command.partition(" -m nemo_automodel._cli.app ")[2]
    assert words
    ran = subprocess.run(
        ["bash", "-c", f'exec "$0" -c "$OWN_MAIN" {words}', sys.executable],
        env={**os.environ, "PYTHONPATH": str(old_automodel), "OWN_MAIN": OWN_MAIN, "AUTOMODEL_JOB_DIR": str(job)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    told: dict[str, object] = json.loads(ran.stdout)
    return told


@pytest.mark.parametrize("command", ["finetune", "pretrain", "kd", "benchmark"])
@pytest.mark.parametrize("domain", ["llm", "vlm"])
def test_one_process(old_automodel: Path, tmp_path: Path, command: str, domain: str) -> None:
    (tmp_path / "recipe.yaml").write_text("model: {a: 1}\n")
    training = Training(generation="old", command=command, domain=domain)
    told = run_main(old_automodel, tmp_path, alone(training))
    assert told["path"] == str(tmp_path / "recipe.yaml")
    assert told["torchrun"] is None  # on 8 devices
    recipe = {"finetune": "train_ft", "pretrain": "train_ft"}.get(command, command)
    assert str(told["script"]).endswith(f"nemo_automodel/recipes/{domain}/{recipe}.py")


def test_a_worker_of_torchrun_does_not_start_torchrun_again(old_automodel: Path, tmp_path: Path) -> None:
    """0.3.0 does not see that it is one; without a word, each of 8 workers would start 8 more."""
    (tmp_path / "recipe.yaml").write_text("model: {a: 1}\n")
    told = run_main(old_automodel, tmp_path, torchrun(Training(generation="old"), ["--standalone", "--nproc-per-node=8"]))
    assert told["torchrun"] is None
    assert told["path"] == str(tmp_path / "recipe.yaml")


def test_it_loads_our_file_and_our_arguments(old_automodel: Path, tmp_path: Path) -> None:
    (tmp_path / "recipe.yaml").write_text(recipe_text("tiny").replace("_target_", "target"))  # names of a later AutoModel
    overrides = ["--optimizer.lr=1e-5", "--checkpoint.checkpoint_dir=a dir/it's", "--model.tags=['x', 1]"]
    told = run_main(old_automodel, tmp_path, alone(Training(generation="old", overrides=overrides)))
    config = told["config"]
    assert isinstance(config, dict)
    assert config["step_scheduler"]["max_steps"] == 40
    assert config["optimizer"]["lr"] == 1e-5
    assert config["checkpoint"]["checkpoint_dir"] == "a dir/it's"
    assert config["model"]["tags"] == ["x", 1]
    assert config["model"]["pretrained_model_name_or_path"] == "tiny/model"
