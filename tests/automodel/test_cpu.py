"""The real AutoModel with the CPU shim: the forms in which the launcher starts it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.automodel.real import environment, losses, recipe_text, run

pytestmark = pytest.mark.automodel


@pytest.mark.parametrize(
    ("devices", "command", "workers"),
    [
        pytest.param(
            8,
            ["-m", "nemo_automodel.cli.app", "recipe.yaml", "--nproc-per-node", "1"],
            1,
            id="one process where there are 8 devices",
        ),
        pytest.param(
            1,
            [
                "-m",
                "torch.distributed.run",
                "--standalone",
                "--nproc-per-node=2",
                "-m",
                "nemo_automodel.cli.app",
                "recipe.yaml",
            ],
            2,
            id="two processes where there is 1 device",
        ),
    ],
)
def test_exactly_so_many_processes_train(tiny: Path, tmp_path: Path, devices: int, command: list[str], workers: int) -> None:
    (tmp_path / "recipe.yaml").write_text(recipe_text(tiny, max_steps=12, val_every_steps=12))
    ran = run([*command, "--checkpoint.checkpoint_dir=a dir/here"], tmp_path, environment(devices))
    assert ran.returncode == 0, ran.stdout
    assert ran.stdout.count("> initializing torch distributed with") == 1
    assert f"with {workers} workers." in ran.stdout
    steps = losses(ran.stdout)
    assert [step for step, _ in steps] == list(range(12))
    assert steps[-1][1] < steps[0][1] - 1
    assert (tmp_path / "a dir/here/epoch_0_step_11/model/consolidated/config.json").is_file()
    assert "\r" not in ran.stdout


def test_the_aids_reach_the_training(tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "recipe.yaml").write_text(recipe_text(tiny))
    command = ["-m", "nemo_automodel.cli.app", "recipe.yaml", "--nproc-per-node", "1"]
    ran = run(command, tmp_path, environment(AM_FAIL="0:2", AM_FAIL_KIND="exit"))
    assert ran.returncode == 7, ran.stdout
    assert [step for step, _ in losses(ran.stdout)] == [0, 1]
