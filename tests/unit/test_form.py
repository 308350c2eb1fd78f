"""The form without a screen: fields and text are two ways to one document."""

from __future__ import annotations

from pathlib import Path

import pytest

import automodel_nb as am
from automodel_nb import profiles
from automodel_nb.api import plan_of
from automodel_nb.editing import cells
from automodel_nb.editing.fields import FieldState
from automodel_nb.editing.form import Form
from automodel_nb.errors import LaunchError
from automodel_nb.findings import Fix
from automodel_nb.plan import METHODS

RECIPE = "recipe: TrainFinetuneRecipeForNextTokenPrediction\n"
TOKEN = "hf_" + "a1B2" * 8
SLURM = """\
slurm:            # where it runs
  nodes: 2        # two
  time: '04:00:00'
  env_vars: {MODE: fast}
"""


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "not-shown")
    monkeypatch.setenv("AUTOMODEL_NB_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(profiles, "SITE", tmp_path / "site.toml")
    monkeypatch.chdir(tmp_path)


def field(form: Form, name: str) -> FieldState:
    return next(field for field in form.fields if field.doc.name == name)


@pytest.mark.parametrize("method", METHODS)
def test_an_empty_form_begins_from_the_published_template(method: str) -> None:
    form = Form(method)
    assert (form.method, form.yaml) == (method, am.template(method))


def test_an_edit_keeps_comments_quotes_and_order() -> None:
    form = Form(SLURM + RECIPE)
    form.set("slurm.nodes", 4)
    form.set("slurm.time", "1-0")
    assert form.yaml == SLURM.replace("nodes: 2 ", "nodes: 4 ").replace("'04:00:00'", "'1-0'") + RECIPE


@pytest.mark.parametrize(
    ("path", "value", "written"),
    [
        ("slurm.account", "mine", "account: mine"),
        ("slurm.cpus_per_task", "8", "cpus_per_task: 8"),
        ("slurm.exclusive", "true", "exclusive: true"),
        ("slurm.mem", "512G", "mem: 512G"),
        ("slurm.env_vars.ZERO", "007", 'ZERO: "007"'),
        ("slurm.extra_mounts.0", "/data:/data:ro", "- /data:/data:ro"),
        ("slurm.fault_tolerance.max_restarts", "5", "max_restarts: 5"),
        ("slurm.pre_commands", ["echo a: b"], '- "echo a: b"'),
    ],
)
def test_a_new_field_is_written_as_people_write_it(path: str, value: object, written: str) -> None:
    form = Form(SLURM + RECIPE)
    form.set(path, value)
    assert written in form.yaml


def test_an_emptied_field_is_taken_out() -> None:
    form = Form(SLURM + RECIPE)
    form.set("slurm.nodes", "")
    assert "nodes" not in form.yaml
    form.remove("slurm.env_vars.MODE")
    assert "env_vars" not in form.yaml  # the last row takes the field with it


def test_one_option_of_what_was_only_switched_on() -> None:
    form = Form("slurm:\n  fault_tolerance: true\n" + RECIPE)
    form.set("slurm.fault_tolerance.max_restarts", "5")
    assert field(form, "fault_tolerance").value == {"max_restarts": "5"}


def test_the_first_field_begins_a_section_above_all_else() -> None:
    form = Form("# mine\n" + RECIPE)
    form.set("interactive.nproc_per_node", "2")
    assert form.yaml == "# mine\ninteractive:\n  nproc_per_node: 2\n\n" + RECIPE


def test_letters_typed_into_one_field_are_one_step_to_undo() -> None:
    form = Form(SLURM + RECIPE)
    for text in ("4", "42", "421"):
        form.set("slurm.nodes", text, step=1)
    form.set("slurm.nodes", "5", step=2)
    form.undo()
    assert field(form, "nodes").value == "421"
    form.undo()
    assert form.yaml == SLURM + RECIPE
    assert not form.can_undo
    form.redo()
    assert field(form, "nodes").value == "421"


def test_text_that_cannot_be_read_leaves_the_fields() -> None:
    form = Form(SLURM + RECIPE)
    form.write("slurm: {nodes: [\n")
    assert field(form, "nodes").value == "2"
    assert form.state.problem is not None
    assert form.state.problem.line is not None
    assert form.plan is None
    assert form.planned.blocked
    with pytest.raises(LaunchError, match="cannot be read"):
        form.set("slurm.nodes", 3)
    assert form.yaml == "slurm: {nodes: [\n"
    form.undo()
    assert form.yaml == SLURM + RECIPE


def test_text_with_another_section_chooses_its_method() -> None:
    form = Form(SLURM + RECIPE)
    form.write("skypilot:\n  cloud: aws\n" + RECIPE)
    assert form.method == "skypilot"


def test_another_method_takes_over_what_both_know_and_gives_way_again() -> None:
    form = Form("slurm:\n  job_name: mine # ours\n  partition: gpu\n" + RECIPE)
    before = form.yaml
    form.choose("skypilot")
    assert form.yaml.startswith("skypilot:\n  cloud: aws\n")
    assert "job_name: mine" in form.yaml
    assert "slurm" not in form.yaml
    form.choose("slurm")
    assert form.yaml == before


def test_a_field_of_another_method_chooses_it() -> None:
    form = Form("interactive:\n  job_name: mine\n" + RECIPE)
    form.set("slurm.nodes", 4)
    assert form.method == "slurm"
    form.undo()
    assert form.yaml == "interactive:\n  job_name: mine\n" + RECIPE


@pytest.mark.parametrize("value", ["abc", "0", "-1", "4; rm -rf ~", "$(id)", "'", '"', "4\n5", "x" * 5000, "{{ nope"])
def test_a_bad_value_is_told_beside_its_field(value: str) -> None:
    form = Form(SLURM + RECIPE)
    form.set("slurm.nodes", value)
    assert field(form, "nodes").value == value
    assert "error" in [finding.severity for finding in field(form, "nodes").findings]
    assert form.planned.blocked
    with pytest.raises(LaunchError):
        form.launch()


@pytest.mark.parametrize("value", ["a\0b", "\x1b[31m", "\ud800"])
def test_what_no_document_can_hold_is_refused_beside_its_field(value: str) -> None:
    form = Form(SLURM + RECIPE)
    with pytest.raises(LaunchError, match=r"U\+"):
        form.set("slurm.account", value)
    assert form.yaml == SLURM + RECIPE
    assert field(form, "account").typed == value
    assert form.planned.blocked
    form.set("slurm.account", "mine")
    assert field(form, "account").typed is None


@pytest.mark.parametrize("path", ["slurm.account", "slurm.env_vars.HF_TOKEN", "slurm.hf_token"])
def test_a_token_is_never_written_nor_repeated(path: str) -> None:
    form = Form(SLURM + RECIPE)
    with pytest.raises(LaunchError) as caught:
        form.set(path, TOKEN)
    assert TOKEN not in str(caught.value) + form.yaml + repr(form.state) + repr(form.findings)


def test_a_secret_by_name_is_never_shown() -> None:
    form = Form(SLURM + RECIPE)
    form.set("slurm.env_vars.HF_TOKEN", "${HF_TOKEN}")
    assert form.plan is not None
    assert "not-shown" not in repr((form.plan, form.fields, form.cell))


def test_where_a_value_comes_from(tmp_path: Path) -> None:
    site = tmp_path / "site.toml"
    site.write_text('[slurm]\nqos = "high"\nnodes = 8\n[slurm.env_vars]\nSITE = "1"\n')
    form = Form(SLURM + RECIPE)
    assert (field(form, "qos").effective, field(form, "qos").origin) == ("high", str(site))
    assert (field(form, "nodes").effective, field(form, "nodes").origin) == ("2", "line 2")
    assert field(form, "account").origin == ""
    assert field(form, "env_vars").effective == {"SITE": "1", "MODE": "fast"}
    form.lift("slurm.qos")
    assert field(form, "qos").effective is None
    assert form.plan is not None
    assert "--qos" not in form.plan.files["launch.sbatch"]
    form.remove("slurm.qos")
    assert field(form, "qos").effective == "high"


def test_an_inherited_list_comes_along_when_one_row_is_edited(tmp_path: Path) -> None:
    (tmp_path / "site.toml").write_text('[slurm]\nextra_mounts = ["/a", "/b"]\n')
    form = Form(SLURM + RECIPE)
    form.set("slurm.extra_mounts.1", "/c")
    assert field(form, "extra_mounts").value == ["/a", "/c"]
    form.undo()
    form.remove("slurm.extra_mounts.0")
    assert field(form, "extra_mounts").value == ["/b"]


def test_values_of_the_notebook_stay_names() -> None:
    form = Form("slurm:\n  nodes: {{ n }}\n  time: '10'\n" + RECIPE, namespace={"n": 3})
    assert field(form, "nodes").value == "{{ n }}"
    form.set("slurm.job_name", "run-{{ n }}")
    assert "nodes: {{ n }}\n" in form.yaml
    assert form.plan is not None
    assert "--nodes=3\n" in form.plan.files["launch.sbatch"]
    assert "--job-name=run-3\n" in form.plan.files["launch.sbatch"]


@pytest.mark.parametrize("method", METHODS)
def test_the_cell_runs_to_the_same_plan(method: str) -> None:
    form = Form(method)
    form.set((method, "job_name"), "a name")
    cell = cells.read(form.cell)
    there, here = plan_of(cell.yaml, cell.method), form.plan
    assert here is not None
    assert (there.files, there.command, there.submit) == (here.files, here.command, here.submit)
    assert Form(form.cell).yaml == form.yaml


def test_a_cells_first_line_is_kept() -> None:
    line = "%%automodel_launch slurm --name x --set slurm.nodes=3 --ignore no-time --wait --as job"
    form = Form(f"{line}\n{SLURM}{RECIPE}")
    assert form.plan is not None
    assert "--nodes=3\n" in form.plan.files["launch.sbatch"]
    assert Form(form.cell).state.options == form.state.options
    with pytest.raises(LaunchError, match=r"am\.attach"):
        Form("%%automodel_launch --from last\n")


def test_a_file_is_opened_and_a_cell_over_a_file_inherits(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_bytes((SLURM + RECIPE).replace("\n", "\r\n").encode())
    form = Form(Path("x.yaml"))
    form.set("slurm.nodes", 3)
    assert form.yaml == (SLURM.replace("nodes: 2 ", "nodes: 3 ") + RECIPE).replace("\n", "\r\n")
    over = Form("%%automodel_launch -c x.yaml\nslurm:\n  qos: high\n")
    assert (field(over, "nodes").effective, field(over, "nodes").origin) == ("2", "x.yaml")
    assert Form("%%automodel_launch -c x.yaml\n").yaml == (SLURM + RECIPE).replace("\n", "\r\n")


def test_a_fix_is_one_step() -> None:
    form = Form("slurm:\n  env_vars: {HF_TOKEN: $HF_TOKEN}\n  time: '10'\n" + RECIPE)
    finding = next(finding for finding in form.findings if finding.fix and finding.fix.value)
    assert finding.fix is not None
    form.apply(finding.fix)
    assert field(form, "env_vars").value == {"HF_TOKEN": "${HF_TOKEN}"}


def test_a_fix_in_the_recipe_writes_a_number() -> None:
    form = Form(SLURM + RECIPE)
    form.apply(Fix("write 128", "step_scheduler.global_batch_size", "128"))
    assert "global_batch_size: 128\n" in form.yaml


def test_a_plan_made_for_an_older_state_is_not_taken() -> None:
    form = Form(SLURM + RECIPE)
    state, planned = form.state, form.planned
    form.set("slurm.nodes", 3)
    assert not form.take(state, planned)


def test_time_and_memory_are_told_in_words() -> None:
    form = Form("slurm:\n  time: 1-04\n  mem: 512G\n" + RECIPE)
    assert field(form, "time").words == "1 day 4 hours"
    assert field(form, "mem").words == "512 GiB on each node"
