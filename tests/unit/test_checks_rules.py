"""Each rule by a document that it is for and one that it must leave alone, on facts as real machines give them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from automodel_nb import checks
from automodel_nb.checks.facts import CheckpointFacts, Facts, Pace
from automodel_nb.facts import NodeFacts, PythonFacts
from automodel_nb.facts_automodel import schema
from automodel_nb.planning.parts import TargetFacts
from tests.unit.checking import CLUSTER, EIGHT_GPUS, LOGIN, codes, found, installed, missing, one, there

RECIPE = "recipe: TrainFinetuneRecipeForNextTokenPrediction\n"
BATCH = "step_scheduler: {{global_batch_size: {}, local_batch_size: {}, ckpt_every_steps: 50, max_steps: 1000}}\n"
SLURM = "slurm:\n  time: '04:00:00'\n  partition: batch\n"
IMAGE = SLURM + "  container_image: nvcr.io/nvidia/nemo:25.09\n"
SPOT = (
    "skypilot:\n  infra: aws/us-east-1\n  accelerators: H100:8\n  num_nodes: 2\n  disk_size: 200\n  setup: 'true'\n"
    "  use_spot: true\n"
)
PARIS = Facts(cluster=CLUSTER)


class Case(NamedTuple):
    """A document with the fault, the field and a part of the message; and the same document without it."""

    code: str
    bad: str
    good: str
    field: str
    says: str
    facts: Facts = Facts()
    good_facts: Facts | None = None
    options: Mapping[str, Any] = MappingProxyType({})
    fix: str | None = None
    good_options: Mapping[str, Any] | None = None


def schema_of_installed() -> Facts:
    python = installed()
    return Facts(schema=schema(python.root, python.automodel or "")) if python.root else Facts()


HERE = schema_of_installed()
NO_GPU = {"target": TargetFacts(PythonFacts("0.7.0", True), NodeFacts(0, 4), "python")}
TWO = Facts(pace=Pace(30.0, "llm-20261201T000000Z-abcdefgh"))

CASES = [
    # keys
    Case(
        "recipe-key",
        RECIPE + "step_scheduler:\n  max_step: 10\n",
        RECIPE + "step_scheduler:\n  max_steps: 10\n",
        "step_scheduler.max_step",
        "no `step_scheduler.max_step`",
        HERE,
        fix="did you mean `max_steps`?",
    ),
    Case(
        "recipe-key",
        RECIPE + "checkpoint: {is_asynch: true}\n",
        RECIPE + "checkpoint: {is_async: true, restore_from: LATEST}\n",
        "checkpoint.is_asynch",
        "no `checkpoint.is_asynch`",
        HERE,
        fix="did you mean `is_async`?",
    ),
    Case(
        "recipe-key",
        RECIPE + "distributed: {strategy: ddp, sequence_parallel: true}\n",
        RECIPE + "distributed: {strategy: fsdp2, sequence_parallel: true, tp_size: 1}\n",
        "distributed.sequence_parallel",
        "no `distributed.sequence_parallel`",
        HERE,
    ),
    Case(
        "recipe-key",
        RECIPE + "optimizer: {_target_: torch.optim.AdamW, lr: 1.0e-5, weigth_decay: 0}\n",
        RECIPE + "optimizer: {_target_: torch.optim.AdamW, lr: 1.0e-5, foreach: false, param_group_overrides: []}\n",
        "optimizer.weigth_decay",
        "no `optimizer.weigth_decay`",
        HERE,
        fix="did you mean `weight_decay`?",
    ),
    Case(
        "recipe-key",
        RECIPE + "optimizer: {_target_: nemo_automodel.components.optim.optimizer.MuonConfig, beta: 1}\n",
        RECIPE + "optimizer: {_target_: apex.optimizers.Adam, anything: 1}\n",
        "optimizer.beta",
        "no `optimizer.beta`",
        HERE,
    ),
    Case(
        "recipe-key",
        RECIPE + "dataloader: {collate_fn: a.b, num_worker: 2}\n",
        RECIPE + "dataloader: {collate_fn: a.b, num_workers: 2, dataloader_type: single}\n",
        "dataloader.num_worker",
        "no `dataloader.num_worker`",
        HERE,
        fix="did you mean `num_workers`?",
    ),
    Case(
        "recipe-key",
        "recipe: FinetuneRecipeForVLM\nvalidation_dataloader: {batch_size: 2}\n",
        "recipe: FinetuneRecipeForVLM\nvalidation_dataloader: {num_workers: 2}\n",
        "validation_dataloader.batch_size",
        "no `validation_dataloader.batch_size`",
        HERE,
    ),
    Case(
        "unknown-section",
        RECIPE + "step_sheduler: {max_steps: 10}\n",
        RECIPE + "step_scheduler: {max_steps: 10}\n",
        "step_sheduler",
        "ignores `step_sheduler`",
        fix="did you mean `step_scheduler`?",
    ),
    Case(
        "ignored-section",
        RECIPE + "experiment_notes: 7\n",
        RECIPE + "x-notes: 7\n_anchors: {}\nnvtx: true\n",
        "experiment_notes",
        "does not read",
        HERE,
    ),
    Case("other-launcher", RECIPE + "nemo_run: {executor: local}\n", RECIPE + "nemo_run: {}\n", "nemo_run", "another launcher"),
    Case("unknown-recipe", "recipe: TrainFinetuneRecipe\n", RECIPE, "recipe", "no recipe `TrainFinetuneRecipe`", HERE),
    Case(
        "unknown-recipe",
        "recipe: nemo_automodel.recipes.llm.train.TrainFinetuneRecipeForNextTokenPrediction\n",
        "recipe: nemo_automodel.recipes.llm.train_ft.TrainFinetuneRecipeForNextTokenPrediction\n",
        "recipe",
        "does not exist",
        HERE,
        fix="write TrainFinetuneRecipeForNextTokenPrediction",
    ),
    Case(
        "unknown-target",
        RECIPE + "loss_fn: {_target_: nemo_automodel.components.loss.masked_ce.MaskedCE}\n",
        RECIPE + "loss_fn: {_target_: nemo_automodel.components.loss.masked_ce.MaskedCrossEntropy}\n",
        "loss_fn._target_",
        "does not exist",
        HERE,
    ),
    Case(
        "old-resume-key",
        "interactive: {automodel_version: 0.3.0}\nstep_scheduler: {checkpoint_interval: 5}\n",
        "interactive: {automodel_version: 0.3.0}\nstep_scheduler: {ckpt_every_steps: 5}\n",
        "step_scheduler.checkpoint_interval",
        "no release",
    ),
    # batch
    Case(
        "batch-size",
        RECIPE + BATCH.format(60, 4),
        RECIPE + BATCH.format(64, 4),
        "step_scheduler.global_batch_size",
        "60 is no multiple of local_batch_size 4 x 8 workers = 32",
        fix="write 64",
    ),
    Case(
        "batch-size",
        SLURM + "  nodes: 2\n" + RECIPE + BATCH.format(64, 8),
        SLURM + "  nodes: 2\n" + RECIPE + BATCH.format(64, 8) + "distributed: {tp_size: 2}\n",
        "step_scheduler.global_batch_size",
        "x 16 workers = 128",
        fix="write 128",
    ),
    Case(
        "parallel-sizes",
        RECIPE + "distributed: {tp_size: 3, cp_size: 2}\n",
        RECIPE + "distributed: {tp_size: 4, cp_size: 2}\n",
        "distributed.tp_size",
        "8 workers cannot be divided by tp_size 3 x cp_size 2 = 6",
    ),
    Case(
        "workers-gpus",
        "interactive: {nproc_per_node: 9}\n" + RECIPE,
        "interactive: {nproc_per_node: 8}\n" + RECIPE,
        "interactive.nproc_per_node",
        "9 workers on each node, and 8 GPUs",
        fix="write 8",
    ),
    Case(
        "workers-gpus",
        SLURM + "  gpus_per_node: h100:4\n" + RECIPE,
        SLURM + "  gpus_per_node: h100:8\n" + RECIPE,
        "slurm.ntasks_per_node",
        "8 workers on each node, and 4 GPUs",
        fix="write 4",
    ),
    Case(
        "gpus-idle",
        SLURM + "  ntasks_per_node: 4\n  gpus_per_node: 8\n" + RECIPE,
        SLURM + "  ntasks_per_node: 4\n" + RECIPE,
        "slurm.ntasks_per_node",
        "8 GPUs on each node are asked for, and 4 workers",
        fix="write 8",
    ),
    Case("gpus-idle", SPOT + "  gpus_per_node: 1\n" + RECIPE, SPOT + RECIPE, "skypilot.gpus_per_node", "and 1 worker use them"),
    Case(
        "no-cuda",
        "interactive: {device: cuda}\n" + RECIPE,
        "interactive: {device: cpu}\n" + RECIPE,
        "interactive.device",
        "no GPU",
        options=NO_GPU,
        fix="write cpu",
    ),
    Case(
        "cpu-backend",
        "interactive: {nproc_per_node: 2}\n" + RECIPE,
        "interactive: {nproc_per_node: 2}\ndist_env: {backend: gloo}\n" + RECIPE,
        "dist_env.backend",
        "cannot use the backend nccl",
        options=NO_GPU,
        fix="write gloo",
    ),
    # variables
    Case(
        "recipe-variable",
        RECIPE + "model: {cache_dir: $SCRATCH/hub}\n",
        "interactive: {env_vars: {SCRATCH: /s}}\n" + RECIPE + "model: {cache_dir: $SCRATCH/hub}\n",
        "model.cache_dir",
        "`$SCRATCH` is set in the notebook, but not in the job",
        options={"environ": LOGIN | {"SCRATCH": "/s"}},
        fix="pass it on: SCRATCH: ${SCRATCH} in env_vars",
    ),
    Case(
        "recipe-variable",
        RECIPE + "model: {cache_dir: '${HUB}'}\n",
        RECIPE + "model: {cache_dir: '${HUB,/hub}', price: $5, rank: $RANK}\n",
        "model.cache_dir",
        "`${HUB}` is not set in the job",
    ),
    Case(
        "recipe-env-syntax",
        RECIPE + "model: {cache_dir: '${HUB:-/hub}/x'}\n",
        RECIPE + "model: {cache_dir: '${HUB,/hub}/x'}\n",
        "model.cache_dir",
        "does not know the form `${HUB:-/hub}`",
        fix="write ${HUB,/hub}",
    ),
    Case(
        "secret-in-clear",
        "interactive: {env_vars: {WANDB_API_KEY: '${WANDB_API_KEY}'}}\n" + RECIPE + "comet: {api_key: '${WANDB_API_KEY}'}\n",
        "interactive: {env_vars: {WANDB_API_KEY: '${WANDB_API_KEY}'}}\n" + RECIPE,
        "comet.api_key",
        "in clear",
        options={"environ": LOGIN | {"WANDB_API_KEY": "12345678"}},
    ),
    Case(
        "secret-in-recipe",
        RECIPE + f"model: {{token: hf_{'a1B2' * 9}}}\n",
        RECIPE + "model: {token: hf_short}\n",
        "model.token",
        "a token itself",
    ),
    # checkpoints
    Case(
        "restore-missing",
        RECIPE + "checkpoint: {restore_from: /home/me/ck/epoch_0_step_9}\n",
        RECIPE + "checkpoint: {restore_from: LATEST}\n",
        "checkpoint.restore_from",
        "no checkpoint /home/me/ck/epoch_0_step_9",
        Facts(paths=missing("/home/me/ck/epoch_0_step_9")),
    ),
    Case(
        "restore-format",
        RECIPE + "checkpoint: {restore_from: {path: /ck}}\n",
        RECIPE + "checkpoint: {restore_from: /ck}\n",
        "checkpoint.restore_from",
        "must be a path",
        fix="write /ck",
    ),
    Case(
        "nothing-to-train",
        RECIPE + BATCH.format(64, 8) + "checkpoint: {checkpoint_dir: /ck}\n",
        RECIPE + BATCH.format(64, 8).replace("1000", "2000") + "checkpoint: {checkpoint_dir: /ck}\n",
        "checkpoint.checkpoint_dir",
        "train nothing",
        Facts(resumes=CheckpointFacts("epoch_0_step_999", 999)),
    ),
    Case(
        "other-model",
        RECIPE + "model: {pretrained_model_name_or_path: meta-llama/Llama-3.2-1B}\ncheckpoint: {checkpoint_dir: /ck}\n",
        RECIPE + "model: {pretrained_model_name_or_path: Qwen/Qwen3-8B}\ncheckpoint: {checkpoint_dir: /ck}\n",
        "checkpoint.checkpoint_dir",
        "of Qwen/Qwen3-8B",
        Facts(resumes=CheckpointFacts("epoch_0_step_9", 9, "Qwen/Qwen3-8B")),
    ),
    Case(
        "resumes",
        RECIPE + "checkpoint: {checkpoint_dir: /ck}\n",
        RECIPE + "checkpoint: {checkpoint_dir: /ck, restore_from: LATEST}\n",
        "checkpoint.checkpoint_dir",
        "goes on from epoch_0_step_9",
        Facts(resumes=CheckpointFacts("epoch_0_step_9", 9)),
    ),
    Case(
        "tilde",
        RECIPE + "checkpoint: {checkpoint_dir: ~/ck}\n",
        RECIPE + "checkpoint: {checkpoint_dir: /home/me/ck}\n",
        "checkpoint.checkpoint_dir",
        "does not expand `~`",
    ),
    # storage
    Case(
        "mount-missing",
        IMAGE + "  extra_mounts: [/home/me/data]\n" + RECIPE,
        IMAGE + "  extra_mounts: [/home/me/datb]\n" + RECIPE,
        "slurm.extra_mounts.0",
        "/home/me/data does not exist",
        Facts(paths=missing("/home/me/data")),
    ),
    Case(
        "mount-unseen",
        IMAGE + "  extra_mounts: ['/raid/data:/data:ro']\n" + RECIPE,
        IMAGE + "  extra_mounts: [/home/me/data]\n" + RECIPE,
        "slurm.extra_mounts.0",
        "/raid/data does not exist on this machine",
        Facts(paths=missing("/raid/data", "/")),
    ),
    Case(
        "image-missing",
        SLURM + "  container_image: nemo.sqsh\n" + RECIPE,
        IMAGE + RECIPE,
        "slurm.container_image",
        "no image /work/nemo.sqsh",
        Facts(paths=missing("/work/nemo.sqsh", "/work")),
    ),
    Case(
        "source-missing",
        SLURM + "  repo_root: /home/me/Automodel\n" + RECIPE,
        SLURM + RECIPE,
        "slurm.repo_root",
        "no directory",
        Facts(paths=missing("/home/me/Automodel")),
    ),
    Case(
        "model-missing",
        RECIPE + "model: {pretrained_model_name_or_path: ./llama}\n",
        RECIPE + "model: {pretrained_model_name_or_path: org/llama}\n",
        "model.pretrained_model_name_or_path",
        "no model /work/llama",
        Facts(paths=missing("/work/llama", "/work")),
    ),
    Case(
        "data-missing",
        RECIPE + "dataset: {path_or_dataset_id: data/train.jsonl}\n",
        RECIPE + "dataset: {path_or_dataset_id: rajpurkar/squad}\n",
        "dataset.path_or_dataset_id",
        "no file /work/data/train.jsonl",
        Facts(paths=missing("/work/data/train.jsonl", "/work")),
    ),
    Case(
        "checkpoint-not-mounted",
        IMAGE + RECIPE + "checkpoint: {checkpoint_dir: /lustre/ck}\n",
        IMAGE + "  extra_mounts: [/lustre]\n" + RECIPE + "checkpoint: {checkpoint_dir: /lustre/ck}\n",
        "checkpoint.checkpoint_dir",
        "vanish with it",
        fix="mount it: extra_mounts: [/lustre]",
    ),
    Case(
        "not-mounted",
        IMAGE + RECIPE + "dataset: {path_or_dataset_id: /lustre/a.jsonl}\n",
        IMAGE + RECIPE + "dataset: {path_or_dataset_id: data/a.jsonl}\n",
        "dataset.path_or_dataset_id",
        "the image must have it",
    ),
    Case(
        "node-local",
        SLURM + "  job_dir: /tmp/jobs\n" + RECIPE,
        SLURM + "  job_dir: /lustre/jobs\n" + RECIPE,
        "slurm.job_dir",
        "for itself: the job's log",
        Facts(paths=there("/tmp/jobs", "ext4") | there("/lustre/jobs", "lustre")),
    ),
    Case(
        "maybe-node-local",
        SLURM + "  job_dir: /data/jobs\n" + RECIPE,
        SLURM.replace("batch", "cpu") + "  job_dir: /data/jobs\n" + RECIPE,
        "slurm.job_dir",
        "(xfs)",
        Facts(paths=there("/data/jobs", "xfs"), cluster=CLUSTER),
    ),
    Case(
        "disk-space",
        RECIPE + "checkpoint: {checkpoint_dir: /ck}\nmodel: {pretrained_model_name_or_path: /m}\n",
        RECIPE + "checkpoint: {checkpoint_dir: /ck}\nmodel: {pretrained_model_name_or_path: /m}\npeft: {dim: 8}\n",
        "checkpoint.checkpoint_dir",
        "20.0 GiB left for checkpoints of 48.0 GiB each",
        Facts(paths=there("/ck", free=20 << 30) | there("/m", size=16 << 30)),
    ),
    # time limit
    Case(
        "no-time",
        "slurm: {partition: debug}\n" + RECIPE,
        "slurm: {time: 60}\n" + RECIPE,
        "slurm.time",
        "own limit holds: 10 min here",
        PARIS,
    ),
    Case(
        "time-short",
        "slurm: {time: 5}\n" + RECIPE,
        "slurm: {time: 5}\n" + RECIPE + "checkpoint: {enabled: false}\n",
        "slurm.time",
        "limit of 5 min leaves no 5 min",
    ),
    Case(
        "chain-checkpoints",
        SLURM + "  chain: 2\n" + RECIPE + "checkpoint: {enabled: false}\n",
        SLURM + "  chain: 2\n" + RECIPE,
        "checkpoint.enabled",
        "would begin anew",
        fix="write true",
    ),
    Case(
        "chain-alone",
        SLURM + "  chain: 2\n  array: 0-3\n" + RECIPE,
        SLURM + "  chain: 1\n  array: 0-3\n" + RECIPE,
        "slurm.chain",
        "an array cannot be chained",
    ),
    Case(
        "grace-short",
        SLURM.replace("batch", "cpu") + RECIPE,
        SLURM + RECIPE,
        "slurm.partition",
        "a preempted job of cpu has 30 s to save",
        PARIS,
    ),
    Case("nsys", SLURM + "  nsys_enabled: true\n" + RECIPE, SLURM + RECIPE, "slurm.nsys_enabled", "off in production"),
    Case(
        "nsys-long",
        SLURM + "  nsys_enabled: true\n" + RECIPE,
        SLURM + "  nsys_enabled: true\n  nsys_args: --duration=60\n" + RECIPE,
        "slurm.nsys_enabled",
        "a run of 4 h is captured whole",
    ),
    Case(
        "signal-early",
        "slurm: {time: 10, signal: 600}\n" + RECIPE,
        "slurm: {time: 10, signal: 300}\n" + RECIPE,
        "slurm.signal",
        "told to stop as it begins",
    ),
    Case(
        "signal-late",
        SLURM + "  signal: 60\n" + RECIPE,
        SLURM + "  signal: 300\n" + RECIPE,
        "slurm.signal",
        "1 min before the limit",
        fix="write 600",
    ),
    Case("signal-late", SLURM + "  signal: 0\n" + RECIPE, SLURM + RECIPE, "slurm.signal", "nothing is saved"),
    Case(
        "async-checkpoint",
        SLURM + "  signal: 300\n" + RECIPE + "checkpoint: {is_async: true}\n",
        SLURM + "  signal: 900\n" + RECIPE + "checkpoint: {is_async: true}\n",
        "slurm.signal",
        "asynchronously",
    ),
    Case(
        "preemption-signal",
        RECIPE + "step_scheduler: {preemption_signal: null}\n",
        RECIPE + "step_scheduler: {preemption_signal: SIGUSR1}\n",
        "step_scheduler.preemption_signal",
        "nothing is saved",
        fix="write SIGTERM",
    ),
    Case(
        "interval-long",
        SLURM + RECIPE + "step_scheduler: {ckpt_every_steps: 1000}\n",
        SLURM + RECIPE + "step_scheduler: {ckpt_every_steps: 100}\n",
        "step_scheduler.ckpt_every_steps",
        "after 8 h 20 min, the time limit after 4 h",
        TWO,
        fix="write 120",
    ),
    Case(
        "time-not-enough",
        SLURM + RECIPE + "step_scheduler: {max_steps: 1000}\n",
        SLURM + "  chain: 3\n" + RECIPE + "step_scheduler: {max_steps: 1000}\n",
        "slurm.time",
        "1000 steps take 8 h 20 min",
        TWO,
        fix="give more time, or chain: 3",
    ),
    # SkyPilot
    Case("infra-and-cloud", SPOT + "  cloud: aws\n" + RECIPE, SPOT + RECIPE, "skypilot.cloud", "twice"),
    Case(
        "region-without-cloud",
        "skypilot: {region: us-east-1}\n" + RECIPE,
        "skypilot: {cloud: aws, region: us-east-1}\n" + RECIPE,
        "skypilot.region",
        "needs a cloud",
    ),
    Case(
        "no-spot",
        "skypilot: {infra: slurm, use_spot: true}\n" + RECIPE,
        SPOT + RECIPE,
        "skypilot.use_spot",
        "no spot instances",
    ),
    Case(
        "spot-unmanaged",
        SPOT + "  managed: false\n" + RECIPE,
        SPOT + RECIPE,
        "skypilot.managed",
        "nothing starts the job again",
    ),
    Case(
        "spot-checklist",
        "skypilot: {cloud: aws, use_spot: true, setup: x}\n" + RECIPE,
        SPOT + RECIPE,
        "skypilot.use_spot",
        "`accelerators`, `num_nodes`, `disk_size`, `region`",
    ),
    Case(
        "spot-checklist",
        SPOT + RECIPE + "model: {pretrained_model_name_or_path: org/m}\n",
        SPOT + "  hf_token: ${HF_TOKEN}\n" + RECIPE + "model: {pretrained_model_name_or_path: org/m}\n",
        "skypilot.use_spot",
        "`env_vars.HF_TOKEN`",
        options={"environ": LOGIN | {"HF_TOKEN": "x"}},
    ),
    Case(
        "spot-interval",
        SPOT + RECIPE,
        SPOT + RECIPE + "step_scheduler: {ckpt_every_steps: 50}\n",
        "step_scheduler.ckpt_every_steps",
        "no `ckpt_every_steps`",
    ),
    Case(
        "spot-interval",
        SPOT + RECIPE + "step_scheduler: {ckpt_every_steps: 5000}\n",
        SPOT + RECIPE + "step_scheduler: {ckpt_every_steps: 200}\n",
        "step_scheduler.ckpt_every_steps",
        "every 5000 steps only",
    ),
    Case(
        "spot-checkpoints",
        SPOT + RECIPE + "checkpoint: {checkpoint_dir: /ck/a}\n",
        SPOT + "  file_mounts: {/ck: 's3://bucket'}\n" + RECIPE + "checkpoint: {checkpoint_dir: /ck/a}\n",
        "checkpoint.checkpoint_dir",
        "nothing to go on from",
    ),
    Case(
        "spot-checkpoints",
        SPOT + RECIPE + "checkpoint: {enabled: false}\n",
        SPOT + RECIPE + "checkpoint: {checkpoint_dir: 'msc://b/ck'}\n",
        "checkpoint.enabled",
        "checkpoints are off",
    ),
    Case(
        "checkpoints-apart",
        "skypilot: {cloud: aws, num_nodes: 2}\n" + RECIPE,
        "skypilot: {cloud: aws}\n" + RECIPE,
        "checkpoint.checkpoint_dir",
        "own disk",
    ),
    Case(
        "checkpoints-removed",
        "skypilot: {cloud: aws, down: true}\n" + RECIPE,
        "skypilot: {cloud: aws, down: false}\n" + RECIPE,
        "checkpoint.checkpoint_dir",
        "removed 10 minutes after",
    ),
    Case(
        "autostop-not-used", SPOT + "  autostop_minutes: 5\n" + RECIPE, SPOT + RECIPE, "skypilot.autostop_minutes", "not used"
    ),
    Case(
        "no-autostop",
        "skypilot: {cloud: yotta}\n" + RECIPE,
        "skypilot: {infra: aws}\n" + RECIPE,
        "skypilot.autostop_minutes",
        "cannot stop an idle cluster",
    ),
    Case(
        "no-stop",
        "skypilot: {cloud: lambda, down: false}\n" + RECIPE,
        "skypilot: {cloud: lambda, down: true}\n" + RECIPE,
        "skypilot.down",
        "can only remove it",
    ),
    Case(
        "autostop",
        "skypilot: {cloud: aws}\n" + RECIPE,
        SPOT + RECIPE,
        "skypilot.autostop_minutes",
        "10 minutes after its job's end",
    ),
    Case(
        "no-upload",
        "skypilot: {cloud: aws, workdir: src}\n" + RECIPE,
        "skypilot: {cloud: aws, workdir: /lib}\n" + RECIPE,
        "skypilot.workdir",
        "no directory /work/src",
        Facts(paths=missing("/work/src") | there("/lib")),
    ),
    Case(
        "inherit-env",
        "skypilot: {cloud: aws, inherit_env: true}\n" + RECIPE,
        "skypilot: {cloud: aws}\n" + RECIPE,
        "skypilot.inherit_env",
        "this machine",
    ),
    Case(
        "not-uploaded",
        "skypilot: {cloud: aws}\n" + RECIPE + "dataset: {path_or_dataset_id: a/b.jsonl}\n",
        "skypilot: {cloud: aws, workdir: up}\n" + RECIPE + "dataset: {path_or_dataset_id: a/b.jsonl}\n",
        "dataset.path_or_dataset_id",
        "`a/b.jsonl` is a path on this machine",
        Facts(paths=there("/work/a/b.jsonl") | there("/work/up/a/b.jsonl")),
    ),
    # ports
    Case(
        "port-in-use",
        "interactive: {command: ./train.sh, master_port: 29500}\n",
        "interactive: {command: ./train.sh}\n",
        "interactive.master_port",
        "29500 is in use",
        Facts(busy_ports=frozenset({29500})),
        Facts(),
    ),
    Case(
        "port-ephemeral",
        SLURM + "  master_port: 40000\n" + RECIPE,
        SLURM + "  master_port: 13742\n" + RECIPE,
        "slurm.master_port",
        "outgoing connections (32768 to 60999)",
        Facts(ephemeral=(32768, 60999)),
    ),
    Case(
        "port-shared-node",
        SLURM + "  ntasks_per_node: 2\n  master_port: 13742\n" + RECIPE,
        SLURM + "  master_port: 13742\n" + RECIPE,
        "slurm.master_port",
        "with 2 of 8 GPUs",
        PARIS,
    ),
    # containers
    Case(
        "image-case",
        SLURM + "  container_image: nvcr.io/NVIDIA/nemo:dev\n" + RECIPE,
        IMAGE + RECIPE,
        "slurm.container_image",
        "capital letters",
        fix="write nvcr.io/nvidia/nemo:dev",
    ),
    Case(
        "image-tag",
        SLURM + "  container_image: nvcr.io/nvidia/nemo\n" + RECIPE,
        SLURM + "  container_image: localhost:5000/nemo:dev\n" + RECIPE,
        "slurm.container_image",
        "`latest`",
    ),
    Case(
        "image-digest",
        SLURM + f"  container_image: nvcr.io/nvidia/nemo@sha256:{'0' * 64}\n" + RECIPE,
        IMAGE + RECIPE,
        "slurm.container_image",
        "Enroot 3",
    ),
    Case(
        "image-runtime",
        SLURM + "  container_image: /i/nemo.sif\n" + RECIPE,
        SLURM + "  container_image: /i/nemo.sif\n  container_runtime: apptainer\n" + RECIPE,
        "slurm.container_image",
        "pyxis does not run a sif image",
        fix="write container_runtime: apptainer",
    ),
    Case(
        "no-container",
        SLURM + "  extra_mounts: [/data]\n" + RECIPE,
        IMAGE + "  extra_mounts: [/data]\n" + RECIPE,
        "slurm.extra_mounts",
        "needs a container",
    ),
    # the cluster
    Case(
        "no-partition",
        SLURM.replace("batch", "bacth") + RECIPE,
        SLURM + RECIPE,
        "slurm.partition",
        "no partition `bacth`",
        PARIS,
        fix="did you mean batch?",
    ),
    Case(
        "partition-down",
        SLURM.replace("batch", "debug").replace("04:00", "00:20") + RECIPE,
        SLURM + RECIPE,
        "slurm.partition",
        "not up",
        PARIS,
    ),
    Case(
        "partition-time",
        SLURM.replace("batch", "debug") + RECIPE,
        SLURM.replace("batch", "cpu") + "  gpu_request: none\n" + RECIPE,
        "slurm.time",
        "4 h is longer than partition debug allows, 30 min",
        PARIS,
        fix="write 00:30:00",
    ),
    Case(
        "partition-nodes",
        SLURM.replace("batch", "debug") + "  nodes: 3\n" + RECIPE,
        SLURM + "  nodes: 4\n" + RECIPE,
        "slurm.nodes",
        "3 nodes are asked for, and partition debug gives 2 at most",
        PARIS,
        fix="write 2",
    ),
    Case(
        "no-gres",
        SLURM.replace("batch", "cpu") + RECIPE,
        SLURM.replace("batch", "cpu") + "  gpu_request: none\n" + RECIPE,
        "slurm.gpu_request",
        "knows of no GPUs",
        PARIS,
        fix="write gpu_request: none",
    ),
    Case(
        "node-too-small",
        SLURM + "  ntasks_per_node: 16\n" + RECIPE,
        SLURM + RECIPE,
        "slurm.ntasks_per_node",
        "has 16 GPUs: 8 at most",
        PARIS,
        fix="write 8",
    ),
    Case(
        "node-too-small",
        SLURM + "  gpus_per_node: a100:8\n" + RECIPE,
        SLURM + "  gpus_per_node: H100:8\n" + RECIPE,
        "slurm.gpus_per_node",
        "type a100",
        PARIS,
        fix="there is h100",
    ),
    Case(
        "node-too-small",
        SLURM + "  cpus_per_task: 16\n" + RECIPE,
        SLURM + "  cpus_per_task: 8\n" + RECIPE,
        "slurm.cpus_per_task",
        "8 workers x 16 CPUs = 128, and no node of partition batch has more than 64",
        PARIS,
        fix="write 8",
    ),
    Case(
        "node-too-small",
        SLURM + "  mem: 1T\n" + RECIPE,
        SLURM + "  mem: 500G\n" + RECIPE,
        "slurm.mem",
        "500 GiB at most (1024 asked for)",
        PARIS,
    ),
    Case(
        "no-feature",
        SLURM + "  constraint: h200&ib\n" + RECIPE,
        SLURM + "  constraint: h100&ib\n" + RECIPE,
        "slurm.constraint",
        "feature `h200`",
        PARIS,
    ),
    Case(
        "account",
        SLURM + "  account: labs\n" + RECIPE,
        SLURM + "  account: lab\n" + RECIPE,
        "slurm.account",
        "no account of yours",
        PARIS,
        fix="did you mean lab?",
    ),
    Case(
        "qos",
        SLURM.replace("batch", "debug") + "  qos: high\n" + RECIPE,
        SLURM + "  qos: high\n" + RECIPE,
        "slurm.qos",
        "QOS `high`",
        PARIS,
    ),
    Case(
        "no-pyxis",
        IMAGE + RECIPE,
        IMAGE + RECIPE,
        "slurm.container_image",
        "knows no containers",
        Facts(cluster=replace(CLUSTER, pyxis=False)),
        PARIS,
    ),
    # what is installed
    Case(
        "no-python",
        "interactive: {python: /nope/python}\n" + RECIPE,
        RECIPE,
        "interactive.python",
        "`/nope/python`: there is no program",
        options={"target": replace(EIGHT_GPUS, python=PythonFacts(problem="there is no program `/nope/python`"))},
        good_options={},
    ),
    Case(
        "no-automodel",
        RECIPE,
        "interactive: {pre_commands: source env/bin/activate}\n" + RECIPE,
        "interactive.python",
        "AutoModel is not installed",
        options={"target": replace(EIGHT_GPUS, python=PythonFacts(None, True))},
    ),
    Case(
        "no-torch",
        RECIPE,
        "interactive: {pre_commands: source env/bin/activate}\n" + RECIPE,
        "interactive.python",
        "PyTorch is not installed",
        options={"target": replace(EIGHT_GPUS, python=PythonFacts("0.7.0", False))},
    ),
    Case(
        "no-ft-launcher",
        SLURM + "  fault_tolerance: true\n" + RECIPE,
        SLURM + "  fault_tolerance: false\n" + RECIPE,
        "slurm.fault_tolerance",
        "nvidia-resiliency-ext",
    ),
    Case(
        "fault-tolerance",
        RECIPE + "fault_tolerance: {max_restarts: 3}\n",
        RECIPE + "fault_tolerance: {enabled: false}\n",
        "fault_tolerance",
        "works with Slurm only",
    ),
    Case(
        "no-chdir",
        "interactive: {chdir: /work/nope}\n" + RECIPE,
        "interactive: {chdir: /work}\n" + RECIPE,
        "interactive.chdir",
        "no directory /work/nope",
        Facts(paths=missing("/work/nope", "/work") | there("/work")),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=[f"{case.code}-{case.field.rpartition('.')[2]}" for case in CASES])
def test_rule(case: Case) -> None:
    if case.facts is HERE and HERE.schema is None:
        pytest.skip("AutoModel is not installed; `make test` installs it")
    finding = one([f for f in found(case.bad, case.facts, **case.options) if f.field == case.field], case.code)
    assert case.says in finding.message
    (rule,) = [rule for rule in checks.RULES if rule.code == case.code]
    assert finding.severity == rule.severity
    if case.fix is not None:
        assert finding.fix is not None
        assert finding.fix.text == case.fix
    options = case.options if case.good_options is None else case.good_options
    assert case.code not in codes(found(case.good, case.good_facts or case.facts, **options))


def test_every_rule_has_a_case() -> None:
    assert {case.code for case in CASES} == {rule.code for rule in checks.RULES}


def test_findings_point_at_the_text() -> None:
    """A field that is there: its value; an unknown key: the key; what is missing: the section that it belongs to."""
    text = RECIPE + "step_sheduler:\n  max_steps: 10\nslurm:\n  time: 5\n  signal: 60\ncheckpoint: {is_async: true}\n"
    findings = found(text)
    assert (one(findings, "unknown-section").line, one(findings, "unknown-section").column) == (2, 1)
    assert (one(findings, "signal-late").line, one(findings, "signal-late").column) == (6, 11)
    missing_time = one(found(RECIPE + "slurm:\n  nodes: 1\n"), "no-time")
    assert (missing_time.line, missing_time.column) == (2, 1)


def test_a_finding_in_a_file_names_the_file() -> None:
    finding = one(found("", file_text=RECIPE + BATCH.format(60, 4)), "batch-size")
    assert str(finding).startswith("/work/recipe.yaml, line 2, column ")


def test_rules_are_silent_without_facts() -> None:
    """No facts, no word on what only facts can tell."""
    needs_facts = {
        "recipe-key",
        "unknown-target",
        "no-partition",
        "account",
        "data-missing",
        "model-missing",
        "mount-missing",
        "disk-space",
    }
    for case in CASES:
        if case.code in needs_facts:
            assert case.code not in codes(found(case.bad, Facts(), **case.options))


def test_no_message_holds_a_secret() -> None:
    token, number = f"hf_{'a1B2' * 9}", "12345678"
    text = f"interactive: {{env_vars: {{KEY: '${{KEY}}'}}}}\n{RECIPE}model: {{token: {token}}}\ncomet: {{api_key: $KEY}}\n"
    findings = found(text, environ=LOGIN | {"KEY": number})
    assert {"secret-in-recipe", "secret-in-clear"} <= codes(findings)
    assert token not in repr(findings)
    assert number not in repr(findings)
