"""Jobs to look at: what the view tests draw."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC

from automodel_nb.states import JobState
from automodel_nb.views import CardData, Failure
from automodel_nb.watching.points import MetricPoint
from automodel_nb.watching.progress import Progress

NOON = 1796126400.0  # 2026-12-01 12:00:00 UTC
DIRECTORY = "/home/ada/work/automodel_jobs/llm_finetune-20261201T014402Z-7k3f"


def training(steps: int, *, first: int = 0, val_every: int = 8) -> list[MetricPoint]:
    """A loss that falls from 6.4, with some noise, and a validation now and then."""
    points = []
    for step in range(first, steps):
        loss = 2.2 + 4.2 * math.exp(-4 * step / steps) + 0.1 * math.sin(step * 7.3)
        points.append(MetricPoint(step, step // 200, "train", loss, 1e-4, 1.04, 5918.28, 34.1, NOON + step))
        if (step + 1) % val_every == 0:
            points.append(MetricPoint(step, step // 200, "val", loss + 0.05, 1e-4, time=NOON + step))
    return points


COMPLETED = CardData(
    job_id="7k3f",
    name="llm_finetune",
    method="slurm",
    state=JobState.COMPLETED,
    reason="Trained all 40 steps; the model is saved.",
    directory=DIRECTORY,
    log_path=f"{DIRECTORY}/output.log",
    scheduler_id="60360068",
    cluster="alpha",
    nodes=["node07", "node08"],
    submitted=NOON,
    started=NOON + 43,
    ended=NOON + 43 + 751,
    as_of=NOON + 800,
    exit_code=0,
    progress=Progress(step=39, epoch=0, total_steps=40, fraction=1.0, eta_s=0),
    points=training(40),
    last_lines=[
        f"2026-12-01 12:12:0{i} | INFO | root | step 3{i} | epoch 0 | loss 2.85{i}1 | grad_norm 1.0371 | lr 1.00e-04 "
        "| mem 34.10 GiB | tps 5918.28(2959.14/gpu) | num_label_tokens 58"
        for i in range(8)
    ],
    checkpoint=f"{DIRECTORY}/checkpoints/epoch_0_step_39",
    model_path=f"{DIRECTORY}/checkpoints/epoch_0_step_39/model/consolidated",
    config=[("slurm.nodes", "2"), ("slurm.time", "04:00:00"), ("slurm.container_image", "nvcr.io/nvidia/nemo:dev")],
    command=f"torchrun --nnodes=2 -m nemo_automodel.cli.app recipe.yaml --checkpoint.checkpoint_dir={DIRECTORY}/checkpoints",
    zone=UTC,
)

RUNNING = replace(
    COMPLETED,
    state=JobState.RUNNING,
    reason="",
    ended=None,
    exit_code=None,
    as_of=NOON + 43 + 7400,
    time_limit=4 * 3600.0,
    progress=Progress(step=1829, epoch=3, total_steps=5000, fraction=0.366, eta_s=11520),
    points=training(1830, val_every=200),
    model_path="",
)

FAILED = replace(
    COMPLETED,
    state=JobState.FAILED,
    reason="The training command ended with exit code 1.",
    exit_code=1,
    progress=Progress(step=23, epoch=0, total_steps=40, fraction=0.6),
    points=training(24),
    model_path="",
    failure=Failure(
        "CUDA ran out of memory on one GPU.",
        [
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB.",
            '  File "masked_ce.py", line 71, in forward',
        ],
        "rank 3 on node07, line 812",
        "Halve `step_scheduler.local_batch_size`.",
    ),
)

PENDING = replace(
    COMPLETED,
    state=JobState.PENDING,
    reason="Waits for 2 nodes to become free.",
    nodes=(),
    started=None,
    ended=None,
    exit_code=None,
    estimate=NOON + 5400,
    progress=Progress(),
    points=(),
    last_lines=(),
    checkpoint="",
    model_path="",
)
