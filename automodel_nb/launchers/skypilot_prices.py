"""What a launch costs, from the catalog on this machine; nothing is downloaded for it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from automodel_nb.configs import SkyPilotConfig
from automodel_nb.launchers.skypilot_client import installed, sdk
from automodel_nb.rendering.skypilot import cloud

#: What SkyPilot's documentation says of the managed-jobs controller: a CPU machine that stays up while there are jobs.
CONTROLLER = (
    "SkyPilot's managed-jobs controller, a CPU machine of its own (about 0.2 $ an hour), runs as long as there are jobs"
)


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars an hour for all nodes.

    Attributes:
        instance: the instance type of the cheapest offer, empty where it is not known.
        region: where that offer is.
        on_demand, spot: None where the catalog has none.
        nodes: how many.
    """

    instance: str
    region: str
    on_demand: float | None
    spot: float | None
    nodes: int

    def __str__(self) -> str:
        """``2 x p5.48xlarge in us-east-1: 196.64 $ an hour on demand, 52.80 $ spot``."""
        parts = [
            f"{price:.2f} $ an hour {kind}" for kind, price in (("on demand", self.on_demand), ("spot", self.spot)) if price
        ]
        where = f" in {self.region}" if self.region else ""
        return f"{self.nodes} x {self.instance or 'instance'}{where}: {', '.join(parts) or 'no price known'}"

    def hourly(self, *, use_spot: bool) -> float | None:
        """What is paid, for the kind that is asked for."""
        return self.spot if use_spot else self.on_demand


def price_of(config: SkyPilotConfig) -> Price | None:
    """What a section's launch costs; see `price`."""
    parts = (config.infra or "").split("/")
    region = config.region or (parts[1] if len(parts) > 1 and parts[1] != "*" else None)
    asked = {"accelerators": config.accelerators, "instance_type": config.instance_type}
    return price(cloud(config), **asked, region=region, nodes=config.num_nodes)


def price(
    cloud_name: str | None,
    *,
    accelerators: str | None,
    instance_type: str | None,
    region: str | None = None,
    nodes: int = 1,
) -> Price | None:
    """The cheapest offer, where the catalog on this machine knows one; else None.

    Args:
        cloud_name: lower-case; None looks at every cloud that has a catalog here.
        accelerators: ``H100:8``.
        instance_type: instead of `accelerators`.
        region: only there.
        nodes: how many are asked for.
    """
    clouds = [name for name in ([cloud_name] if cloud_name else sorted(catalogs())) if name in catalogs()]
    if not installed() or not clouds or not (accelerators or instance_type):
        return None
    sky = sdk()
    try:
        offers = (
            _by_instance(sky, clouds, instance_type, region) if instance_type else _offers(sky, clouds, accelerators, region)
        )
    except Exception:  # a catalog of another version, or half of one: then no price is shown
        return None
    # an offer without spot still has its place: spot is the cheapest of those that have it
    demand = min((o for o in offers if _known(o[2])), key=lambda o: o[2], default=None)
    spot = min((o for o in offers if _known(o[3])), key=lambda o: o[3], default=None)
    best = demand or spot
    if best is None:
        return None
    return Price(best[0], best[1], demand and demand[2] * nodes, spot and spot[3] * nodes, nodes)


def catalogs(file: str = "vms.csv") -> set[str]:
    """Clouds whose catalog is on this machine. Asking for another one would download it, without a time limit."""
    return {path.parent.name for path in Path(os.path.expanduser("~/.sky/catalogs")).glob(f"v*/*/{file}")}


def _offers(sky: Any, clouds: list[str], accelerators: str | None, region: str | None) -> list[tuple[str, str, float, float]]:
    name, _, count = (accelerators or "").partition(":")
    found = sky.list_accelerators(
        gpus_only=False,
        name_filter=f"^{name}$",
        region_filter=region,
        quantity_filter=int(float(count or 1)),
        clouds=clouds,
        case_sensitive=False,
        all_regions=True,
    )
    return [(o.instance_type or "", o.region or "", o.price, o.spot_price) for offers in found.values() for o in offers]


def _by_instance(sky: Any, clouds: list[str], instance_type: str, region: str | None) -> list[tuple[str, str, float, float]]:
    offers = []
    for name in clouds:
        prices = []
        for use_spot in (False, True):
            try:
                resources = sky.Resources(infra=f"{name}/{region or '*'}", instance_type=instance_type, use_spot=use_spot)
                prices.append(float(resources.get_cost(3600)))
            except Exception:  # not offered by this cloud, or not as spot
                prices.append(float("nan"))
        offers.append((instance_type, region or "", *prices))
    return offers  # type: ignore[return-value]


def _known(value: float) -> bool:
    return value == value and value > 0  # neither NaN nor a placeholder
