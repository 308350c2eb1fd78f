"""Plans: what a document becomes, without a launch."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import automodel_nb as am
from automodel_nb import cpu
from automodel_nb.errors import LaunchError
from automodel_nb.facts import NodeFacts, PythonFacts, node_facts
from automodel_nb.plan import Plan
from automodel_nb.planning import parts as parts_module

RECIPE = "recipe: Some.Recipe\nmodel: {name: x}   # kept\n"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AUTOMODEL_NB_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node with eight GPUs: there is none here."""
    monkeypatch.setattr(parts_module, "node_facts", lambda: NodeFacts(8, 64))


def old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts_module, "python_facts", lambda python: PythonFacts("0.3.0", True))


def preview(fields: str = "", recipe: str = RECIPE, **options: object) -> Plan:
    section = f"interactive: {{{fields}}}\n" if fields else ""
    return am.preview(section + recipe, **options)  # type: ignore[arg-type]


def test_one_process_runs_without_torchrun(gpus: None) -> None:
    command = preview("nproc_per_node: 1").command
    assert "torch.distributed.run" not in command
    assert command.count("--nproc-per-node 1") == 1
    assert '-m nemo_automodel.cli.app "$AUTOMODEL_JOB_DIR"/recipe.yaml' in command


def test_every_gpu_of_the_node_by_default(gpus: None) -> None:
    assert "torch.distributed.run --standalone --nproc-per-node=8 -m nemo_automodel.cli.app" in preview().command


def test_chosen_gpus(gpus: None) -> None:
    plan = preview('gpus: "2,5"')
    assert plan.environment["CUDA_VISIBLE_DEVICES"] == "2,5"
    assert "--nproc-per-node=2" in plan.command


def test_the_older_generation(gpus: None, monkeypatch: pytest.MonkeyPatch) -> None:
    old(monkeypatch)
    plan = preview("automodel_command: pretrain, automodel_domain: vlm", "model: {name: x}\n")
    assert "-m nemo_automodel._cli.app pretrain vlm -c" in plan.command
    assert not plan.errors


def test_automodel_version_wins_over_what_is_installed(gpus: None) -> None:
    assert "nemo_automodel._cli.app finetune llm" in preview("automodel_version: 0.3.0").command


def test_a_port_is_not_used_and_that_is_said(gpus: None) -> None:
    plan = preview("master_port: 29500")
    assert [(f.code, f.severity, f.line, f.column) for f in plan.findings] == [("port-not-used", "warning", 1, 28)]
    assert "29500" not in plan.command


def test_the_recipe_is_what_was_typed() -> None:
    text = "# head\r\ninteractive:\r\n  device: cpu\r\n# mine\r\nrecipe: Some.Recipe # tail\r\nx: [1e-5, on, 0123]\r\n"
    assert am.preview(text).files["recipe.yaml"] == "# head\r\n# mine\r\nrecipe: Some.Recipe # tail\r\nx: [1e-5, on, 0123]\r\n"


def test_a_file_is_the_recipe_and_the_cell_travels_as_arguments(place: Path) -> None:
    from automodel_nb.api import plan_of

    (place / "r.yaml").write_bytes(b"\xef\xbb\xbfinteractive: {device: cpu}\nrecipe: R\nmodel: {a: 1}\n")
    cell = "interactive: {nproc_per_node: 2}\nmodel: {b: two words}\nlr: 1.0e-4\n"
    plan = plan_of(cell, file=Path("r.yaml"), overrides={"x.y": "3", "interactive.job_name": "named"})
    assert plan.files["recipe.yaml"] == "\ufeffrecipe: R\nmodel: {a: 1}\n"
    assert "'--model.b=two words' --lr=0.0001 --x.y=3" in plan.command
    assert "--nproc-per-node=2" in plan.command
    assert plan.name == "named"


def test_what_cannot_travel_is_an_error_with_a_place(place: Path) -> None:
    from automodel_nb.api import plan_of

    (place / "r.yaml").write_text("recipe: Some.Recipe\n")
    plan = plan_of("interactive: {device: cpu}\nwhen: 2024-01-01\n", file=Path("r.yaml"))
    assert [(f.code, f.line) for f in plan.errors] == [("cannot-travel", 2)]
    assert "put when into the file" in plan.errors[0].message


