"""Rules on real facts: this machine's files, ports and AutoModel; ignoring and raising; no false alarm; speed."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import automodel_nb as am
from automodel_nb import checks, facts_files
from automodel_nb.checks.facts import measured_pace
from automodel_nb.configs.templates import PROFILING, TEMPLATES
from automodel_nb.facts import NodeFacts, PythonFacts
from automodel_nb.findings import Finding
from automodel_nb.planning.parts import TargetFacts
from tests.unit.checking import EIGHT_GPUS, LOGIN, codes, found_here, installed, one, parts_of

RECIPE = "recipe: TrainFinetuneRecipeForNextTokenPrediction\n"
DATA = Path(__file__).parents[1] / "data"
INSTALLED = TargetFacts(installed(), NodeFacts(8, 64), sys.executable)
needs_automodel = pytest.mark.skipif(not installed().root, reason="AutoModel is not installed; `make test` installs it")


def errors(findings: list[Finding]) -> list[str]:
    return [f"{finding.code}: {finding}" for finding in findings if finding.severity == "error"]


# --- no false alarm ---

SHAPES = {
    "vision": """
recipe: FinetuneRecipeForVLM
step_scheduler: {global_batch_size: 2, local_batch_size: 1, ckpt_every_steps: 200, val_every_steps: 999999}
rng: {_target_: nemo_automodel.components.training.rng.StatefulRNG, seed: 42, ranked: true}
model: {_target_: nemo_automodel.NeMoAutoModelForImageTextToText.from_pretrained, pretrained_model_name_or_path: org/vlm}
processor: {padding_side: right}
distributed: {strategy: fsdp2, dp_size: none, tp_size: 1, cp_size: 4, activation_checkpointing: true}
freeze_config: {freeze_vision_tower: true}
wandb: {project: '${oc.env:WANDB_PROJECT,mine}', dir: '${oc.env:WANDB_DIR,result/wandb}', enable: true, mode: offline}
ci: {time: "00:30:00"}
""",
    "benchmark with experts": """
recipe: BenchmarkingRecipeForNextTokenPrediction
seed: 1234
nvtx: true
benchmark: {warmup_steps: 10, peak_tflops: 989, nsys_ranks: [0]}
step_scheduler: {gc_every_steps: 10, global_batch_size: 128, local_batch_size: 2, num_epochs: 1, max_steps: 20}
distributed:
  strategy: fsdp2
  ep_size: 8
  pp_size: 1
  mp_policy: {param_dtype: bfloat16, reduce_dtype: float32}
  pipeline: {pp_schedule: interleaved1f1b, pp_microbatch_size: 2}
model:
  _target_: nemo_automodel.NeMoAutoModelForCausalLM.from_config
  config: {_target_: transformers.AutoConfig.from_pretrained, pretrained_model_name_or_path: org/moe}
  backend: {_target_: nemo_automodel.components.models.common.BackendConfig, attn: te}
checkpoint: {enabled: false}
loss_fn: {_target_: nemo_automodel.components.loss.te_parallel_ce.TEParallelCrossEntropy}
optimizer: {_target_: torch.optim.AdamW, betas: [0.9, 0.95], lr: 1e-5}
""",
    "a teacher apart from its student": """
recipe: KnowledgeDistillationRecipeForNextTokenPrediction
step_scheduler: {global_batch_size: 30, local_batch_size: 1}
separate_meshes: true
distributed: {strategy: fsdp2, dp_size: 6, tp_size: 1}
teacher_distributed: {strategy: fsdp2, dp_size: 1, tp_size: 2}
model: {pretrained_model_name_or_path: org/small}
teacher_model: {pretrained_model_name_or_path: org/large}
kd_ratio: 0.5
kd_loss_fn: {_target_: nemo_automodel.components.loss.kd_loss.KDLoss, temperature: 1.0}
""",
    "Megatron's data": """
recipe: TrainFinetuneRecipeForNextTokenPrediction
step_scheduler: {global_batch_size: 8, local_batch_size: 1, max_steps: 57205}
domain_mixture: {domains: [{name: web, path: /data/web/text, sampling_weight: 1.0}]}
dataset:
  _target_: nemo_automodel.components.datasets.llm.megatron_dataset.MegatronPretraining
  paths: ["70", /data/web/processed_text_document, "30", /data/code/processed_text_document]
  index_mapping_dir: /data/mapping_dir
  tokenizer: {_target_: transformers.AutoTokenizer.from_pretrained, pretrained_model_name_or_path: org/gpt}
