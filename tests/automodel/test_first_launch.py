"""The whole path with the real AutoModel: from a cell in a real kernel to a trained model, on this node."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.automodel.real import AIDS, losses, recipe_text
from tests.notebooks.kernel import Cell, Kernel, kernel

pytestmark = pytest.mark.automodel


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, tiny: Path) -> Path:
    """A notebook's directory, with the recipe in it."""
    place = tmp_path_factory.mktemp("notebook")
    (place / "tiny").symlink_to(tiny)
    (place / "recipe.yaml").write_text(recipe_text())
    return place


@pytest.fixture(scope="module")
def new_kernel(place: Path) -> Callable[[], Any]:
    env = {
        **os.environ,
        "AUTOMODEL_NB_HOME": str(place / "home"),
        "PYTHONPATH": str(AIDS),
        "IPYTHONDIR": str(place / "ipython"),
    }
    return lambda: kernel(env, place)


@pytest.fixture(scope="module")
def notebook(new_kernel: Callable[[], Any]) -> Iterator[Kernel]:
    with new_kernel() as one:
        yield one


@pytest.fixture(scope="module")
def whole(notebook: Kernel, place: Path) -> Cell:
    """The uninterrupted run: the recipe in the cell, one process."""
    return notebook.ok(f"%%automodel_launch interactive --as whole\ninteractive:\n  device: cpu\n{recipe_text()}")


def log_of(notebook: Kernel, job: str) -> list[tuple[int, float]]:
    return losses(notebook.value(f"{job}.log()"))


def until(condition: Callable[[], Any], seconds: float = 60) -> Any:
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)
    return value


def test_one_process_trains_and_the_model_is_on_disk(notebook: Kernel, whole: Cell) -> None:
    trained = log_of(notebook, "whole")
    assert [step for step, _ in trained] == list(range(40))
    assert trained[-1][1] < 0.6 * trained[0][1]
    assert notebook.value("str(whole.state)") == "COMPLETED"
    assert notebook.value("whole.exit_code") == 0
    assert notebook.value("whole.checkpoint.name") == "epoch_0_step_39"
    assert (Path(notebook.value("str(whole.model_path)")) / "config.json").is_file()
    train = notebook.value("[(p.step, p.loss) for p in whole.metrics() if p.split == 'train']")
    assert train == trained
    assert notebook.value("[p.step for p in whole.metrics() if p.split == 'val']") == [9, 19, 29, 39]


def test_what_the_cell_shows_is_clean_and_stands_by_itself(notebook: Kernel, whole: Cell) -> None:
    assert "\r" not in whole.text + whole.html
    assert "step 39 | epoch 0 | loss" in whole.text + whole.html
    assert "COMPLETED" in whole.text
    assert "COMPLETED" in whole.html
    assert "image/svg+xml" in whole.html or "<svg" in whole.html
    assert f"%automodel_attach {notebook.value('whole.id')}" in whole.text
    assert "<script" not in whole.html
    assert all({"text/html", "text/plain"} <= set(data) for data in whole.shown.values())


def test_the_recipe_is_the_cells_text_less_its_section(notebook: Kernel, whole: Cell) -> None:
    written = Path(notebook.value("str(whole.directory)")) / "recipe.yaml"
    assert written.read_bytes() == recipe_text().encode()


def test_two_processes_are_two_and_agree_with_one(notebook: Kernel, whole: Cell) -> None:
    notebook.ok(
        "%automodel_launch interactive -c recipe.yaml --as two --set interactive.nproc_per_node=2 --set interactive.device=cpu"
    )
    assert "World size: 2" in notebook.value("two.log()")
    one, two = log_of(notebook, "whole"), log_of(notebook, "two")
    assert [step for step, _ in two] == list(range(40))
    assert max(abs(a - b) for (_, a), (_, b) in zip(one, two, strict=True)) <= 1e-4  # the log has four digits


def test_killed_and_resumed_is_as_uninterrupted(notebook: Kernel, whole: Cell) -> None:
    options = "--set interactive.device=cpu --set interactive.nproc_per_node=2"
    failing = "--set interactive.env_vars.AM_FAIL=1:24 --set interactive.env_vars.AM_FAIL_KIND=kill"
    cell = notebook.run(
        f"%automodel_launch -c recipe.yaml --as cut {options} {failing} --set interactive.env_vars.AM_FAIL_ONCE=failed_once"
    )
    assert cell.error
    assert cell.error[0] == "JobFailedError"
    assert "SIGKILL" in cell.error[1]
    assert "output.log" in cell.error[1]
    assert len(cell.traceback) == 1
    assert "FAILED" in cell.text
    notebook.ok("%automodel_resume cut --as again".replace("cut", notebook.value("cut.id")))
    first, second = log_of(notebook, "cut"), log_of(notebook, "again")
    assert [step for step, _ in second] == list(range(20, 40))
    joined = [(step, loss) for step, loss in first if step < 20] + second
    assert [step for step, _ in joined] == list(range(40))
    assert max(abs(a - b) for (_, a), (_, b) in zip(log_of(notebook, "whole"), joined, strict=True)) <= 1e-4
    assert notebook.value("again.record.resumed_from") == notebook.value("cut.id")


