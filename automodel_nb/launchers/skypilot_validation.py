"""What SkyPilot itself says of a task before anything is sent: its schema, its constructors, and the catalog that is here."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import Any

import yaml

from automodel_nb.launchers.skypilot_client import sdk
from automodel_nb.launchers.skypilot_errors import explain, field_of, first_line, plain
from automodel_nb.launchers.skypilot_prices import catalogs


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that SkyPilot does not take.

    Attributes:
        field: the section's field, None where it cannot be told.
        message, fix: in one line each; the fix may be empty.
    """

    field: str | None
    message: str
    fix: str = ""


def problems(text: str) -> list[Problem]:
    """What is wrong with a ``task.yaml``.

    Raises:
        MissingDependencyError: SkyPilot is not installed.
    """
    sky = sdk()
    config = yaml.safe_load(text)
    config.pop("secrets", None)  # values come at the launch
    for local in ("workdir", "file_mounts"):
        config.pop(local, None)  # those have checks of their own
    resources = config.get("resources", {})
    if "common" not in catalogs("accelerators.csv"):
        resources.pop("accelerators", None)  # to read the name alone, the catalog would be downloaded, without a time limit
    try:
        task: Any = sky.Task.from_yaml_config(config)
    except Exception as error:
        return [_problem(str(error), resources)]
    cloud = str(resources.get("infra") or resources.get("cloud") or "").partition("/")[0].lower()
    if cloud not in catalogs():
        return []
    try:
        for resource in task.resources:
            resource.validate()
    except Exception as error:
        return [_problem(str(error), resources)]
    return _offered(sky, task)


def _offered(sky: Any, task: Any) -> list[Problem]:
    """Whether any instance of the cloud has these accelerators."""
    for resource in task.resources:
        wanted = resource.accelerators
        if not wanted or resource.instance_type is not None or resource.cloud is None:
            continue
        ((name, count),) = wanted.items()
        cloud = str(resource.cloud).lower()
        found = sky.list_accelerators(
            gpus_only=False, name_filter=f"^{re.escape(name)}$", clouds=[cloud], case_sensitive=False, all_regions=True,
            region_filter=resource.region,
        )  # fmt: skip
        counts = sorted({offer.accelerator_count for offers in found.values() for offer in offers})
        where = f"{cloud}, {resource.region}" if resource.region else cloud
        if not counts:
            known = sky.list_accelerators(gpus_only=False, clouds=[cloud])
            near = difflib.get_close_matches(name.upper(), [str(key) for key in known], 3, 0.5)
            return [Problem("accelerators", f"{where} offers no {name}", f"did you mean {' or '.join(near)}?" if near else "")]
        if count not in counts:
            offered = ", ".join(f"{name}:{number:g}" for number in counts)
            return [Problem("accelerators", f"{where} offers no {name}:{count:g}", f"offered: {offered}")]
    return []


def _near(asked: str, known: list[str]) -> str:
    near = difflib.get_close_matches(asked.lower(), list(dict.fromkeys(known)), 3, 0.5)
    return f"did you mean {' or '.join(near)}?" if near else f"one of {', '.join(sorted(known))}" if 0 < len(known) < 30 else ""


def _problem(text: str, resources: dict[str, Any]) -> Problem:
    said = plain(text)
    field = field_of(said)
    if found := re.search(r"'?([\w-]+)'? is not (?:one of|a valid cloud among) (\[[^\]]*\]?)", said):
        asked, known = found.group(1), re.findall(r"'([\w-]+)'", found.group(2))
        if asked in (resources.get("cloud"), str(resources.get("infra")).partition("/")[0]) or "cloud" in said.lower():
            return Problem(
                "infra" if "infra" in resources else "cloud", f"SkyPilot knows no cloud `{asked}`", _near(asked, known)
            )
    if found := re.search(r"'([\w-]+)(?:/[^']*)?' does not match '\^[^(]*\(\?:\(\?i:\(([\w|]+)\)", said):
        asked, known = found.group(1), found.group(2).split("|")
        return Problem("infra", f"SkyPilot knows no cloud `{asked}`", _near(asked, known))
    if found := re.search(r"Instead of '([^']+)', did you mean '([^']+)'", said):
        return Problem(found.group(1), f"SkyPilot has no `{found.group(1)}`", f"did you mean {found.group(2)}?")
    if found := re.search(r"Invalid (region|zone|instance type) '([^']+)'", said):
        kind, asked = found.groups()
        known = re.findall(r"[\w-]*[a-z][\w-]*\d[\w.-]*", said.partition("\n")[2] or said[found.end() :])
        return Problem(kind.replace(" ", "_"), f"there is no {kind} `{asked}`", _near(asked, known))
    if field is not None and field not in resources and field in ("cloud", "infra"):
        field = "infra" if "infra" in resources else "cloud" if "cloud" in resources else None
    explained = explain(ValueError(said))
    return Problem(field, first_line(said).removeprefix("Invalid task YAML: ") or explained.message)