dataloader: {_target_: torchdata.stateful_dataloader.StatefulDataLoader, dataloader_type: single}
validation_dataset_web: {paths: /data/web/validation_text_document}
lr_scheduler: {lr_decay_style: cosine, lr_warmup_steps: 5000, min_lr: 0.0}
""",
    "diffusion": """
recipe: TrainDiffusionRecipe
model: {pretrained_model_name_or_path: org/flux, model_type: flux, mode: finetune, cache_dir: null}
peft: {_target_: nemo_automodel.components._peft.lora.PeftConfig, dim: 64, target_modules: ["*.attn.to_out.0"]}
fsdp: {dp_size: 4, cp_size: 2, cpu_offload: false}
flow_matching: {adapter_type: flux}
step_scheduler: {num_epochs: 5, local_batch_size: 1, global_batch_size: 4, ckpt_every_steps: 500}
data: {dataloader: {cache_dir: PATH_TO_YOUR_DATA, base_resolution: [512, 512]}}
checkpoint: {checkpoint_dir: PATH_TO_YOUR_CKPT_DIR, restore_from: null}
""",
    "retrieval": """
recipe: TrainBiEncoderRecipe
step_scheduler: {global_batch_size: 128, local_batch_size: 1, ckpt_every_steps: 3000}
tokenizer: {_target_: transformers.AutoTokenizer.from_pretrained, pretrained_model_name_or_path: org/embed}
dataloader: {dataset: {data_dir_list: [./embed/TriviaQA.json], data_type: train}, num_workers: 8}
distributed: {_target_: nemo_automodel.components.distributed.fsdp2.FSDP2Manager, dp_size: none, tp_size: 1}
""",
    "somebody's own recipe": """
recipe: my_project.recipes.Mine
step_scheduler: {anything: 1}
step_sheduler: {max_steps: 3}
modle: x
""",
    "somebody's own command": """
interactive: {command: ./train.sh}
anything: {goes: $HOME/x, here: '${A:-b}'}
checkpoint: {no_such_key: 1}
""",
    "anchors": """
x-shared: &shared {attn_implementation: sdpa}
recipe: TrainFinetuneRecipeForNextTokenPrediction
model: {<<: *shared, pretrained_model_name_or_path: org/model}
""",
    "before 0.4": """
