"""The environment that a job starts from: listed completely, so that a plan shows it and nothing else gets in."""

from __future__ import annotations

import os
from collections.abc import Mapping

#: What a login has.
LOGIN = ("HOME", "USER", "LOGNAME", "SHELL", "PATH", "LANG", "LANGUAGE", "TZ", "TMPDIR", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR")
#: How Slurm's commands find their cluster.
SLURM = ("SLURM_CONF", "SLURM_CLUSTERS")
#: What belongs to this very node and Python, and so to a job that runs here too.
NODE = ("LD_LIBRARY_PATH", "PYTHONPATH", "VIRTUAL_ENV", "CUDA_VISIBLE_DEVICES", "CUDA_HOME", "CUDA_PATH", "SSL_CERT_FILE",
        "REQUESTS_CA_BUNDLE", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")  # fmt: skip
_NODE_PREFIXES = ("NVIDIA_", "CONDA_")
#: Prefixes of what a surrounding Slurm job sets: it would steer sbatch and srun, or make torch believe that it is a worker.
FOREIGN = ("SLURM_", "SBATCH_", "SRUN_", "PMIX_", "PMI_", "TORCHELASTIC_")
_FOREIGN_NAMES = {"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "MASTER_ADDR", "MASTER_PORT"}

#: Ours, in every job. AutoModel's tqdm bar (0.5 and later) is drawn with carriage returns, and every log line is glued
#: behind it; without the bar each line stands by itself and nothing else changes.
OURS = {"PYTHONUNBUFFERED": "1", "TQDM_DISABLE": "1"}


def base(environ: Mapping[str, str], *, same_node: bool, inherit: bool) -> dict[str, str]:
    """The part that comes from outside.

    Args:
        environ: the kernel's environment.
        same_node: the job runs on this node.
        inherit: pass everything (``inherit_env``), cleaned of what a surrounding Slurm job set.
    """
    if inherit:
        return {name: value for name, value in environ.items() if not foreign(name)}
    names = (*LOGIN, *SLURM, *(NODE if same_node else ()))
    chosen = {name: environ[name] for name in names if name in environ}
    prefixes = ("LC_", *(_NODE_PREFIXES if same_node else ()))
    return chosen | {name: value for name, value in environ.items() if name.startswith(prefixes)}


def foreign(name: str) -> bool:
    """True for a variable that a surrounding job set and that must not reach the new one."""
    return name not in SLURM and (name.startswith(FOREIGN) or name in _FOREIGN_NAMES)


def hf_home(configured: str | None, environ: Mapping[str, str]) -> str:
    """Where Hugging Face's cache lies: the field, else ``$HF_HOME``, else the library's own default."""
    return os.path.expanduser(configured or environ.get("HF_HOME") or "~/.cache/huggingface")
