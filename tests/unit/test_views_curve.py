from __future__ import annotations

import math
import re
import time
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from automodel_nb.views import curve_html, curve_svg, scale
from automodel_nb.views.curve import HEIGHT, describe
from automodel_nb.watching.points import VIEW_POINTS, MetricPoint
from tests.unit.views_samples import training

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return ["".join(element.itertext()) for element in ET.fromstring(svg).iter(f"{SVG}text")]


def lines(svg: str) -> list[list[tuple[float, float]]]:
    """Each drawn line (not the ranges) as absolute points, 0..1000 across, tenths of pixels down."""
    found = []
    for path in ET.fromstring(svg).iter(f"{SVG}path"):
        if path.get("fill") == "none" and path.get("d"):
            numbers = [float(number) for number in re.findall(r"-?\d+", path.attrib["d"])]
            places = [(numbers[0], numbers[1])]
            for dx, dy in zip(numbers[2::2], numbers[3::2], strict=True):
                places.append((places[-1][0] + dx, places[-1][1] + dy))
            found.append(places)
    return found


def test_a_falling_loss_falls_from_the_left_edge_to_the_right() -> None:
    train, validation = lines(curve_svg(training(40)))
    assert len(train) == 40
    assert len(validation) == 5
    assert (train[0][0], train[-1][0]) == (0, 1000)
    assert train[0][1] == min(y for _, y in train)  # the highest value is highest up
    assert train[-1][1] > train[0][1] + 500
    assert all(0 <= y <= HEIGHT * 10 for _, y in train + validation)


def test_ticks_are_round_and_the_axes_are_named() -> None:
    found = texts(curve_svg(training(40)))
    assert {"Loss", "step 0", "10", "20", "30", "3", "4", "5", "6"} <= set(found)
    assert any("train" in text and "validation" in text for text in found)


def test_the_description_says_it_in_words() -> None:
    points = [MetricPoint(0, 0, "train", 6.4), MetricPoint(9, 0, "train", 2.5), MetricPoint(9, 0, "val/math", 2.75)]
    assert describe(points) == "Loss: train 6.400 at step 0 to 2.500 at step 9; validation math 2.750 at step 9."
    assert describe([]) == "Loss: no steps yet."
    assert describe(points)[:-1] in curve_html(points)


def test_no_points() -> None:
    assert texts(curve_svg([])) == ["No steps yet"]


def test_one_point_is_a_dot() -> None:
    root = ET.fromstring(curve_svg([MetricPoint(7, 0, "train", 6.5)]))
    assert len(list(root.iter(f"{SVG}circle"))) == 1
    assert "step 7" in texts(curve_svg([MetricPoint(7, 0, "train", 6.5)]))


def test_values_that_are_no_numbers_are_marked_and_harm_nothing_else() -> None:
    bad = [MetricPoint(40 + i, 0, "train", value) for i, value in enumerate((math.nan, math.inf, -math.inf, None))]
    svg = curve_svg([*training(40), *bad])
    assert any("NaN" in text and "not a number at step 40" in text for text in texts(svg))
    assert len(lines(svg)[0]) == 40
    only = curve_svg(bad)
    assert any("NaN" in text for text in texts(only))
    assert lines(only) == []


def test_steps_that_go_back_are_a_new_line_and_a_mark() -> None:
    svg = curve_svg([*training(24, val_every=99), *training(40, first=20, val_every=99)])
    first, second = lines(svg)
    assert second[0][0] < first[-1][0]
    assert sum("↻" in text for text in texts(svg)) == 1


def test_restarts_that_the_steps_do_not_show_are_marked_too() -> None:
    assert sum("↻" in text for text in texts(curve_svg(training(40), restarts=[20, 30, 30, 999]))) == 2