def test_checkpoints_go_into_the_jobs_own_directory_unless_the_recipe_says_where() -> None:
    assert '--checkpoint.checkpoint_dir="$AUTOMODEL_JOB_DIR"/checkpoints' in preview("device: cpu").command
    named = preview("device: cpu", RECIPE + "checkpoint: {checkpoint_dir: mine}\n")
    assert "checkpoint_dir" not in named.command
    assert named.recipe_checkpoint_dir == "mine"


def test_published_resume_keys_become_those_that_are_read(place: Path) -> None:
    (place / "a/b").mkdir(parents=True)
    plan = preview("device: cpu", RECIPE + "step_scheduler:\n  checkpoint_interval: 10 # often\nrestore_from: {path: a/b}\n")
    assert "  ckpt_every_steps: 10 # often\n" in plan.files["recipe.yaml"]
    assert "restore_from: a/b" in plan.files["recipe.yaml"]
    assert "-  checkpoint_interval: 10 # often\n" in plan.diff
    assert "+  ckpt_every_steps: 10 # often\n" in plan.diff
    assert {f.code for f in plan.findings} == {"published-key"}


def test_nothing_of_a_launch_is_in_the_files() -> None:
    """Two previews are byte for byte alike, and hold neither a path of the job nor a time."""
    one, two = preview("device: cpu"), preview("device: cpu")
    assert one.files == two.files
    assert "automodel_jobs" not in "".join(one.files.values())


def test_values_arrive_as_typed() -> None:
    """Case C03."""
    text = """interactive:
  device: cpu
  env_vars: {MSG: "it's $HOME; echo pwned", PATTERN: 'a b"c', EMPTY: "", YES: yes, NUM: 0123, E: 1e-5}
"""
    plan = am.preview(text + RECIPE)
    wanted = {"MSG": "it's $HOME; echo pwned", "PATTERN": 'a b"c', "EMPTY": "", "YES": "yes", "NUM": "0123", "E": "1e-5"}
    assert {name: plan.environment[name] for name in wanted} == wanted
    assert [f.code for f in plan.findings] == ["env-syntax"]


def test_secrets_print_as_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "value-of-the-token")
    plan = preview('device: cpu, hf_token: "${HF_TOKEN}", env_vars: {B: "x-${HF_TOKEN}"}')
    assert str(plan.environment["HF_TOKEN"]) == "${HF_TOKEN}"
    assert str(plan.environment["B"]) == "x-${HF_TOKEN}"
    assert "value-of-the-token" not in repr(plan)


@pytest.mark.parametrize("field", ["command: echo {}", "pre_commands: [echo {}]", "job_name: {}"])
def test_a_typed_token_is_refused_wherever_it_stands(field: str) -> None:
    """Case C14."""
    token = "hf_" + "aB3d" * 8 + "xy"
    try:
        found = preview("device: cpu, " + field.format(token)).errors
    except LaunchError as error:
        found = error.findings
    assert "literal-secret" in [finding.code for finding in found]
    assert token not in repr(found)