interactive: {automodel_version: 0.3.0, automodel_command: finetune}
step_scheduler: {global_batch_size: 64, local_batch_size: 8, ckpt_every_steps: 1000}
distributed: {_target_: nemo_automodel.components.distributed.fsdp2.FSDP2Manager, dp_size: none, tp_size: 1}
checkpoint: {load_base_model: false}
""",
}


@needs_automodel
@pytest.mark.parametrize("shape", SHAPES)
def test_recipes_of_many_shapes_give_no_error(shape: str, tmp_path: Path) -> None:
    findings = found_here(SHAPES[shape], cwd=tmp_path, target=INSTALLED)
    assert errors(findings) == []
    assert not codes(findings) & {"unknown-section", "maybe-node-local"}


@pytest.mark.parametrize("text", [*TEMPLATES.values(), PROFILING], ids=[*TEMPLATES, "profiling"])
def test_templates_give_no_error(text: str, tmp_path: Path) -> None:
    environ = LOGIN | {"HF_TOKEN": "x", "HF_HOME": str(tmp_path)}
    assert errors(found_here(text, cwd=tmp_path, environ=environ, target=INSTALLED)) == []


def test_the_tiny_recipe_gives_no_error(tmp_path: Path) -> None:
    (tmp_path / "tiny/model").mkdir(parents=True)
    for name in ("train", "val"):
        (tmp_path / f"tiny/{name}.jsonl").touch()
    text = (Path(__file__).parents[2] / "notebooks/tiny.yaml").read_text()
    target = TargetFacts(installed(), NodeFacts(0, 2), sys.executable)
    assert found_here(text, cwd=tmp_path, target=target) == []
    two = found_here(f"interactive: {{nproc_per_node: 2}}\n{text}", cwd=tmp_path, target=target)
    assert errors(two) == []


# --- the world as it is ---


def test_a_port_in_use_is_the_real_one(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        for text in (f"master_port: {port}", f"env_vars: {{MASTER_PORT: {port}}}"):
            findings = found_here(f"interactive: {{command: ./train.sh, {text}}}\n", cwd=tmp_path)
            assert f"port {port} is in use" in one(findings, "port-in-use").message
    assert "port-in-use" not in codes(found_here(f"interactive: {{command: x, master_port: {port}}}\n", cwd=tmp_path))


def test_files_that_are_there_and_that_are_not(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/train.jsonl").touch()
    text = (
        RECIPE + "dataset: {path_or_dataset_id: data/train.jsonl}\nvalidation_dataset: {path_or_dataset_id: data/val.jsonl}\n"
    )
    finding = one(found_here(text, cwd=tmp_path), "data-missing")
    assert finding.field == "validation_dataset.path_or_dataset_id"
    assert finding.message == f"there is no file {tmp_path}/data/val.jsonl"


def test_a_path_with_a_variable_is_the_jobs(tmp_path: Path) -> None:
    text = "interactive: {env_vars: {DATA: /nowhere}}\n" + RECIPE + "dataset: {path_or_dataset_id: $DATA/a.jsonl}\n"
    assert one(found_here(text, cwd=tmp_path), "data-missing").message == "there is no file /nowhere/a.jsonl"
    unknown = RECIPE + "dataset: {path_or_dataset_id: $SLURM_TMPDIR/a.jsonl}\n"
    assert "data-missing" not in codes(found_here(unknown, cwd=tmp_path))


def make_checkpoint(directory: Path, step: int, model: str, complete: bool = True) -> None:
    checkpoint = directory / f"epoch_0_step_{step}"
    checkpoint.mkdir(parents=True)
    (checkpoint / "config.yaml").write_text(f"model:\n  pretrained_model_name_or_path: {model}\n")
    if not complete:
        (checkpoint / ".incomplete").touch()


def test_checkpoints_that_are_there_already(tmp_path: Path) -> None:
    text = (
        RECIPE
        + "step_scheduler: {max_steps: 40}\nmodel: {pretrained_model_name_or_path: org/m}\ncheckpoint: {checkpoint_dir: ck}\n"
    )
    resuming = {"resumes", "nothing-to-train", "other-model"}
    assert not codes(found_here(text, cwd=tmp_path)) & resuming
    make_checkpoint(tmp_path / "ck", 39, "org/m", complete=False)
    assert not codes(found_here(text, cwd=tmp_path)) & resuming
    make_checkpoint(tmp_path / "ck", 19, "org/m")
    assert codes(found_here(text, cwd=tmp_path)) & resuming == {"resumes"}
    (tmp_path / "ck/epoch_0_step_39/.incomplete").unlink()
    assert codes(found_here(text, cwd=tmp_path)) & resuming == {"nothing-to-train"}
    assert codes(found_here(text.replace("org/m", "org/n"), cwd=tmp_path)) & resuming == {"nothing-to-train", "other-model"}
    gone = text.replace("checkpoint_dir: ck", "restore_from: ck/epoch_0_step_9")
    assert (
        one(found_here(gone, cwd=tmp_path), "restore-missing").message == f"there is no checkpoint {tmp_path}/ck/epoch_0_step_9"
    )


def test_room_on_a_small_disk(tmp_path: Path) -> None:
    if os.geteuid() or not shutil.which("mount"):
        pytest.skip("a small disk is a tmpfs, which only root can mount")
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", small], check=False).returncode:
        pytest.skip("this root may not mount")
    try:
        findings = found_here(RECIPE + f"checkpoint: {{checkpoint_dir: {small}/ck}}\n", cwd=tmp_path)
        assert "0.0 GiB left" in one(findings, "disk-space").message
        text = "slurm: {time: 60}\n" + RECIPE + f"checkpoint: {{checkpoint_dir: {small}/ck}}\n"
        apart = {f.field for f in found_here(text, cwd=tmp_path) if f.code == "node-local"}
        assert apart == {"checkpoint.checkpoint_dir", "slurm.job_dir"}  # the test's own directory is a temporary one, too
    finally:
        subprocess.run(["umount", small], check=True)


def test_a_dead_mount_is_silence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked = []

    def facts(path: str, mounts: list[tuple[str, str]]) -> facts_files.PathFacts:
        asked.append(path)
        if path == "/dead":
            time.sleep(5)
        return facts_files.PathFacts(path, True, True, path)

    monkeypatch.setattr(facts_files, "_facts", facts)
    begin = time.monotonic()
    assert set(facts_files.look(["/a", "/dead", "/b"], 0.6)) == {"/a", "/b"}
    assert set(facts_files.look(["/a", "/dead", "/b"], 0.6)) == {"/a", "/b"}
    assert time.monotonic() - begin < 1
    assert asked.count("/dead") == 1  # it is not asked again while it hangs


def test_pace_of_an_earlier_job(tmp_path: Path) -> None:
    log = tmp_path / "llm-20261201T000000Z-abcdefgh/output.log"
    log.parent.mkdir()
    shutil.copy(DATA / "sigkill.log", log)  # 25 steps in 6 seconds
    (tmp_path / "llm-20261202T000000Z-zzzzzzzz").mkdir()  # newer, and has not trained yet
    pace = measured_pace(str(tmp_path), "llm")
    assert pace is not None
    assert pace.job == log.parent.name
    assert pace.seconds == 0.25
    assert measured_pace(str(tmp_path), "ll") is None
    text = f"slurm: {{job_name: llm, job_dir: {tmp_path}, time: 1}}\n{RECIPE}step_scheduler: {{ckpt_every_steps: 100000}}\n"
    assert "interval-long" in codes(found_here(text))


# --- ignoring, raising, planning ---


def test_ignore_and_raise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = "slurm: {partition: batch}\n" + RECIPE
    assert {f.severity for f in am.preview(text).findings if f.code == "no-time"} == {"warning"}
    (tmp_path / "automodel_nb.toml").write_text('[checks]\nno-time = "error"\nresumes = "hint"\n')
    assert {f.severity for f in am.preview(text).findings if f.code == "no-time"} == {"error"}
    with pytest.raises(am.LaunchError, match="own limit"):
        am.launch(text)
    assert not list(tmp_path.glob("automodel_jobs"))
    assert "no-time" not in codes(list(am.preview(text, ignore=["no-time"]).findings))
    (tmp_path / "automodel_nb.toml").write_text('[checks]\nbatch-size = "hint"\nno-tim = "error"\n')
    findings = list(am.preview(text + "step_scheduler: {global_batch_size: 3}\n").findings)
    assert one(findings, "batch-size").severity == "error"  # raised, never lowered
    assert one(findings, "unknown-code").fix is not None
    (tmp_path / "automodel_nb.toml").write_text('[checks]\nno-time = "fatal"\n')
    with pytest.raises(am.LaunchError, match="'fatal' is no severity"):
        am.preview(text)


def test_mistakes_of_the_text_are_not_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = "interactive: {env_vars: {A: '${NOPE_NOT_SET}'}}\n" + RECIPE
    findings = list(am.preview(text, ignore=["unset-variable", "no-gpy"]).findings)
    assert one(findings, "unset-variable").severity == "error"
    assert one(findings, "not-ignored").severity == "hint"
    assert "did you mean no-gpu?" in str(one(findings, "unknown-code"))


def test_a_rule_reads_what_travels_as_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file's recipe, the cell's and --set over it: rules see what AutoModel will see."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recipe.yaml").write_text(RECIPE + "step_scheduler: {global_batch_size: 8, local_batch_size: 8}\n")
    options = {"overrides": {"interactive.nproc_per_node": "2", "dist_env.backend": "gloo"}}
    finding = one(list(am.preview(tmp_path / "recipe.yaml", **options).findings), "batch-size")  # type: ignore[arg-type]
    assert finding.source.endswith("recipe.yaml")
    options["overrides"]["step_scheduler.local_batch_size"] = "4"
    assert "batch-size" not in codes(list(am.preview(tmp_path / "recipe.yaml", **options).findings))  # type: ignore[arg-type]


def test_all_rules_in_time(tmp_path: Path) -> None:
    """50 ms for the rules and the facts of a launch on this node; the cluster's facts are left out."""
    text = (Path(__file__).parents[2] / "notebooks/tiny.yaml").read_text()
    parts = parts_of(text, cwd=tmp_path, target=INSTALLED if installed().root else EIGHT_GPUS)
    checks.run(parts)
    times = []
    for _ in range(7):
        begin = time.perf_counter()
        checks.run(parts)
        times.append(time.perf_counter() - begin)
    assert sorted(times)[3] < 0.05


def test_python_without_automodel(tmp_path: Path) -> None:
    target = TargetFacts(PythonFacts(None, True), NodeFacts(1, 1), "/usr/bin/python3")
    assert "pip install nemo-automodel" in str(one(found_here(RECIPE, cwd=tmp_path, target=target), "no-automodel"))
