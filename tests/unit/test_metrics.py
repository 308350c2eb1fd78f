"""Metrics and progress out of AutoModel's log: real logs, all releases' formats, any cut of the bytes."""

from __future__ import annotations

import itertools
import math
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automodel_nb.watching import metrics
from automodel_nb.watching.metrics import VIEW_POINTS, LogParser, MetricPoint, Progress, decimate

DATA = Path(__file__).parents[1] / "data"
STAMP = "2026-12-01 02:48:07"
AT = datetime(2026, 12, 1, 2, 48, 7, tzinfo=UTC).timestamp()


def parse(*parts: str | bytes) -> tuple[list[MetricPoint], Progress]:
    parser = LogParser(UTC)
    points = [point for part in parts for point in parser.feed(part.encode() if isinstance(part, str) else part)]
    return points + parser.close(), parser.progress


def real(*names: str) -> tuple[list[MetricPoint], Progress]:
    return parse(*((DATA / f"{name}.log").read_bytes() for name in names))


def test_a_run_to_the_end() -> None:
    points, progress = real("torchrun2")
    train = [point for point in points if point.split == "train"]
    assert [point.step for point in train] == list(range(40))
    assert [point.step for point in points if point.split == "val"] == [9, 19, 29, 39]
    assert train[-1] == MetricPoint(39, 0, "train", 2.8591, 1e-4, 1.0371, 5918.28, 0.0, AT)
    assert points[-1] == MetricPoint(39, 0, "val", 2.9129, 1e-4, time=AT)
    assert (progress.step, progress.epoch, progress.total_steps, progress.fraction) == (39, 0, 40, 1.0)
    assert progress.checkpoints == ("/data/lab/runs/b/epoch_0_step_19", "/data/lab/runs/b/epoch_0_step_39")
    assert (progress.finished, progress.preempted, progress.restarts, progress.resumed_from) == (True, False, 0, None)
    assert (progress.last_loss, progress.last_val) == (2.8591, points[-1])
    assert progress.steps_per_s == 16.01  # tqdm's, since four seconds in whole seconds give no rate
    assert progress.eta_s == 0
    assert progress.last_line == "EXIT 0"


def test_saved_on_a_signal() -> None:
    _, progress = real("sigterm")
    assert (progress.preempted, progress.finished, progress.step, progress.total_steps) == (True, False, 8, 40)
    assert progress.checkpoints[-1].endswith("epoch_0_step_8")


def test_killed_and_resumed_in_one_log() -> None:
    points, progress = real("sigkill", "resume")
    assert [point.step for point in points if point.split == "train"] == [*range(25), *range(20, 40)]
    assert progress.restarts == 1
    assert progress.resumed_from == "/data/lab/runs/k1/epoch_0_step_19"
    assert progress.finished is True


def test_a_finished_run_started_again_trains_nothing() -> None:
    points, progress = real("resume_finished")
    assert points == []
    assert progress.trained_nothing
    assert progress.resumed_from == "/data/lab/ck/c/epoch_0_step_11"
    assert not real("torchrun2")[1].trained_nothing


def test_prefixed_and_coloured_logs() -> None:
    assert [point.step for point in real("exception_rank1_tee3")[0]] == list(range(7))
    points, _ = real("colour")
    assert b"\x1b[32mINFO" in (DATA / "colour.log").read_bytes()
    assert len(points) == (DATA / "colour.log").read_bytes().count(b" | epoch ")
    assert all(point.time is not None and point.loss for point in points)


