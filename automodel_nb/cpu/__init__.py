"""Lets an AutoModel recipe run where there is no GPU: tutorials, tests, a first try on a laptop.

AutoModel asks ``torch.cuda.is_available()`` before most of what it does with a GPU, and works on a CPU but for a few
places that do not ask. A launch with ``device: cpu`` puts `PATH` first on the job's ``PYTHONPATH``, so that Python's own
start-up hook (``sitecustomize``) patches those places as they are imported. Nothing is installed or changed on disk, and
a process without ``AUTOMODEL_NB_CPU=1`` is left alone.

The recipe itself must be one for a CPU: ``dist_env.backend: gloo``, ``distributed.strategy`` ``ddp`` or ``fsdp2``,
``attn_implementation: sdpa``, an optimizer and a loss in plain PyTorch.
"""

from __future__ import annotations

import os
from pathlib import Path

#: The directory to put first on ``PYTHONPATH``.
PATH = Path(__file__).parent / "path"


def path_before(paths: object) -> str:
    """``PYTHONPATH`` with `PATH` first.

    Args:
        paths: what it holds otherwise; None or empty for nothing.
    """
    return os.pathsep.join([str(PATH), *([str(paths)] if paths else [])])


def environment(devices: int) -> dict[str, str]:
    """What a launch needs besides `PATH`: defaults, over which the user's own variables go.

    Args:
        devices: how many processes the node counts as having a device for.
    """
    return {
        "AUTOMODEL_NB_CPU": "1",
        "AUTOMODEL_NB_CPU_DEVICES": str(devices),
        "CUDA_VISIBLE_DEVICES": "",  # a node with GPUs is used as one without
        # Workers that each start a thread for every core wait for one another: twenty times slower with 2 on 2 cores.
        "OMP_NUM_THREADS": "1",
    }
