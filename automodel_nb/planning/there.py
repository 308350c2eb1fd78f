"""A login node that a launch goes through: what `~`, `${VAR}` and relative paths mean is what they mean there."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from automodel_nb import hosts
from automodel_nb.configs import VolumeMapping
from automodel_nb.errors import LaunchError, UnreachableError
from automodel_nb.facts import PROBE, PythonFacts
from automodel_nb.findings import Finding, Fix, place_of
from automodel_nb.paths import from_home

if TYPE_CHECKING:
    from automodel_nb.planning.parts import Parts

_PATHS = ("container_image", "repo_root", "nsys_output", "python")


@dataclass(frozen=True)
class There:
    """A login node.

    Attributes:
        host: to run commands on.
        home: the home directory there, where relative paths begin.
        environ: the variables of a login there, less those that are secret by their name.
        problem: why it cannot be reached, with what to type; the rest is then a stand-in.
    """

    host: hosts.Host
    home: str
    environ: Mapping[str, str]
    problem: str = ""

    @property
    def name(self) -> str:
        """The name that ssh knows."""
        return self.host.name

    def variables(self, environ: Mapping[str, str]) -> dict[str, str]:
        """What ``${VAR}`` means in a field: the variable there, else the notebook's."""
        return {**environ, **self.environ}

    def login(self, text: str) -> str:
        """A value of ``env_vars`` with who and where the user is (``${USER}``, ``${HOME}``) filled in as it is there."""
        filled = re.sub(
            r"\$\{(\w+)\}", lambda found: self.environ.get(found[1], found[0]) if found[1] in LOGIN else found[0], text
        )
        changed = getattr(text, "replaced", None)  # a Scalar keeps its place
        return changed(filled) if changed else filled

    def path(self, text: str) -> str:
        """An absolute path there. ``~someone`` is left to whoever reads it."""
        return os.path.normpath(os.path.join(self.home, self._tilde(text)))

    def _tilde(self, text: str) -> str:
        return from_home(text, self.home)

    def _mount(self, mount: VolumeMapping) -> VolumeMapping:
        return mount.model_copy(update={"source": self.path(mount.source)})

    def placed(self, config: Any) -> Any:
        """A config whose paths are absolute there; what is absent and would be taken from this machine is filled in."""
        mounts = tuple(self._mount(mount) for mount in config.extra_mounts)
        nemo = config.nemo_mount and self._mount(config.nemo_mount)
        cache = config.hf_home or self.environ.get("HF_HOME") or "~/.cache/huggingface"
        changes = {name: self._tilde(text) for name in _PATHS if (text := getattr(config, name))}
        paths = {"chdir": config.chdir or "~", "job_dir": config.job_dir, "hf_home": cache}
        changes |= {name: self.path(text) for name, text in paths.items()}
        return config.model_copy(update={**changes, "extra_mounts": mounts, "nemo_mount": nemo})

    def python(self, given: str | None) -> tuple[PythonFacts | None, str]:
        """What the job's Python there can import, and its name where the user gives none. One trip."""
        names = [self._tilde(given)] if given else ["python", "python3"]
        try:
            answers = self.host.run_all([[*shlex.split(name), "-c", PROBE] for name in names], timeout=20)
        except UnreachableError:
            return None, names[0]
        for name, done in zip(names, answers, strict=True):
            try:
                found = json.loads(done.stdout.strip().splitlines()[-1]) if done else {}
                # its files are not here to be read
                return PythonFacts(found["automodel"], found["torch"], "", found["fault_tolerance"]), name
            except (ValueError, LookupError):
                continue
        return PythonFacts(problem=f"it is no working Python on {self.name}"), names[-1]

    def findings(self, parts: Parts, section: Mapping[str, Any]) -> Iterator[Finding]:
        """What the user should know of the other side."""
        config = parts.config
        if self.problem:
            yield parts.finding("unreachable", "error", self.problem, "slurm.host")
            return
        differ = [
            name
            for name in sorted(self.environ)
            if parts.kernel_environ.get(name) != self.environ[name]
            and any(f"${{{name}}}" in text for key, text in _texts(section) if key != "env_vars")
        ]
        words = f"paths are those of {self.name}: `~` is {self.home}, the training runs in {parts.chdir}, its files lie under "
        also = f"; ${{{'}, ${'.join(differ)}}} as set there" if differ else ""
        yield parts.finding("remote-paths", "hint", f"{words}{config.job_dir}{also}", "slurm.host")
        if isinstance(self.host, hosts.SshHost) and not self.host.sharing:
            message = f"ssh shares no connection to {self.name}: each notebook logs in for itself, more than once"
            yield parts.finding("no-shared-connection", "hint", message, "slurm.host")
        if config.inherit_env:
            message = f"inherit_env would give the job the environment of this machine, and it is launched from {self.name}"
            fix = Fix("take it out, and name what the job needs in env_vars")
            yield parts.finding("inherit-elsewhere", "error", message, "slurm.inherit_env", fix)


def there(method: str, section: Mapping[str, Any]) -> There | None:
    """The login node that a section names; None for this machine.

    Raises:
        LaunchError: it is no name of a host.
    """
    name = section.get("host")
    if method != "slurm" or not isinstance(name, str) or not name.strip():
        return None
    try:
        host = hosts.host(name.strip())
    except UnreachableError as error:
        raise LaunchError([Finding("bad-value", "error", str(error), "slurm.host", **place_of(name))]) from None
    if not host.name:
        return None
    try:
        return There(host, host.home, host.environ)
    except UnreachableError as error:
        return There(host, f"/<home on {host.name}>", {}, str(error))


#: Of these, what is meant in env_vars is the job's own: those of the login that it is launched from.
LOGIN = frozenset({"HOME", "USER", "LOGNAME", "SHELL", "PATH", "TMPDIR"})


def _texts(section: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in section.items():
        yield name, str(value)