@pytest.mark.parametrize(
    ("line", "point"),
    [
        (
            "step 5 | epoch 1 | loss 2.0000 | grad_norm nan | lr 1.00e-04 | mem 41.23 GiB | tps 5918.28(2959.14/gpu) | num 5",
            MetricPoint(5, 1, "train", 2.0, 1e-4, math.nan, 5918.28, 41.23, AT),
        ),
        (
            "step 5 | epoch 1 | loss inf | grad_norm -inf | lr 0 | mem 1 GiB | tps 1",
            MetricPoint(5, 1, "train", math.inf, 0, -math.inf, 1, 1, AT),
        ),
        (
            "[val] step 5 | epoch 1 | loss 2.5000 | lr 1.00e-04 | num_label_tokens 7",
            MetricPoint(5, 1, "val", 2.5, 1e-4, time=AT),
        ),  # 0.1, vision
        ('[val] name "default" | step 5 | epoch 1 | loss 2.5 | lr 1e-4', MetricPoint(5, 1, "val", 2.5, 1e-4, time=AT)),
        (
            '[val] name "hard one" | step 5 | epoch 1 | loss 2.5 | lr 1e-4',
            MetricPoint(5, 1, "val/hard one", 2.5, 1e-4, time=AT),
        ),
        (
            '[val] name "default" | step 5 | epoch 1 | loss 2.5 | lr 1e-4 | num_label_tokens 7 | tool_name_acc 0.5 (n=3)',
            MetricPoint(5, 1, "val", 2.5, 1e-4, time=AT),
        ),
        (
            "[val] teacher | step 5 | epoch 1 | loss 2.5 | ce_loss 2.0 | kd_loss 1.0 | lr 1e-4",  # distillation
            MetricPoint(5, 1, "val/teacher", 2.5, 1e-4, time=AT),
        ),
        (
            "step 5 | epoch 1 | loss 2.5 | ce_loss 2.0 | kd_loss 1.0 | lr 1e-4 | mem 3.00 GiB | tps 12.50 | kd_ratio 0.50",
            MetricPoint(5, 1, "train", 2.5, 1e-4, None, 12.5, 3.0, AT),
        ),
        (
            "step 5 | epoch 1 | loss 2.5 | accuracy 0.5 | grad_norm 1 | lr 1e-4 | mem 3 GiB | tps 4(2/gpu)",
            MetricPoint(5, 1, "train", 2.5, 1e-4, 1, 4, 3, AT),
        ),
        (
            "step 5 | epoch 1 | loss 2.5 | loss_avg_window 2 | grad_norm 1 | lr 1e-4 | mem 3 GiB | time 1s",
            MetricPoint(5, 1, "train", 2.5, 1e-4, 1, None, 3, AT),
        ),
        ("step 5 | epoch 1 | val_loss 2.5 | val_acc1 0.5 | val_mrr 0.1", MetricPoint(5, 1, "val", 2.5, time=AT)),  # retrieval
        (
            "step 5 | epoch 1 | ce 2.5 | mse 0.1 | grad_norm 1 | lr 1e-4 | mem 3 GiB | tps 4(2/gpu)",
            MetricPoint(5, 1, "train", None, 1e-4, 1, 4, 3, AT),
        ),
    ],
)
@pytest.mark.parametrize(
    "around",
    [
        "{stamp} | INFO | root | {line}\n",
        "\rTraining:  45%|####      | 18/40 [00:19<00:13,  1.63step/s, loss=6.3, tps=4]{stamp} | INFO | root | {line}\n",
        "{stamp} | \x1b[32mINFO\x1b[0m | root | {line}\r\n",
        "(worker1, rank=1, pid=7, ip=10.0.0.2)  3: [default0]:{stamp},123 | INFO | nemo_automodel.recipes | {line}",
        "2001-01-01 00:00:00 | INFO | root | something without an end {stamp} | INFO | root | {line}\n",
    ],
)
def test_formats(line: str, point: MetricPoint, around: str) -> None:
    points, _ = parse(around.format(stamp=STAMP, line=line))
    assert len(points) == 1
    assert all(got == wanted or (got != got and wanted != wanted) for got, wanted in zip(points[0], point, strict=True)), points


def test_a_record_without_a_time() -> None:
    assert parse("step 5 | epoch 1 | loss 2.5\n")[0] == [MetricPoint(5, 1, "train", 2.5)]
    assert parse("2026-99-01 02:48:07 | INFO | root | step 5 | epoch 1 | loss 2.5\n")[0] == [MetricPoint(5, 1, "train", 2.5)]


def test_times_are_read_in_the_zone_of_the_log() -> None:
    record = f"{STAMP} | INFO | root | step 5 | epoch 1 | loss 2.5\n".encode()
    assert LogParser(timezone(timedelta(hours=2))).feed(record)[0].time == AT - 7200
    assert LogParser().feed(record)[0].time == datetime(2026, 12, 1, 2, 48, 7).timestamp()