def test_the_job_does_not_get_the_kernels_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Case C04: what a surrounding Slurm job set reaches nothing."""
    for name in ("SLURM_JOB_ID", "SLURM_CPU_BIND", "SBATCH_PARTITION", "PMIX_RANK", "MASTER_PORT", "MINE"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("SLURM_CONF", "/etc/slurm.conf")
    plain = preview("device: cpu").environment
    assert plain["SLURM_CONF"] == "/etc/slurm.conf"
    assert not {"SLURM_JOB_ID", "SLURM_CPU_BIND", "SBATCH_PARTITION", "PMIX_RANK", "MASTER_PORT", "MINE"} & set(plain)
    inherited = preview("device: cpu, inherit_env: true").environment
    assert inherited["MINE"] == "x"
    assert not {"SLURM_JOB_ID", "SLURM_CPU_BIND", "SBATCH_PARTITION", "PMIX_RANK", "MASTER_PORT"} & set(inherited)


def test_on_a_cpu_the_shim_comes_before_the_users_own_paths() -> None:
    plan = preview("device: cpu, nproc_per_node: 2, env_vars: {PYTHONPATH: /mine}")
    assert plan.environment["PYTHONPATH"] == os.pathsep.join([str(cpu.PATH), "/mine"])
    assert "--dist_env.backend=gloo" in plan.command
    assert "gloo" not in preview("device: cpu", RECIPE + "dist_env: {backend: mpi}\n").command


def test_an_own_command_is_shell_and_needs_no_recipe() -> None:
    plan = am.preview(
        "interactive:\n  device: cpu\n  pre_commands: [module load cuda]\n  command: |\n    echo a\n    echo $HOME\n"
    )
    assert plan.command == "echo a\necho $HOME\n"
    assert plan.files["launch.sh"].endswith("\n# pre_commands\nmodule load cuda\n\necho a\necho $HOME\n\n")
    assert not plan.errors


@pytest.mark.parametrize(
    ("document", "method", "chosen"),
    [
        (RECIPE, None, "interactive"),
        ("interactive: {device: cpu}\n" + RECIPE, None, "interactive"),
        (RECIPE, "interactive", "interactive"),
    ],
)
def test_routing(document: str, method: str | None, chosen: str) -> None:
    assert am.preview(document, method).method == chosen


@pytest.mark.parametrize(
    ("document", "method", "words"),
    [
        ("slurm: {nodes: 1}\n", "interactive", "the argument says interactive, but the YAML has a `slurm:` section"),
        ("slurm: {nodes: 1}\nskypilot: {cloud: aws}\n", None, "two launcher sections"),
        ("slurm: nodes\n", None, "`slurm:` holds no fields"),
    ],
)
def test_texts_that_do_not_agree(document: str, method: str | None, words: str) -> None:
    with pytest.raises(LaunchError, match=words) as caught:
        am.preview(document + RECIPE, method)
    assert caught.value.findings[0].line is not None


def test_ignore_lifts_a_finding_but_not_one_of_the_text(gpus: None) -> None:
    assert preview("master_port: 29500", ignore=["port-not-used"]).findings == ()
    with pytest.raises(LaunchError):
        preview("nodez: 1", ignore=["unknown-key"])


def test_profiles_give_defaults_that_the_cell_overrides(place: Path, gpus: None) -> None:
    (place / "automodel_nb.toml").write_text(
        "[interactive]\njob_name = 'site'\nnproc_per_node = 4\n[profiles.big.interactive]\nnproc_per_node = 6\n"
    )
    assert (preview().name, "--nproc-per-node=4" in preview().command) == ("site", True)
    assert "--nproc-per-node=6" in preview(profile="big").command
    assert "--nproc-per-node=2" in preview("nproc_per_node: 2", profile="big").command
    with pytest.raises(LaunchError, match="there is big"):
        preview(profile="bigg")


def test_gpus_are_counted_by_what_the_kernel_may_use(tmp_path: Path) -> None:
    for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"):
        (tmp_path / name).touch()
    assert node_facts({}, tmp_path).gpus == 2
    assert node_facts({"CUDA_VISIBLE_DEVICES": "3"}, tmp_path).gpus == 1
    assert node_facts({"CUDA_VISIBLE_DEVICES": ""}, tmp_path).gpus == 0


def test_template_of_each_method_previews() -> None:
    os.environ.setdefault("HF_TOKEN", "")
    assert "recipe:" in am.template("interactive")
    assert am.template("slurm").startswith("slurm:\n  job_name: llm_finetune\n  nodes: 2\n")
    with pytest.raises(LaunchError, match="did you mean slurm"):
        am.template("slrm")


def test_a_mistake_in_a_file_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = Path("job.yaml")
    file.write_text(
        f"slurm:\n  account: ${{NOT_SET}}\n  env_vars: {{A: '${{NOT_SET}}'}}\n  partion: batch\n  nodes: 1\n{RECIPE}"
    )
    with pytest.raises(LaunchError) as caught:
        am.preview(file)
    assert {(finding.source, finding.line) for finding in caught.value.findings} == {
        (str(file.resolve()), n) for n in (2, 3, 4)
    }
    with pytest.raises(LaunchError) as caught:
        am.preview("slurm:\n  partion: batch\n" + RECIPE)
    assert {(found.source, found.line) for found in caught.value.findings} == {("cell", 2)}
    file.write_bytes(b"a: 1\nb: \xe9\n")
    with pytest.raises(LaunchError, match=r"job\.yaml, line 2, column 1: it is not UTF-8 \(save it as UTF-8\)"):
        am.preview(file)
