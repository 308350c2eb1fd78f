"""Do the batch, the workers and the GPUs go together?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from automodel_nb.checks.rules import Problem, rule
from automodel_nb.checks.world import has_gpus, number, workers_per_node, world_size
from automodel_nb.findings import Fix

if TYPE_CHECKING:
    from automodel_nb.checks.facts import Facts
    from automodel_nb.planning.parts import Parts

_SPLIT = ("tp_size", "pp_size", "cp_size")
#: Recipes with these divide their workers in other ways: a teacher apart from the student, diffusion.
_OTHER_MESHES = ("separate_meshes", "teacher_distributed", "fsdp", "ddp")


@rule("batch-size", "error")
def batch_divides(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """`global_batch_size` is a multiple of `local_batch_size` times the data-parallel workers.

    Data-parallel workers are all workers, divided by `tp_size`, `pp_size` and `cp_size` of `distributed`.

    Source: AutoModel's `StepScheduler.__init__`, which raises ValueError once the model has loaded.
    """
    workers, whole = world_size(parts), number(parts, "step_scheduler.global_batch_size")
    local = number(parts, "step_scheduler.local_batch_size") or 1
    split = _ranks_of_a_model(parts)
    if not _one_mesh(parts) or not workers or not whole or workers % split:
        return
    step = local * (workers // split)
    if whole % step:
        parallel = f"{workers} workers" if split == 1 else f"{workers // split} data-parallel workers ({workers} / {split})"
        better = max(step, round(whole / step) * step)
        message = f"global_batch_size {whole} is no multiple of local_batch_size {local} x {parallel} = {step}"
        yield Problem(
            message,
            "step_scheduler.global_batch_size",
            Fix(f"write {better}", "step_scheduler.global_batch_size", str(better)),
        )


@rule("parallel-sizes", "error")
def parallel_sizes_divide(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """The number of workers is a multiple of `tp_size` x `pp_size` x `cp_size` of `distributed`.

    Source: AutoModel builds its device mesh out of these sizes.
    """
    workers, split = world_size(parts), _ranks_of_a_model(parts)
    if _one_mesh(parts) and workers and workers % split:
        named = [name for name in _SPLIT if (number(parts, f"distributed.{name}") or 1) > 1]
        sizes = " x ".join(f"{name} {number(parts, f'distributed.{name}')}" for name in named)
        message = f"{workers} workers cannot be divided by {sizes}" + (f" = {split}" if len(named) > 1 else "")
        yield Problem(message, f"distributed.{named[0]}", Fix(f"use a multiple of {split} workers, or other sizes"))


@rule("workers-gpus", "error")
def a_gpu_for_each_worker(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """No node has more workers than GPUs.

    Source: each worker takes the GPU of its local rank, and NCCL refuses two ranks on one.
    """
    workers, gpus, field = workers_per_node(parts), _gpus_of_a_node(parts), _workers_field(parts)
    if workers and gpus and workers > gpus and parts.config.command is None:
        message = f"{workers} workers on each node, and {gpus} GPU{'s' if gpus > 1 else ''}"
        yield Problem(message, field, Fix(f"write {gpus}", field, str(gpus)))


@rule("gpus-idle", "warning")
def a_worker_for_each_gpu(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """No GPU that a cluster or cloud is asked for stays without a worker.

    Source: a GPU without a worker is paid for and does nothing.
    """
    workers, gpus, field = workers_per_node(parts), _gpus_of_a_node(parts), _workers_field(parts)
    if parts.sources.method != "interactive" and workers and gpus and workers < gpus and parts.config.command is None:
        message = f"{gpus} GPUs on each node are asked for, and {workers} worker{'s' if workers > 1 else ''} use them"
        yield Problem(message, field, Fix(f"write {gpus}", field, str(gpus)))


@rule("no-cuda", "warning")
def cuda_is_there(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """`device: cuda` is asked for on a node that has a GPU.

    Source: `/dev/nvidia*` and `CUDA_VISIBLE_DEVICES`, which tell what the notebook may use.
    """
    node = parts.facts.node
    if node and parts.config.device == "cuda" and not node.gpus and not parts.config.gpus:
        fix = Fix("write cpu", "interactive.device", "cpu")
        yield Problem("this node has no GPU that the notebook can see", "interactive.device", fix)


@rule("cpu-backend", "error")
def cpu_has_no_nccl(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """Several workers on CPUs talk through gloo: `dist_env.backend` is nccl by default, which needs GPUs.

    Source: AutoModel's `initialize_distributed`; PyTorch: "ProcessGroupNCCL is only supported with GPUs, no GPUs found!".
    """
    backend = parts.recipe.get("dist_env.backend") or "nccl"
    if has_gpus(parts) is False and (world_size(parts) or 1) > 1 and backend == "nccl" and parts.config.command is None:
        fix = Fix("write gloo", "dist_env.backend", "gloo")
        yield Problem("workers without a GPU cannot use the backend nccl", "dist_env.backend", fix)


def _one_mesh(parts: Parts) -> bool:
    """Whether AutoModel trains, and all workers on one mesh."""
    return parts.config.command is None and not any(parts.recipe.values.get(name) for name in _OTHER_MESHES)


def _ranks_of_a_model(parts: Parts) -> int:
    """Workers that hold one copy of the model together."""
    split = 1
    for name in _SPLIT:
        split *= max(1, number(parts, f"distributed.{name}") or 1)
    return split


def _gpus_of_a_node(parts: Parts) -> int | None:
    """GPUs that each node has, or is asked for; None where that is not said."""
    method, config = parts.sources.method, parts.config
    if method == "interactive":
        if has_gpus(parts) is not True:
            return None
        return len(config.gpus) if config.gpus else parts.facts.node.gpus if parts.facts.node else None
    if method == "slurm":
        text = config.gpus_per_node if config.gpu_request != "none" else None
        return int(text.rpartition(":")[2]) if text else None
    count = (config.accelerators or "").partition(":")[2]
    return max(1, int(float(count or 1))) if config.accelerators else None


def _workers_field(parts: Parts) -> str:
    fields = {"interactive": "nproc_per_node", "slurm": "ntasks_per_node", "skypilot": "gpus_per_node"}
    return f"{parts.sources.method}.{fields[parts.sources.method]}"


RULES = (
    batch_divides,
    parallel_sizes_divide,
    a_gpu_for_each_worker,
    a_worker_for_each_gpu,
    cuda_is_there,
    cpu_has_no_nccl,
)