@pytest.mark.parametrize(
    "text",
    [
        "step 5 of 10\n",
        "Epoch 1/3: step 5 | loss 2\n",
        "step x | epoch 1 | loss 2\n",
        "{'loss': 2.5, 'learning_rate': 1e-4, 'epoch': 1.0}\n",
        "step 5 | epoch 1\n",
        "\x00\xff" * 5000,
        "Training: lots of it\nMax train steps: unknown\nLoading checkpoint from \n checkpoint to \n https://x/runs/\n",
        "/data/lab/runs/b/epoch_0_step_19 is a directory, https://github.com/a/b/actions/runs/1 a page\n",
    ],
)
def test_other_formats_do_no_harm(text: str) -> None:
    points, progress = parse(text)
    assert points == []
    assert progress == Progress(last_line=progress.last_line)


@pytest.mark.parametrize(
    ("line", "url"),
    [
        (
            "2026-12-01 02:48:07 | INFO | root | 🚀 View run at https://wandb.ai/team/proj/runs/ab12cd34",
            "https://wandb.ai/team/proj/runs/ab12cd34",
        ),
        (
            "wandb: 🚀 View run \x1b[33mquiet-sun-1\x1b[0m at: \x1b[34mhttps://wandb.ai/team/proj/runs/x-1\x1b[0m",
            "https://wandb.ai/team/proj/runs/x-1",
        ),
        ("| INFO | root | Running run at http://wandb.site.example/t/p/runs/1", "http://wandb.site.example/t/p/runs/1"),
        ("View run at: https://mlflow.example/#/experiments/12/runs/34", None),
        ("View run at: http://localhost:5000/#/experiments/12/runs/34", None),
    ],
)
def test_wandb_link(line: str, url: str | None) -> None:
    assert parse(f"{line}\n")[1].wandb_url == url


def steps(numbers: range, seconds: float = 10) -> str:
    start = datetime(2026, 12, 1, tzinfo=UTC)
    stamps = {n: f"{start + timedelta(seconds=seconds * n):%Y-%m-%d %H:%M:%S}" for n in numbers}
    return "".join(f"{stamp} | INFO | root | step {n} | epoch 0 | loss 1.0\n" for n, stamp in stamps.items())


HEADER = "2026-12-01 00:00:00 | INFO | root | - Max train steps: {}\n"


def test_eta() -> None:
    _, progress = parse(HEADER.format(1000), steps(range(100)))
    assert progress.steps_per_s == pytest.approx(0.1)
    assert progress.eta_s == pytest.approx(9000)
    assert progress.fraction == pytest.approx(0.1)
    assert progress.finished is None


def test_eta_after_a_resume_counts_the_new_run_only() -> None:
    _, progress = parse(HEADER.format(1000), steps(range(500), 1), HEADER.format(1000), steps(range(500, 600), 10))
    assert progress.steps_per_s == pytest.approx(0.1)
    assert progress.restarts == 1  # though no step came twice


def test_steps_that_go_back_are_a_restart() -> None:
    _, progress = parse(steps(range(25)), steps(range(20, 30)), steps(range(10, 12)))
    assert (progress.restarts, progress.step) == (2, 11)


def test_training_without_a_limit_has_no_total() -> None:
    _, progress = parse(HEADER.format(9223372036854775807), steps(range(5)))
    assert (progress.total_steps, progress.fraction, progress.eta_s, progress.finished) == (None, None, None, None)


def test_where_records_are_not_logged_the_bar_tells() -> None:
    bars = "".join(f"\rTraining:  45%|####      | {n}/40 [00:19<00:13,  2.00s/step, loss=6.3]" for n in range(19))
    _, progress = parse(bars)
    assert (progress.step, progress.total_steps, progress.steps_per_s) == (17, 40, 0.5)
    assert progress.eta_s == 44


def chunks(data: bytes, cuts: list[int]) -> list[bytes]:
    places = [0, *sorted(place % (len(data) + 1) for place in cuts), len(data)]
    return [data[a:b] for a, b in itertools.pairwise(places)]


