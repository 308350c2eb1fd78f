"""Is the container image one that the nodes can get, by the runtime that is asked for?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from automodel_nb.checks.rules import Problem, rule
from automodel_nb.findings import Fix

if TYPE_CHECKING:
    from automodel_nb.checks.facts import Facts
    from automodel_nb.planning.parts import Parts

_IMAGE = "slurm.container_image"


@rule("image-case", "error")
def image_is_lower_case(parts: Parts, facts: Facts) -> Iterator[Problem]:
    r"""The name of an image in a registry is in lower case.

    Source: the OCI distribution specification (`[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*`), and Enroot's own pattern.
    """
    image = _of_registry(parts)
    name = _name(image) if image else ""
    if image and name != name.lower():
        fix = Fix(f"write {image.replace(name, name.lower())}", _IMAGE, image.replace(name, name.lower()))
        yield Problem(f"`{name}` has capital letters, which no registry's image name has", _IMAGE, fix)


@rule("image-tag", "hint")
def image_has_a_tag(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """An image of a registry is named with its tag.

    Source: without one, `latest` is taken, which changes under the same name and which some images do not have.
    """
    image = _of_registry(parts)
    if image and "@sha256:" not in image and ":" not in re.split(r"[/#]", image)[-1]:
        yield Problem("an image without a tag means `latest`", _IMAGE, Fix("add the tag, such as :25.09"))


@rule("image-digest", "warning")
def image_has_no_digest(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """An image for Pyxis is named by its tag, not by a digest.

    Source: Enroot 3 has no digests in its pattern of an image's name; newer ones take them.
    """
    image = _of_registry(parts)
    if image and "@sha256:" in image and parts.config.runtime == "pyxis":
        yield Problem("Enroot 3 does not take a digest (@sha256:…)", _IMAGE, Fix("name the image by its tag"))


@rule("image-runtime", "error")
def image_fits_the_runtime(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """A `.sif` image is for Apptainer, a squashfs image is for Pyxis.

    Source: Enroot starts squashfs images of its own; Apptainer runs SIF files.
    """
    image = getattr(parts.config, "container_image", None) or ""
    runtime = getattr(parts.config, "runtime", "none")
    for suffixes, fitting in (((".sif",), "apptainer"), ((".sqsh", ".squashfs", ".sqfs"), "pyxis")):
        if image.endswith(suffixes) and runtime not in (fitting, "none"):
            fix = Fix(f"write container_runtime: {fitting}", "slurm.container_runtime", fitting)
            yield Problem(f"{runtime} does not run a {image.rpartition('.')[2]} image", _IMAGE, fix)


@rule("no-container", "error")
def container_fields_have_a_container(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """Mounts and a container's working directory are given together with an image.

    Source: Pyxis ignores mounts without an image, and the job runs on the node itself.
    """
    if parts.sources.method != "slurm" or parts.config.container_image is not None:
        return
    for field in ("extra_mounts", "nemo_mount", "container_workdir", "container_mount_home"):
        if getattr(parts.config, field) not in (None, ()):
            message = f"slurm.{field} needs a container: without an image the job would run on the node itself, unmounted"
            fix = Fix("give container_image" + (", or use repo_root" if field == "nemo_mount" else ", or take it out"))
            yield Problem(message, f"slurm.{field}", fix)


def _of_registry(parts: Parts) -> str | None:
    """The image, where it is a registry's."""
    image: str | None = getattr(parts.config, "container_image", None)
    if image is None or parts.config.runtime == "none" or image.startswith(("/", ".", "~")):
        return None
    return None if re.search(r"\.(sqsh|squashfs|sqfs|sif)$", image) else image


def _name(image: str) -> str:
    """The image's name: without scheme, registry, tag and digest."""
    rest = image.rpartition("://")[2].partition("@sha256")[0]
    if "#" in rest:
        rest = rest.partition("#")[2]
    else:
        host, slash, after = rest.partition("/")
        rest = after if slash and re.search(r"[.:]|^localhost$", host.rpartition("@")[2]) else rest
    head, slash, last = rest.rpartition("/")
    return head + slash + last.partition(":")[0]


RULES = (image_is_lower_case, image_has_a_tag, image_has_no_digest, image_fits_the_runtime, container_fields_have_a_container)
