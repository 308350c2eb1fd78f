"""The paths that a launch speaks of: as written, and where they lie on the machines of the job."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from automodel_nb.checks.world import leaves, resolved
from automodel_nb.paths import from_home
from automodel_nb.rendering.environment import hf_home
from automodel_nb.rendering.slurm import absolute

if TYPE_CHECKING:
    from automodel_nb.planning.parts import Parts

Role = Literal["checkpoints", "restore", "model", "data", "workdir", "job", "cache", "mount", "image", "source",
               "upload", "here", "uploaded"]  # fmt: skip

_DATA_FILE = re.compile(r"\.(?:jsonl?|parquet|csv|tsv|txt|arrow|bin|idx|tar)(?:\.(?:gz|zst))?$")
_DATA_SECTION = re.compile(r"(?:validation_)?dataset")
#: Keys that hold one file or directory. (Megatron's `paths` are beginnings of file names.)
_DATA_KEYS = {"path_or_dataset_id", "path_or_dataset", "dataset_path", "data_path", "data_dir", "data_files"}
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(?:/[\w.-]+)?")
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://")


@dataclass(frozen=True, slots=True)
class Place:
    """One path of a launch.

    Attributes:
        role: what it is for.
        field: where it is written; for what is written nowhere, the field that would change it.
        written: its text.
        path: absolute path on the job's machines; None where it lies inside a container, or cannot be told from here.
        inside: the absolute path as the training sees it.
        hidden: True where the training is in a container that has nothing mounted there.
    """

    role: Role
    field: str
    written: str
    path: str | None
    inside: str
    hidden: bool = False


def places(parts: Parts) -> list[Place]:
    """The paths of a launch; of one in a cloud those on this machine that are, or are not, uploaded."""
    if parts.sources.method == "skypilot":
        return list(_of_cloud(parts))
    return [*_of_section(parts), *_of_recipe(parts)]


def local(parts: Parts) -> bool:
    """Whether its places can be looked at from here: they are not on another login node."""
    return parts.facts.there is None


def paths_in_recipe(parts: Parts) -> Iterator[tuple[Role, str, str]]:
    """(role, field, text) of each path in the recipe: what is surely no name on a hub and no address."""
    if parts.config.command is not None:
        return  # what a recipe's keys mean then, only that command knows
    for field, value in leaves(parts.recipe.values):
        if not isinstance(value, str) or not value.strip() or _ADDRESS.match(value):
            continue
        key = next((part for part in reversed(field.split(".")) if not part.isdigit()), "")
        if field == "checkpoint.checkpoint_dir":
            yield "checkpoints", field, value
        elif field == "checkpoint.restore_from":
            if "/" in value:
                yield "restore", field, value
        elif key == "pretrained_model_name_or_path":
            if _is_path(value) or not _HUB_NAME.fullmatch(value):
                yield "model", field, value
        elif _DATA_SECTION.match(field) and (_DATA_FILE.search(value) or (key in _DATA_KEYS and _is_path(value))):
            yield "data", field, value


def _is_path(text: str) -> bool:
    return text.startswith(("/", "./", "../", "~", "$"))


def _of_section(parts: Parts) -> Iterator[Place]:
    method, config = parts.sources.method, parts.config
    job_dir = os.path.join(parts.request.cwd, os.path.expanduser(config.job_dir))
    cache = _cache(parts)
    for role, field, written, path in (
        ("workdir", "chdir", parts.chdir, parts.chdir),
        ("job", "job_dir", config.job_dir, os.path.normpath(job_dir)),
        ("cache", "hf_home", cache, absolute(cache, parts.chdir)),
    ):
        yield Place(role, f"{method}.{field}", written, path, path)  # type: ignore[arg-type]
    if method != "slurm":
        return
    if config.repo_root and config.runtime == "none":
        path = absolute(config.repo_root, parts.chdir)
        yield Place("source", "slurm.repo_root", config.repo_root, path, path)
    if config.runtime == "none":
        return
    image = config.container_image
    if re.match(r"[/.~]", image) or re.search(r"\.(sqsh|squashfs|sqfs|sif)$", image):
        path = absolute(image, parts.chdir)
        yield Place("image", "slurm.container_image", image, path, path)
    mounts = [("nemo_mount", config.nemo_mount)] if config.nemo_mount else []
    mounts += [(f"extra_mounts.{index}", mount) for index, mount in enumerate(config.extra_mounts)]
    for field, mount in mounts:
        path = absolute(mount.source, parts.chdir)
        yield Place("mount", f"slurm.{field}", mount.source, path, mount.dest)


def _of_cloud(parts: Parts) -> Iterator[Place]:
    config = parts.config
    workdir = absolute(config.workdir, parts.chdir) if config.workdir is not None else None
    if workdir is not None:
        yield Place("upload", "skypilot.workdir", config.workdir, workdir, workdir)
    for target, source in config.file_mounts.items():
        written = source if isinstance(source, str) else source.get("source")
        if written is not None and not _ADDRESS.match(written):
            path = absolute(written, parts.chdir)
            yield Place("upload", f"skypilot.file_mounts.{target}", written, path, target)
    if config.command is not None:
        return
    for field, text in leaves(parts.recipe.values):
        named = isinstance(text, str) and not text.startswith(("/", "~", "$")) and "\n" not in text
        if named and ("/" in text or "." in text) and not field.endswith("_target_") and not field.startswith("checkpoint."):
            yield Place("here", field, text, os.path.join(parts.chdir, text), text)
            if workdir is not None:
                yield Place("uploaded", field, text, os.path.join(workdir, text), text)


def _cache(parts: Parts) -> str:
    given = parts.user_environment.get("HF_HOME")
    return given if isinstance(given, str) else hf_home(parts.config.hf_home, parts.environ)


def _of_recipe(parts: Parts) -> Iterator[Place]:
    seen = _Container(parts)
    for role, field, written in paths_in_recipe(parts):
        text = resolved(parts, written)
        if text is None:
            continue
        # AutoModel does not expand `~`; what is meant is clear, and a rule of its own says so
        inside = os.path.normpath(os.path.join(seen.workdir, from_home(text, _home(parts))))
        path, hidden = seen.outside(inside)
        yield Place(role, field, written, path, inside, hidden)


class _Container:
    """What a training in a container sees of the node."""

    def __init__(self, parts: Parts) -> None:
        config = parts.config
        self.runtime = getattr(config, "runtime", "none")
        self.workdir = parts.chdir
        self.mounts: list[tuple[str, str]] = []
        if self.runtime == "none":
            return
        self.workdir = config.container_workdir or parts.chdir
        same = [parts.chdir, absolute(_cache(parts), parts.chdir)]
        self.mounts = [(path, path) for path in same]
        for mount in [*([config.nemo_mount] if config.nemo_mount else []), *config.extra_mounts]:
            self.mounts.append((absolute(mount.source, parts.chdir), mount.dest.rstrip("/") or "/"))
        home = _home(parts)
        # Apptainer mounts the home directory and /tmp by itself; with Pyxis the site's setting decides where the user does not
        self.unsure = [home, "/tmp"] if self.runtime == "apptainer" else [home] if config.container_mount_home is None else []
        if config.container_mount_home:
            self.mounts.append((home, home))

    def outside(self, inside: str) -> tuple[str | None, bool]:
        """(path on the node or None, whether nothing is mounted there)."""
        if self.runtime == "none":
            return inside, False
        fitting = [mount for mount in self.mounts if _under(inside, mount[1])]
        if fitting:
            source, dest = max(fitting, key=lambda mount: len(mount[1]))
            return os.path.normpath(os.path.join(source, os.path.relpath(inside, dest))), False
        return None, not any(_under(inside, path) for path in self.unsure)


def _home(parts: Parts) -> str:
    return parts.facts.there.home if parts.facts.there else os.path.expanduser("~")


def _under(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip("/") + "/")
