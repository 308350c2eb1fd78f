"""Which checkpoint is resumed from: AutoModel's own rules, compared with AutoModel's own function."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from automodel_nb.watching.checkpoints import complete_checkpoints, model_path, newest_checkpoint, step_of


def checkpoint(root: Path, step: int, *, incomplete: bool = False, consolidated: bool = False) -> Path:
    path = root / f"epoch_0_step_{step}"
    (path / "model").mkdir(parents=True)
    if incomplete:
        (path / ".incomplete").touch()
    if consolidated:
        model = path / "model" / "consolidated"
        model.mkdir()
        (model / "config.json").write_text("{}")
        (model / "model-00001-of-00001.safetensors").touch()
        index = {"weight_map": {"lm_head.weight": "model-00001-of-00001.safetensors"}}
        (model / "model.safetensors.index.json").write_text(json.dumps(index))
    return path


def test_latest_wins_over_a_higher_step(tmp_path: Path) -> None:
    checkpoint(tmp_path, 9), checkpoint(tmp_path, 19)
    (tmp_path / "LATEST").symlink_to("epoch_0_step_9")
    assert newest_checkpoint(tmp_path) == tmp_path / "epoch_0_step_9"


def test_latest_as_a_text_file(tmp_path: Path) -> None:
    checkpoint(tmp_path, 9), checkpoint(tmp_path, 19)
    (tmp_path / "LATEST.txt").write_text("epoch_0_step_9\n")
    assert newest_checkpoint(tmp_path) == tmp_path / "epoch_0_step_9"


def test_a_save_that_was_cut_off_is_skipped(tmp_path: Path) -> None:
    checkpoint(tmp_path, 9), checkpoint(tmp_path, 100), checkpoint(tmp_path, 200, incomplete=True)
    (tmp_path / "epoch_0_step_300.staging-0123").mkdir()
    (tmp_path / "epoch_0_step_400").touch()  # no directory
    (tmp_path / "LATEST").symlink_to("epoch_0_step_200")
    assert newest_checkpoint(tmp_path) == tmp_path / "epoch_0_step_100"  # by number, not by name
    assert [step_of(path) for path in complete_checkpoints(tmp_path)] == [100, 9]


@pytest.mark.parametrize("target", ["gone", ""])
def test_a_pointer_that_leads_nowhere(tmp_path: Path, target: str) -> None:
    path = checkpoint(tmp_path, 9)
    (tmp_path / "LATEST.txt").write_text(target)
    assert newest_checkpoint(tmp_path) == path


def test_nothing_there(tmp_path: Path) -> None:
    assert newest_checkpoint(tmp_path) is None
    assert newest_checkpoint(tmp_path / "none") is None
    assert model_path(tmp_path / "none") is None


def test_model_is_the_newest_that_is_whole(tmp_path: Path) -> None:
    older, broken = checkpoint(tmp_path, 9, consolidated=True), checkpoint(tmp_path, 19, consolidated=True)
    checkpoint(tmp_path, 29)  # saved on a signal: not consolidated
    (broken / "model" / "consolidated" / "model-00001-of-00001.safetensors").unlink()
    assert model_path(tmp_path) == older / "model" / "consolidated"
    (older / "model" / "consolidated" / "model.safetensors.index.json").write_text("[")
    assert model_path(tmp_path) is None


def test_model_in_one_file_and_an_adapter(tmp_path: Path) -> None:
    path = checkpoint(tmp_path, 9) / "model"
    (path / "adapter_config.json").write_text("{}")
    assert model_path(tmp_path) is None
    (path / "adapter_model.safetensors").touch()
    assert model_path(tmp_path) == path
    single = checkpoint(tmp_path, 19) / "model" / "consolidated"
    single.mkdir()
    (single / "config.json").write_text("{}")
    (single / "model.safetensors").touch()
    assert model_path(tmp_path) == single


@pytest.mark.parametrize(
    ("name", "step"),
    [("epoch_0_step_39", 39), ("/a/epoch_10_step_0", 0), ("step_3", 3), ("epoch_0_step_3.part", None), ("LATEST", None)],
)
def test_step(name: str, step: int | None) -> None:
    assert step_of(name) == step
