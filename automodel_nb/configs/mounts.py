"""`VolumeMapping`: a directory of the node, and where a container sees it."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from automodel_nb.configs.values import Flag, one_line, refuse, shown


def mount_path(value: Any) -> str:
    """A path that Pyxis's own syntax can hold: it splits at ``,`` and ``:`` and has no way to escape either."""
    path = one_line(value)
    for sign, name in ((",", "comma"), (":", "colon")):
        if sign in path:
            raise refuse(f"{shown(path)} has a {name}, which container mounts cannot express: mount a directory above it")
    return path


def inside_path(value: Any) -> str:
    """A path inside the container: absolute, since there is no directory there that it could be relative to."""
    path = mount_path(value)
    if not path.startswith("/"):
        raise refuse(f"{shown(path)} must be an absolute path inside the container")
    return path


MountPath = Annotated[str, BeforeValidator(mount_path)]
InsidePath = Annotated[str, BeforeValidator(inside_path)]


class VolumeMapping(BaseModel):
    """One mount.

    A relative `source` is relative to the working directory, ``~`` is the home directory of who launches.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: MountPath = Field(description="Path on every node of the job.")
    dest: InsidePath = Field(description="Path inside the container.")
    read_only: Flag = Field(False, description="The container cannot write there.")

    def __str__(self) -> str:
        return f"{self.source}:{self.dest}" + (":ro" if self.read_only else "")


def mount(value: Any) -> Any:
    """Any of a mapping, ``src:dst``, ``src:dst:ro`` or one path (the same on both sides), as a mapping."""
    if isinstance(value, dict | VolumeMapping):
        return value
    text = one_line(value)
    source, *rest = text.split(":")
    mode = rest.pop() if len(rest) == 2 and rest[1] in ("ro", "rw") else "rw"
    if len(rest) > 1 or "" in (source, *rest):
        raise refuse(f"{shown(text)} is not a mount: the forms are src:dst, src:dst:ro, or one path for both sides")
    if not rest and not source.startswith("/"):
        raise refuse(f"{shown(text)} is relative, so it cannot be the same path inside: write {source}:/path/inside")
    return {"source": source, "dest": rest[0] if rest else source, "read_only": mode == "ro"}


def mounts(value: Any) -> Any:
    """A list of mounts; one mount alone is a list of one."""
    return value if isinstance(value, list | tuple) else [value]


Mount = Annotated[VolumeMapping, BeforeValidator(mount)]
Mounts = Annotated[tuple[Mount, ...], BeforeValidator(mounts)]
