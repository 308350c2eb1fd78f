"""NCCL's variables for several nodes: defaults that ``env_vars`` overrides."""

from __future__ import annotations

#: None of these picks a network interface or turns a transport off: what is right there, NCCL finds out or the site sets.
#:
#: - ``NCCL_DEBUG=WARN``: without it NCCL is silent about why a connection failed. NVIDIA calls it the "production minimum",
#:   https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting/logging.html
#: - ``TORCH_NCCL_ASYNC_ERROR_HANDLING=3``: torch's own default, stated since an image or a site that sets 0 makes a lost rank
#:   a hang until the time limit; 3 ends the process instead, and torchrun then ends the job,
#:   https://docs.pytorch.org/docs/stable/torch_nccl_environment_variables.html
NCCL = {"NCCL_DEBUG": "WARN", "TORCH_NCCL_ASYNC_ERROR_HANDLING": "3"}
