"""Clouds without one: SkyPilot's own tables, and a made-up catalog."""

from __future__ import annotations

import pytest

from automodel_nb.rendering.clouds import NO_AUTOSTOP, NO_SPOT, STOPS
from tests.skypilot.kernel import Kernel

pytestmark = [pytest.mark.skypilot, pytest.mark.timeout(300)]

SHOW = """
import automodel_nb as am
def show(**fields):
    text = "skypilot:\\n" + "".join(f"  {name}: {value}\\n" for name, value in fields.items()) + '  command: "true"\\n'
    try:
        for finding in am.preview(text).findings:
            print(finding.severity, finding.code, finding)
    except am.LaunchError as error:
        print(error)
"""


@pytest.fixture
def previews(kernel: Kernel) -> Kernel:
    kernel.run(SHOW)
    return kernel


def test_prices_of_spot_and_on_demand_are_side_by_side(previews: Kernel) -> None:
    said = previews.run("show(cloud='aws', accelerators='H100:8', num_nodes=2, use_spot='true', region='us-east-1')").text
    assert "2 x p5.48xlarge in us-east-1: 110.08 $ an hour on demand, 52.80 $ an hour spot; 1267 $ a day" in said
    assert "managed-jobs controller" in said
    said = previews.run("show(cloud='aws', instance_type='p4d.24xlarge')").text
    assert "1 x p4d.24xlarge: 32.77 $ an hour on demand; 786 $ a day" in said


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"cloud": "aws", "accelerators": "H100:3"}, "line 3, column 17: aws offers no H100:3 (offered: H100:8)"),
        ({"cloud": "aws", "accelerators": "Nope:8"}, "line 3, column 17: aws offers no Nope"),
        (
            {"cloud": "aws", "accelerators": "H100:x"},
            "line 3, column 17: skypilot.accelerators: `H100:x` is not an accelerator",
        ),
        ({"cloud": "aws", "accelerators": "H100:0"}, "line 3, column 17: Accelerator count must be a positive number."),
        ({"cloud": "asw"}, "line 2, column 10: SkyPilot knows no cloud `asw` (did you mean aws"),
        ({"infra": "asw/us-east-1"}, "line 2, column 10: SkyPilot knows no cloud `asw` (did you mean aws"),
        ({"cloud": "aws", "region": "us-esat-1"}, "line 3, column 11: there is no region `us-esat-1` (did you mean us-east-1"),
        ({"region": "us-east-1"}, "line 2, column 11: `region` needs a cloud that it belongs to"),
        ({"infra": "aws", "zone": "us-east-1a"}, "line 3, column 9: `infra` and `zone` say the same thing twice"),
        ({"cloud": "aws", "disk_size": -1}, "line 3, column 14: skypilot.disk_size: `-1` is not a whole number of at least 1"),
        ({"num_nodes": 0}, "line 2, column 14: skypilot.num_nodes: `0` is not a whole number of at least 1"),
        ({"use_spot": '"maybe"'}, "line 2, column 13: skypilot.use_spot: `maybe` is neither true nor false"),
        ({"workdir": "nowhere"}, "line 2, column 12: there is no directory "),
        ({"infra": "slurm/lab", "use_spot": "true"}, "line 3, column 13: slurm has no spot instances"),
        ({"infra": "slurm/lab", "down": "false"}, "line 3, column 9: slurm cannot stop a cluster"),
        ({"cloud": "aws", "instance_type": "p5.48xlarg"}, "line 3, column 18: there is no instance type `p5.48xlarg`"),
    ],
)
def test_bad_input_is_one_line_with_its_place(previews: Kernel, fields: dict[str, object], said: str) -> None:
    ran = previews.run(f"show(**{fields!r})")
    assert ran.error == "", ran.traceback
    lines = [line for line in ran.text.splitlines() if said in line]
    assert len(lines) == 1, ran.text
    assert lines[0].startswith(("error ", "line "))


def test_the_tables_of_clouds_are_those_of_sky_pilot(previews: Kernel) -> None:
    asked = """
import sky
from sky.utils.registry import CLOUD_REGISTRY
from sky.clouds.cloud import CloudImplementationFeatures as Features
cannot = {}
for name, cloud in CLOUD_REGISTRY.items():
    try:
        cannot[name] = {f.name for f in type(cloud)._unsupported_features_for_resources(sky.Resources(cloud=cloud))}
    except ImportError:
        pass  # kubernetes, whose client is not installed
print(cannot)
"""
    ran = previews.run(asked)
    assert ran.error == "", ran.traceback
    cannot = eval(ran.text)
    assert len(cannot) > 15
    assert {name for name, features in cannot.items() if "STOP" not in features} == STOPS
    assert {name for name, features in cannot.items() if "SPOT_INSTANCE" in features} == NO_SPOT
    assert {name for name, features in cannot.items() if "AUTODOWN" in features} == NO_AUTOSTOP
