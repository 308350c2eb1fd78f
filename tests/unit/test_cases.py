"""Inputs that broke other tools end to end through the public functions, and where each has its test on the real thing."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import automodel_nb as am
from automodel_nb.errors import LaunchError

TESTS = Path(__file__).parents[1]
RECIPE = "recipe: TrainFinetuneRecipeForNextTokenPrediction\n"
#: Each kind of fault, and the tests that hold the right answer.
CASES = {
    "C01 time limits that YAML 1.1 retypes": [
        "unit/test_configs.py::test_time_has_slurms_meaning_and_keeps_the_text",
        "unit/test_configs.py::test_what_is_no_time_names_the_forms",
        "slurm/test_environment.py::test_times_are_slurms",
    ],
    "C02 no account, no partition": ["unit/test_rendering_slurm.py::test_nothing_given_leaves_no_line"],
    "C03 values that a shell or YAML would change": ["slurm/test_environment.py::test_values_arrive_exactly_as_written"],
    "C04 the kernel runs inside a Slurm job": [
        "slurm/test_environment.py::test_the_kernels_own_job_does_not_reach_the_new_one",
        "ssh/test_inside.py::test_a_notebook_inside_a_job",
    ],
    "C05 site messages around the job id": ["slurm/test_submission.py::test_site_messages_and_a_cluster_name"],
    "C06 no accounting, and the job is forgotten": ["slurm/test_endings.py::test_once_slurm_has_forgotten_it"],
    "C07 how images are spelled": [
        "unit/test_rendering_slurm.py::test_images_in_enroots_spelling",
        "slurm/test_containers.py::test_an_image_file_of_the_working_directory",
    ],
    "C08 a variable that the image sets too": ["slurm/test_containers.py::test_the_users_variable_wins_over_the_images"],
    "C09 several addresses in SKYPILOT_NODE_IPS": ["unit/test_skypilot_task.py::test_every_node_meets_at_the_first_address"],
    "C10 a progress bar glued in front of log lines": [
        "unit/test_lines.py::test_clean",
        "unit/test_lines.py::test_every_step_of_a_real_log_stands_on_a_clean_line_of_its_own",
    ],
    "C11 a slurm section and a current AutoModel": ["slurm/test_training.py::test_two_nodes_train_as_one_process_does"],
    "C12 the published resume keys": ["automodel/test_first_launch.py::test_published_resume_keys_train"],
    "C13 typos": ["unit/test_configs.py::test_every_mistake_at_once_with_place_and_nearest_key"],
    "C14 a typed token": ["unit/test_planning.py::test_a_typed_token_is_refused_wherever_it_stands"],
    "C15 every way in which a job ends": ["slurm/test_endings.py::test_state_and_reason"],
}


@pytest.mark.parametrize("test", [test for tests in CASES.values() for test in tests])
def test_a_case_has_its_test(test: str) -> None:
    file, _, name = test.partition("::")
    tree = ast.parse((TESTS / file).read_text())
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def slurm(fields: str, recipe: str = RECIPE) -> am.Plan:
    return am.preview(f"slurm:\n{fields}{recipe}")


@pytest.mark.parametrize("time", ["10:00:00", "1:30:00", "00:30:00", "90", "1-12", "2-00:00", "15:30"])
def test_a_time_is_what_was_written(time: str) -> None:
    assert f"\n#SBATCH --time={time}\n" in slurm(f"  time: {time}\n").files["launch.sbatch"]


@pytest.mark.parametrize("time", ["0:240:0", "25h"])
def test_what_is_no_time_names_the_forms(time: str) -> None:
    with pytest.raises(LaunchError, match=r"^line 2, column 9: slurm\.time: .*HH:MM:SS"):
        slurm(f"  time: {time}\n")


def test_what_is_not_given_has_no_line() -> None:
    script = slurm("  nodes: 1\n").files["launch.sbatch"]
    assert not any(f"--{option}" in script for option in ("account", "partition", "time", "qos"))
    assert "None" not in script


def test_the_section_does_not_reach_automodel() -> None:
    plan = slurm("  nodes: 2\n")
    assert (plan.method, plan.files["recipe.yaml"]) == ("slurm", RECIPE)


def test_typos() -> None:
    with pytest.raises(LaunchError, match=r"^line 2, column 3: .*partion.*did you mean `partition`"):
        slurm("  partion: batch\n")
    with pytest.raises(LaunchError, match=r"^line 2, column 3: .*accelerator.*did you mean `accelerators`"):
        am.preview(f"skypilot:\n  accelerator: H100:8\n{RECIPE}")
    found = [finding for finding in slurm("  nodes: 1\n", RECIPE + "step_sheduler: {}\n").findings if finding.line == 4]
    assert [(finding.severity, "step_scheduler" in str(finding)) for finding in found] == [("warning", True)]
