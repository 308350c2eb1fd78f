"""Documents to start from: the published launcher sections, each over the same small recipe."""

from __future__ import annotations

from automodel_nb.plan import Method

_RECIPE = """\
recipe: TrainFinetuneRecipeForNextTokenPrediction

step_scheduler:
  global_batch_size: 64          # divisible by local_batch_size x all workers
  local_batch_size: 4
  max_steps: 1000
  ckpt_every_steps: {interval}
  val_every_steps: 100

model:
  _target_: nemo_automodel.NeMoAutoModelForCausalLM.from_pretrained
  pretrained_model_name_or_path: meta-llama/Llama-3.2-1B

distributed:
  strategy: fsdp2

loss_fn:
  _target_: nemo_automodel.components.loss.masked_ce.MaskedCrossEntropy

dataset:
  _target_: nemo_automodel.components.datasets.llm.squad.make_squad_dataset
  dataset_name: rajpurkar/squad
  split: train

validation_dataset:
  _target_: nemo_automodel.components.datasets.llm.squad.make_squad_dataset
  dataset_name: rajpurkar/squad
  split: validation
  limit_dataset_samples: 64

dataloader:
  _target_: torchdata.stateful_dataloader.StatefulDataLoader
  collate_fn: nemo_automodel.components.datasets.utils.default_collater
  shuffle: true

validation_dataloader:
  _target_: torchdata.stateful_dataloader.StatefulDataLoader
  collate_fn: nemo_automodel.components.datasets.utils.default_collater

optimizer:
  _target_: torch.optim.AdamW
  lr: 1.0e-5
"""

_INTERACTIVE = """\
interactive:
  job_name: llm_finetune
  # nproc_per_node: 8            # default: every GPU of this node
  env_vars:
    HF_TOKEN: "${HF_TOKEN}"      # by name: the value never leaves this kernel's environment but for the job's

"""

_SLURM = """\
slurm:
  job_name: llm_finetune
  nodes: 2
  ntasks_per_node: 8
  time: "04:00:00"
  account: my_account
  partition: batch
  container_image: nvcr.io/nvidia/nemo:dev
  hf_home: ~/.cache/huggingface
  master_port: 13742
  env_vars:
    HF_TOKEN: "${HF_TOKEN}"

"""

_SKYPILOT = """\
skypilot:
  cloud: aws
  accelerators: "H100:8"
  num_nodes: 2
  use_spot: true
  disk_size: 200
  region: us-east-1
  setup: "pip install nemo-automodel"
  env_vars:
    HF_TOKEN: "${HF_TOKEN}"

"""

_SPOT_CHECKPOINTS = """\

checkpoint:                      # a spot instance can vanish: a short interval above, and a place that survives it here
  checkpoint_dir: /checkpoints/llm_finetune
"""

TEMPLATES: dict[Method, str] = {
    "interactive": _INTERACTIVE + _RECIPE.format(interval=500),
    "slurm": _SLURM + _RECIPE.format(interval=500),
    "skypilot": _SKYPILOT + _RECIPE.format(interval=50) + _SPOT_CHECKPOINTS,
}

#: A short profiling run, for the form and the documentation.
PROFILING = """\
slurm:
  job_name: llm_profile
  nodes: 1
  ntasks_per_node: 8
  time: "00:30:00"
  account: my_account
  partition: batch
  container_image: nvcr.io/nvidia/nemo:dev
  nsys_enabled: true

""" + _RECIPE.format(interval=500).replace("max_steps: 1000", "max_steps: 50")
