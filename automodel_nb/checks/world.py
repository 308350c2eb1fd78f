"""What several rules ask of a launch: how many workers, where the recipe's numbers stand, what environment the job has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from automodel_nb.interpolation import EnvTemplate, looks_secret
from automodel_nb.rendering import environment

if TYPE_CHECKING:
    from automodel_nb.planning.parts import Parts

#: Set in every worker, by torchrun, the launcher or the scheduler.
_SET_THERE = {"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "ROLE_RANK", "MASTER_ADDR", "MASTER_PORT",
              "AUTOMODEL_JOB_DIR", "HF_HOME", "PWD", "HOSTNAME", "CUDA_VISIBLE_DEVICES"}  # fmt: skip
_SET_PREFIXES = ("SLURM_", "SKYPILOT_", "TORCHELASTIC_", "NCCL_")

# AutoModel's own forms (0.7.0: `resolve_yaml_env_vars`): ${VAR}, ${VAR,default}, ${oc.env:VAR}, then $VAR; dots are of the name
_BRACED = re.compile(r"\$\{([^}]+)\}")
_BARE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*)")


def nodes(parts: Parts) -> int:
    """Nodes of the job."""
    field = {"slurm": "nodes", "skypilot": "num_nodes"}.get(parts.sources.method)
    return int(getattr(parts.config, field)) if field else 1


def workers_per_node(parts: Parts) -> int | None:
    """Training processes of each node; None where only the node can say."""
    method, config = parts.sources.method, parts.config
    if method == "slurm":
        return int(config.ntasks_per_node)
    if method == "skypilot":
        from automodel_nb.rendering import skypilot  # imports much that no other method needs

        return skypilot.processes(config)
    if config.nproc_per_node:
        return int(config.nproc_per_node)
    if config.gpus:
        return len(config.gpus)
    node = parts.facts.node
    return (node.gpus or 1 if config.device != "cpu" else 1) if node else None


def world_size(parts: Parts) -> int | None:
    """Training processes of the whole job."""
    each = workers_per_node(parts)
    return each * nodes(parts) if each else None


def has_gpus(parts: Parts) -> bool | None:
    """Whether the training has GPUs; None where that is not known."""
    if parts.sources.method == "slurm":
        return False if parts.config.gpus_per_node == "0" and parts.config.container_image is None else None
    if parts.sources.method != "interactive":
        return None
    if parts.config.device:
        return bool(parts.config.device == "cuda")
    return bool(parts.config.gpus or (parts.facts.node and parts.facts.node.gpus))


def number(parts: Parts, path: str) -> int | None:
    """A whole number of the recipe; None where there is none."""
    value = parts.recipe.get(path)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def checkpoints(parts: Parts) -> bool:
    """Whether AutoModel trains and writes checkpoints (it does unless ``checkpoint.enabled`` says no)."""
    return parts.config.command is None and parts.recipe.get("checkpoint.enabled") is not False


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """(dotted path, value) of every value that is no mapping or list."""
    pairs = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else None
    if pairs is None:
        yield path, value
        return
    for key, item in pairs:
        yield from leaves(item, f"{path}.{key}" if path else str(key))


def variables(text: str) -> Iterator[tuple[str, str, bool]]:
    """(as written, name, whether it has a default) of each variable that AutoModel resolves in a recipe's text."""
    for found in _BRACED.finditer(text):
        name, comma, _ = found[1].strip().removeprefix("oc.env:").strip().partition(",")
        yield found.group(), name.strip(), bool(comma)
    for found in _BARE.finditer(_BRACED.sub("", text)):
        yield found.group(), found[1], False


def environment_of(parts: Parts) -> dict[str, str | None]:
    """The job's environment as far as it is known here; None for a value that is not."""
    method, config = parts.sources.method, parts.config
    known: dict[str, str | None] = {}
    if method != "skypilot":
        known |= environment.base(parts.environ, same_node=method == "interactive", inherit=config.inherit_env)
    known |= dict.fromkeys(_SET_THERE) | environment.OURS
    for name, value in parts.user_environment.items():
        known[name] = _value(value, parts.environ)
    return known


def is_set(name: str, known: Mapping[str, str | None]) -> bool:
    """Whether the job has that variable."""
    return name in known or name.startswith(_SET_PREFIXES)


def environment_is_known(parts: Parts) -> bool:
    """False where something else adds to the environment: an image, the cloud's setup, a shell command."""
    config = parts.config
    return parts.sources.method != "skypilot" and not config.pre_commands and not getattr(config, "container_image", None)


def resolved(parts: Parts, text: str) -> str | None:
    """A recipe's text with its variables filled in, as the job will read it; None where one is not known here, or secret."""
    if "$" not in text:
        return text
    known = environment_of(parts)
    for written, name, _ in variables(text):
        value = known.get(name)
        if value is None or looks_secret(name):
            return None
        text = text.replace(written, value)
    return text


def _value(value: str | EnvTemplate, environ: Mapping[str, str]) -> str | None:
    if isinstance(value, EnvTemplate):
        return None if any(name not in environ for name in value.names) else value.resolve(environ)
    return value
