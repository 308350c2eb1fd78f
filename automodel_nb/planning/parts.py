"""What planning hands to the renderers and the checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from automodel_nb.facts import NodeFacts, PythonFacts, node_facts, python_facts
from automodel_nb.findings import Finding
from automodel_nb.interpolation import EnvTemplate
from automodel_nb.plan import EnvironmentValue, Request
from automodel_nb.planning.sources import Sources
from automodel_nb.planning.there import There
from automodel_nb.planning.training import Recipe
from automodel_nb.rendering.command import Training


@dataclass(frozen=True, slots=True)
class TargetFacts:
    """What is known of where the job will run.

    Attributes:
        python: what the job's Python can import; None where it cannot be seen from here (container, cloud).
        node: this node, for an interactive job.
        default_python: the interpreter where the user names none.
        there: the login node that the launch goes through; None for this machine.
    """

    python: PythonFacts | None
    node: NodeFacts | None
    default_python: str
    there: There | None = None

    @property
    def automodel(self) -> str | None:
        """The installed AutoModel's version, None where it is not known."""
        return (self.python.automodel if self.python else None) or None

    @classmethod
    def gather(cls, method: str, config: Any, executable: str, there: There | None = None) -> TargetFacts:
        """Look at this machine or at a login node, where the job runs on it or on one with the same file system."""
        if there:
            if config.container_image or config.pre_commands or config.command:
                return cls(None, None, "python", there)
            python, name = there.python(config.python)
            return cls(python, None, name, there)
        if elsewhere(method, config):
            return cls(None, None, "python")
        node = node_facts() if method == "interactive" else None
        return cls(python_facts(config.python), node, executable)


def elsewhere(method: str, config: Any) -> bool:
    """Whether the job's Python cannot be seen from here: a container's, a cloud's, another machine's."""
    return method == "skypilot" or bool(getattr(config, "container_image", None) or getattr(config, "host", None))


@dataclass(frozen=True)
class Parts:
    """A request, read and typed.

    Attributes:
        sources: the texts.
        config: the typed launcher section.
        recipe: what AutoModel will read.
        training: the training command's parts.
        request: as given, method and notebook's directory filled in.
        chdir: working directory of the training, absolute.
        facts: of where the job will run.
        user_environment: what ``env_vars`` and the secret fields ask for.
        environ: what the job's environment is chosen from: the kernel's, or that of a login where the job is launched from.
        kernel_environ: the kernel's.
    """

    sources: Sources
    config: Any
    recipe: Recipe
    training: Training
    request: Request
    chdir: str
    facts: TargetFacts
    user_environment: Mapping[str, str | EnvTemplate]
    environ: Mapping[str, str]
    kernel_environ: Mapping[str, str] = field(default_factory=dict)

    def finding(self, code: str, severity: Any, message: str, path: str, fix: Any = None, *, key: bool = False) -> Finding:
        """A finding at a field's own place in the text (or at its key), wherever the user wrote it.

        What is not written there points at the section that it would stand in.
        """
        *above, _ = path.split(".")
        for where, at_key in [(path, key), *((".".join(above[:end]), True) for end in range(len(above), 0, -1))]:
            for document in (self.sources.cell, self.sources.base):
                if document is not None and (place := document.place(where, key=at_key)):
                    return Finding(code, severity, message, path, *place, fix, document.source)
        return Finding(code, severity, message, path, fix=fix)


@dataclass(frozen=True)
class Rendered:
    """What a launch method makes of the parts; see `Plan` for the fields."""

    command: str
    submit: Sequence[str]
    files: Mapping[str, str]
    environment: Mapping[str, EnvironmentValue]
    findings: Sequence[Finding] = field(default=())