def test_the_stop_button_saves_and_stops(notebook: Kernel) -> None:
    message = notebook.begin(
        "%automodel_launch -c recipe.yaml --as stopped --set interactive.device=cpu"
        " --set interactive.env_vars.AM_STEP_SLEEP=0.5"
    )
    notebook.end(message, until=r"step 3 \| epoch")
    notebook.press_stop()
    cell = notebook.end(message)
    assert cell.error is None
    assert notebook.value("str(stopped.state)") == "CANCELLED"
    reason = notebook.value("stopped.reason")
    saved = int(re.search(r"saved at step (\d+)", reason)[1])  # type: ignore[index]
    assert notebook.value("stopped.reason_code") == "saved_and_stopped"
    assert notebook.value("stopped.checkpoint.name") == f"epoch_0_step_{saved}"
    assert notebook.value("1 + 1") == 2


def test_a_job_outlives_its_kernel(new_kernel: Callable[[], Any], place: Path) -> None:
    with new_kernel() as first:
        message = first.begin(
            "%automodel_launch -c recipe.yaml --name outlives --set interactive.device=cpu"
            " --set interactive.env_vars.AM_STEP_SLEEP=0.1"
        )
        first.end(message, until=r"step 2 \| epoch")
        first.kill()
    with new_kernel() as second:
        second.ok("job = am.attach('last')")
        assert second.value("(job.name, str(job.state))") == ("outlives", "RUNNING")
        cell = second.ok("%automodel_attach last --wait")
        assert "COMPLETED" in cell.text
        assert [step for step, _ in log_of(second, "job")] == list(range(40))
        assert second.value("job.exit_code") == 0
        lines = second.value("[text for _, text in job.follow()]")
        log = Path(second.value("str(job.paths.log)")).read_text()
        assert lines == log.splitlines() or "\n".join(lines) == log.rstrip("\n")


def test_a_second_run_of_a_named_checkpoint_directory_resumes_and_then_has_nothing_to_do(notebook: Kernel, place: Path) -> None:
    options = "--set interactive.device=cpu --set checkpoint.checkpoint_dir=mine"
    notebook.ok(f"%automodel_launch -c recipe.yaml --as short {options} --set step_scheduler.max_steps=10")
    notebook.ok(f"%automodel_launch -c recipe.yaml --as longer {options} --set step_scheduler.max_steps=14")
    assert [step for step, _ in log_of(notebook, "longer")] == [10, 11, 12, 13]
    assert notebook.value("str(longer.checkpoint)") == str(place / "mine/epoch_0_step_13")
    notebook.ok(f"%automodel_launch -c recipe.yaml --as nothing {options} --set step_scheduler.max_steps=14")
    assert notebook.value("(str(nothing.state), nothing.reason_code)") == ("COMPLETED", "nothing_to_train")


def test_published_resume_keys_train(notebook: Kernel, place: Path) -> None:
    """Case C12: current AutoModel raises on the first and ignores the second."""
    text = recipe_text(max_steps=12).replace("ckpt_every_steps: 20", "checkpoint_interval: 5")
    text += f"restore_from: {{path: {place}/mine/epoch_0_step_9}}\n"
    cell = notebook.ok(f"%%automodel_launch --as published\ninteractive: {{device: cpu}}\n{text}")
    assert "ckpt_every_steps" in cell.text
    assert [step for step, _ in log_of(notebook, "published")] == [10, 11]


def test_a_failing_training_fails_the_cell_with_one_line(notebook: Kernel) -> None:
    cell = notebook.run(f"%%automodel_launch\ninteractive: {{device: cpu}}\n{recipe_text(max_steps='[1]')}")
    assert cell.error
    assert cell.error[0] == "JobFailedError"
    assert "\n" not in cell.error[1]
    assert "Error" in cell.error[1].removeprefix("JobFailedError")
    assert "log: " in cell.error[1]


def test_data_that_is_not_there_is_told_before_the_launch(notebook: Kernel) -> None:
    text = recipe_text().replace("tiny/train.jsonl", "tiny/no_such_file.jsonl").replace("/train.jsonl", "/no_such_file.jsonl")
    cell = notebook.run(f"%%automodel_launch\ninteractive: {{device: cpu}}\n{text}")
    assert cell.error
    assert cell.error[0] == "LaunchError"
    assert "no_such_file" in cell.error[1]


def test_signals_reach_a_real_training_from_another_process(place: Path, notebook: Kernel) -> None:
    """`Job.cancel` from a plain Python elsewhere, on two workers: both save, torchrun exits with 0."""
    notebook.ok(
        "%automodel_launch -c recipe.yaml --as far --detach --set interactive.device=cpu --set interactive.nproc_per_node=2"
        " --set interactive.env_vars.AM_STEP_SLEEP=0.3"
    )
    until(lambda: "step 2 | epoch" in notebook.value("far.log()"))
    code = "import automodel_nb as am; j = am.attach('last'); j.cancel(); print(j.wait(60), j.exit_code)"
    env = {**os.environ, "AUTOMODEL_NB_HOME": str(place / "home")}
    done = subprocess.run([sys.executable, "-c", code], env=env, cwd=place, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["CANCELLED", "0"]
    until(lambda: notebook.value("far.reason_code") == "saved_and_stopped", 10)
    assert signal.SIGTERM  # the preemption signal that AutoModel acts on by default