def test_a_hundredfold_range_is_drawn_by_powers_of_ten() -> None:
    points = [MetricPoint(i, 0, "train", 900 * 0.9**i) for i in range(80)]
    svg = curve_svg(points)
    assert "Loss, log scale" in texts(svg)
    assert {"1", "10", "100"} <= set(texts(svg))
    [line] = lines(svg)
    slopes = {round((b[1] - a[1]) / 10) for a, b in pairwise(line)}
    assert len(slopes) <= 2  # an even decay is a straight line


def test_zero_is_never_on_a_log_scale() -> None:
    points = [MetricPoint(i, 0, "train", 2.0, lr=1e-4 * i) for i in range(30)]
    assert "Learning rate" in texts(curve_svg(points, "lr"))


def test_other_curves_are_of_the_training_alone() -> None:
    assert not any("validation" in text for text in texts(curve_svg(training(40), "lr")))


def test_many_points_become_median_and_range_that_hide_no_spike() -> None:
    points = [MetricPoint(i, 0, "train", 2.0 + (50.0 if i == 1234 else 0.0)) for i in range(VIEW_POINTS)]
    svg = curve_svg(points)
    assert any("train, median and range" in text for text in texts(svg))
    ranges = [path.attrib["d"] for path in ET.fromstring(svg).iter(f"{SVG}path") if path.get("fill") != "none"]
    assert len(ranges) == 1
    assert max(abs(int(dy)) for dy in re.findall(r",(-?\d+)", ranges[0])) > HEIGHT * 10 / 2  # the spike, in full height
    assert len(svg) < 6_000


def test_a_split_keeps_its_colour_where_another_has_nothing_to_draw() -> None:
    svg = curve_svg([MetricPoint(0, 0, "train", math.nan), MetricPoint(1, 0, "val", 2.0), MetricPoint(2, 0, "val", 1.0)])
    root = ET.fromstring(svg)
    [line] = [path for path in root.iter(f"{SVG}path") if path.get("fill") == "none"]
    [key] = list(root.iter(f"{SVG}tspan"))
    assert line.get("stroke") == key.get("fill")


def test_a_picture_of_4000_points_takes_milliseconds() -> None:
    points = training(VIEW_POINTS, val_every=50)
    begin = time.perf_counter()
    curve_html(points)
    assert time.perf_counter() - begin < 0.25


point = st.builds(
    MetricPoint,
    step=st.integers(0, 2**62),
    epoch=st.just(0),
    split=st.sampled_from(["train", "val", "val/<&\"'"]),
    loss=st.none() | st.floats(),
)


@example([MetricPoint(0, 0, "train", 1.7e308), MetricPoint(1, 0, "train", -1.7e308), MetricPoint(2, 0, "val", 5e-324)], [])
@example([MetricPoint(0, 0, "train", 1e299), MetricPoint(1, 0, "train", -1e299), MetricPoint(2, 0, "val", 5e-324)], [])
@given(st.lists(point, max_size=200), st.lists(st.integers(-5, 2**62), max_size=5))
def test_any_points_make_a_picture_within_its_frame(points: list[MetricPoint], restarts: list[int]) -> None:
    svg = curve_svg(points, restarts=restarts)
    ET.fromstring(svg)
    assert not re.search(r'="[^"]*(nan|inf)', svg)
    for line in lines(svg):
        assert all(-1 <= x <= 1001 and -1 <= y <= HEIGHT * 10 + 1 for x, y in line)


@pytest.mark.parametrize(
    ("ticks", "labels"),
    [
        ([0.0, 0.5, 1.0], ["0.0", "0.5", "1.0"]),
        ([0.0, 20_000.0], ["0", "20k"]),
        ([0.0, 2e7], ["0", "20M"]),
        ([1e-5, 1e-4], ["1e-5", "1e-4"]),
        ([2.0, 4.0], ["2", "4"]),
        ([1_000.0, 2_000.0], ["1,000", "2,000"]),
    ],
)
def test_tick_labels(ticks: list[float], labels: list[str]) -> None:
    assert [scale.label(tick, ticks) for tick in ticks] == labels