_WHOLE = {name: (DATA / f"{name}.log").read_bytes() for name in ("torchrun2", "exception_rank1_tee3", "colour", "resume")}


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(_WHOLE)), st.lists(st.integers(0, 1 << 20), max_size=40))
def test_any_cut_of_a_real_log_gives_the_same(name: str, cuts: list[int]) -> None:
    assert parse(*chunks(_WHOLE[name], cuts)) == parse(_WHOLE[name])


def test_single_bytes_give_the_same() -> None:
    data = _WHOLE["colour"]
    assert parse(*(data[i : i + 1] for i in range(len(data)))) == parse(data)


_PIECES = [
    *(
        "\n",
        "\r",
        "█",
        "x" * 300,
        "step 7 | epoch 0 | loss 1.5 | lr 1e-3",
        f"{STAMP} | INFO | root | ",
        "[val] ",
        " checkpoint to ",
    ),
    *("Saving checkpoint to a/epoch_0_step_7", "Loading checkpoint from a", "Max train steps: 40", "initiating graceful stop"),
    *("Training:  45%|### | 18/40 [00:19<00:13,  1.63step/s, loss=6.3]", "https://wandb.ai/a/b/runs/c", "step 3 | epoch 0 | "),
]
_PARTS = st.lists(st.sampled_from(_PIECES), max_size=40).map(lambda parts: "".join(parts).encode())


@settings(max_examples=200, deadline=None)
@given(_PARTS, st.lists(st.integers(0, 1 << 20), max_size=12), st.booleans())
def test_any_cut_of_any_bytes_gives_the_same(data: bytes, cuts: list[int], endless: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metrics, "_HELD", 5000 if endless else 1 << 16)  # also where a line is searched before its end
        whole, cut = parse(data), parse(*chunks(data, cuts))
    assert cut[0] == whole[0]
    assert cut[1] == whole[1]


def test_a_line_that_never_ends_takes_no_memory() -> None:
    parser = LogParser(UTC)
    for i in range(200):
        points = parser.feed(b"x" * 100_000 + b"step %d | epoch 0 | loss 1.0 | " % i)
        assert len(parser._tail) < 200_000
        assert [point.step for point in points] == ([i - 1] if i else [])
    assert [point.step for point in parser.close()] == [199]


def test_view_is_bounded_and_keeps_ends_and_spikes() -> None:
    parser, losses = LogParser(UTC), {12_345: "nan", 23_456: "99", 34_567: "0.001"}
    for start in range(0, 60_000, 1000):
        records = [f"| step {n} | epoch 0 | loss {losses.get(n, 2 + n % 7)} | lr 1\n" for n in range(start, start + 1000)]
        records.append(f'| [val] name "default" | step {start + 999} | epoch 0 | loss 3 | lr 1\n')
        parser.feed("".join(records).encode())
    points = parser.points
    train = [point.step for point in points if point.split == "train"]
    assert VIEW_POINTS / 4 < len(points) <= VIEW_POINTS
    assert train == sorted(train)
    assert {0, 12_345, 23_456, 34_567, 59_999} <= set(train)
    assert [point.step for point in points if point.split == "val"] == list(range(999, 60_000, 1000))
    gaps = [b - a for a, b in itertools.pairwise(train)]
    assert max(gaps) <= 64  # as dense at the start as at the end
    assert sum(len(series.stretches) for series in parser._view._series.values()) <= VIEW_POINTS


_POINTS = st.lists(
    st.builds(
        MetricPoint,
        st.integers(0, 50),
        st.just(0),
        st.sampled_from(["train", "val", "val/a"]),
        st.one_of(st.none(), st.floats(-9, 9), st.sampled_from([math.nan, math.inf])),
    ),
    max_size=80,
)


@given(_POINTS, st.integers(4, 40))
def test_decimate(points: list[MetricPoint], limit: int) -> None:
    kept = decimate(points, limit)
    assert len(kept) <= limit
    places = iter(points)
    assert all(any(point is other for other in places) for point in kept)  # in order, none twice, none made up
    if len(points) <= limit:
        assert kept == points
    train = [point for point in points if point.split == "train"]
    if len({point.split for point in points}) == 1 and train:
        assert kept[0] is train[0]
        assert kept[-1] is train[-1]
        losses = [point.loss for point in train if point.loss is not None and point.loss == point.loss]
        if losses:
            assert min(losses) in [point.loss for point in kept]
