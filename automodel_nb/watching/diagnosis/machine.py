"""Signs of the machine: memory, disks, GPUs, containers, the scheduler; and what the launcher's own script says."""

from __future__ import annotations

from automodel_nb.watching.diagnosis.signs import named, raised, sign

_PYXIS = r"(?:slurmstepd\S*: error: )?pyxis: +"
_MORE_MEMORY = "Ask for more (`mem: 0` is all of a node's), or use fewer data loader workers."

SIGNS = (
    sign(
        "mount-missing",
        ["automodel_nb: mount source", "source path does not exist"],
        [
            r"automodel_nb: mount source (?P<what>.+) does not exist on (?P<node>\S+)",
            rf"{_PYXIS}.*source path does not exist: ",
        ],
        cause="A mount source does not exist on the node: {what}",
        fix="Make it there, or give a directory that all nodes have.",
    ),
    sign(
        "port-in-use",
        ["automodel_nb: port"],
        r"automodel_nb: port (?P<what>\d+) is in use on (?P<node>[^\s;]+)",
        cause="The rendezvous port {what} is in use.",
        fix="Leave `master_port` out for a free one, or give another.",
    ),
    sign(
        "gpu-memory",
        ["CUDA out of memory", "CUDA error: out of memory"],
        [raised("CUDA out of memory", "OutOfMemoryError", "RuntimeError"), raised("CUDA error: out of memory")],
        cause="The GPU ran out of memory.",
        fix="Use a smaller local_batch_size, activation checkpointing, shorter sequences, or more GPUs that share the model.",
    ),
    sign(
        "host-memory",
        ["oom-kill", "oom_kill", "Out Of Memory", "exceeded memory limit"],
        r"(?:slurmstepd|srun)\S*: error: .*(?:oom[-_]kill event|Out Of Memory|exceeded memory limit)",
        cause="The memory that the job was given on a node ran out, and a process was killed.",
        fix=_MORE_MEMORY,
    ),
    sign(
        "host-memory",
        ["DefaultCPUAllocator", "MemoryError", "Cannot allocate memory"],
        [raised(".*DefaultCPUAllocator: (?:can't|not enough)"), named("MemoryError"), raised(r"\[Errno 12\]", "OSError")],
        cause="The node's memory (not the GPU's) ran out.",
        fix=_MORE_MEMORY,
    ),
    sign(
        "shared-memory",
        ["shared memory"],
        [raised(".*(?:unable to|could not|insufficient).* shared memory"), "ERROR: Unexpected bus error.*shared memory"],
        cause="The shared memory (/dev/shm) that data loader workers use ran out.",
        fix="Use fewer data loader workers, or a container with more shared memory.",
    ),
    sign(
        "disk-full",
        ["No space left on device", "Disk quota exceeded"],
        [
            raised(".*(?:No space left on device|Disk quota exceeded)"),
            r"\S+: .*: (?:No space left on device|Disk quota exceeded)",
        ],
        cause="The disk is full, or a quota is reached.",
        fix="Make room, or write elsewhere (checkpoint.checkpoint_dir, hf_home).",
    ),
    sign(
        "not-writable",
        ["Read-only file system", "Permission denied"],
        raised(r"\[Errno (?:13|30)\] (?P<why>[^:]+): '(?P<what>[^']+)'", "OSError", "PermissionError"),
        cause="{what} cannot be written or read: {why}.",
        fix="Give a directory that the job may use.",
    ),
    sign(
        "driver",
        [
            "driver on your system is too old",
            "driver version is insufficient",
            "forward compatibility was attempted",
            "no kernel image is available",
        ],
        [
            raised(".*driver on your system is too old"),
            raised(".*(?:driver version is insufficient|forward compatibility was attempted|no kernel image is available)"),
        ],
        cause="The node's NVIDIA driver or GPU does not go with this PyTorch's CUDA.",
        fix="Use a PyTorch (or an image) built for an older CUDA, or another node.",
    ),
    sign(
        "nccl-on-cpu",
        ["ProcessGroupNCCL is only supported", "Distributed package doesn't have NCCL"],
        raised("(?:ProcessGroupNCCL is only supported with GPUs|Distributed package doesn't have NCCL)"),
        cause="The backend nccl needs GPUs and a PyTorch built for them.",
        fix="Set dist_env.backend to gloo, or ask for GPUs.",
    ),
    sign(
        "no-gpu",
        [
            "Torch not compiled with CUDA",
            "Found no NVIDIA driver",
            "No CUDA GPUs are available",
            "Cuda is not available",
            "_cuda_resetPeakMemoryStats",
            "no CUDA-capable device",
        ],
        raised(
            ".*(?:Torch not compiled with CUDA|Found no NVIDIA driver|No CUDA GPUs are available|Cuda is not available"
            "|_cuda_resetPeakMemoryStats|no CUDA-capable device)"
        ),
        cause="The training found no GPU that its PyTorch can use.",
        fix="Ask for GPUs, use a PyTorch built for CUDA, or train on the CPU: `device: cpu` here, `gpus_per_node: 0` on Slurm.",
    ),
    sign(
        "gpu-fault",
        ["uncorrectable ECC", "illegal memory access", "unspecified launch failure"],
        raised(".*CUDA error: (?:uncorrectable ECC|an illegal memory access|unspecified launch failure)"),
        cause="A GPU failed, or a kernel on it did something illegal.",
        fix="Try another node (`exclude`); if it comes again there, the program is at fault.",
    ),
    sign(
        "image",
        ["pyxis: failed to import", "pyxis: couldn't start", "[ERROR]", "FATAL:   "],
        [
            rf"{_PYXIS}(?:failed to import docker image|couldn't start container)",
            rf"{_PYXIS}\[ERROR\]",
            r"FATAL: +(?:Unable to (?:handle|build)|While making image|could not open image)",
        ],
        cause="The container image cannot be had on the node.",
        fix="Correct `container_image`; a private registry needs credentials for Enroot (or Apptainer).",
    ),
    sign(
        "no-pyxis",
        ["unrecognized option '--container"],
        r"(?:srun|sbatch): unrecognized option '--container",
        cause="This cluster's srun knows no containers: Pyxis is not installed.",
        fix="Use `container_runtime: apptainer`, or no container.",
    ),
    sign(
        "srun-option",
        ["unrecognized option", "invalid option"],
        r"(?P<program>srun|sbatch): (?:unrecognized|invalid) option (?:-- )?'?(?P<what>[^'\s=]+)",
        cause="{program} does not know the option {what}.",
        fix="Take it out of extra_sbatch, or the field that makes it.",
    ),
    sign(
        "command-missing",
        ["command not found"],
        r"(?:\S+: )?(?:line \d+: )?(?P<what>[^\s:]+): command not found",
        cause="There is no command `{what}` where the job runs.",
        fix="Install it, or set PATH in pre_commands or env_vars.",
    ),
)
