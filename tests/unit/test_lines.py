"""What is shown of a line, who wrote it, how grave it is (case C10)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from automodel_nb.watching.follow import lines
from automodel_nb.watching.lines import Origin, body_of, clean, level_of, origin_of, rank_of

DATA = Path(__file__).parents[1] / "data"
STEP = "2026-12-01 02:48:05 | INFO | root | step 17 | epoch 0 | loss 3.2773 | grad_norm 1.3798 | lr 2.05e-03"
BAR = "Training:  42%|████▎     | 17/40 [00:00<00:00, 26.28step/s, loss=3.2773, lr=2.05e-03, tps=3324]"


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("", [""]),
        ("plain | text  ", ["plain | text"]),
        (STEP, [STEP]),
        (f"\r{BAR}{STEP}", [STEP]),
        (f"\r{BAR}\r{BAR} {STEP}", [STEP]),  # tqdm pads with a space what it shortens
        (f"\r{BAR}\r{BAR}", [BAR]),  # the last bar of a line stays, as on a terminal
        (f"\r{BAR}\r{BAR}\r", [BAR]),
        ("Windows\r", ["Windows"]),
        (f"[default0]:\r{BAR}{STEP}", [f"[default0]:{STEP}"]),
        (f"[default0]:{BAR}\r{BAR}{STEP}", [f"[default0]:{STEP}"]),
        (f"[default0]:{BAR}[default1]:[rank1]: Traceback", ["[default1]:[rank1]: Traceback"]),
        (f"[default0]:{BAR}", []),  # --tee made a newline of the carriage return
        ("[default0]:", []),
        ("0: [default0]:", []),
        (
            "[default0]:Training: 100%|##| 2/2 [00:00<00:00, 9step/s]",
            ["[default0]:Training: 100%|##| 2/2 [00:00<00:00, 9step/s]"],
        ),
        (f"0: \r{BAR}{STEP}", [f"0: {STEP}"]),
        (f"\r{BAR}W1201 03:04:53.1 7 api.py:1] Received 15", ["W1201 03:04:53.1 7 api.py:1] Received 15"]),
        (f"\r{BAR}[rank1]: Traceback (most recent call last):", ["[rank1]: Traceback (most recent call last):"]),
        (f"some text without an end\r{BAR}{STEP}", ["some text without an end", STEP]),
        ("Loading weights: 100%|██████████| 21/21 [00:00<00:00, 2250.51it/s]\x1b[A", None),
        ("Generating train split: 448 examples [00:00, 9000 examples/s]\r\n".strip("\n"), None),
        ("\rMap:   0%|          | 0/448 [00:00<?, ? examples/s]\rMap: 100%|###| 448/448 [00:00<00:00, 8.1k examples/s]", None),
        ("\rDownloading 10 of 90 MB\rDownloading 20 of 90 MB\rDownloading 90 of 90 MB, done", None),
        ("\x1b[32mINFO\x1b[0m | done\x1b[K", ["INFO | done"]),
        ("a\r\rb", ["a", "b"]),
    ],
)
def test_clean(line: str, shown: list[str] | None) -> None:
    result = clean(line)
    if shown is not None:
        assert result == shown
    else:  # one line, without what only moves a cursor
        assert len(result) == 1 or not any("10 of" in text for text in result), result
        assert all("\r" not in text and "\x1b" not in text for text in result)


def test_a_teed_log_is_clean() -> None:
    shown = [one for line in lines(DATA / "exception_rank1_tee3.log") for one in clean(line.text)]
    assert sum("| step " in line for line in shown) == 7
    assert not any("Training: " in line or line == "[default0]:" for line in shown)
    assert sum("100%|" in line for line in shown) == 2  # the weights, loaded by each rank


def test_every_step_of_a_real_log_stands_on_a_clean_line_of_its_own() -> None:
    text = (DATA / "torchrun2.log").read_text()
    shown = [one for line in lines(DATA / "torchrun2.log") for one in clean(line.text)]
    steps = [line for line in shown if " | step " in line]
    assert len(steps) == text.count(" | step ") == 44
    assert all(
        re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \| INFO \| root \| (\[val\] name \"default\" \| )?step \d+ \| ", line)
        for line in steps
    )
    assert sum("Training: " in line for line in shown) == 1  # the finished bar
    assert not any("\r" in line for line in shown)


@given(st.text(alphabet=st.sampled_from("\r\x1b[]m0%| 1/2:<,?aBé█\x08\t"), max_size=80))
def test_clean_never_fails_and_shows_no_control_character(line: str) -> None:
    shown = clean(line)
    assert all(character == "\t" or character.isprintable() for text in shown for character in text)


@pytest.mark.parametrize(
    ("line", "origin", "body"),
    [
        ("[rank1]: Traceback (most recent call last):", Origin(1), "Traceback (most recent call last):"),
        ("[rank12]:   File", Origin(12), "  File"),
        ("[default3]:[rank11]: ValueError: x", Origin(11, 3), "ValueError: x"),
        ("[default3]:text", Origin(None, 3), "text"),
        ("[actor2]:text", Origin(None, 2), "text"),
        ("3: text", Origin(None, None, 3), "text"),
        (" 3: [default1]:text", Origin(None, 1, 3), "text"),
        ("(head, rank=0, pid=1234, ip=10.0.0.1) [rank5]: boom", Origin(5, None, 0), "boom"),
        ("(worker1, rank=1, pid=4321, ip=10.0.0.2) text", Origin(None, None, 1), "text"),
        ("(train-task, pid=999) text", Origin(), "text"),
        ("2026-12-01 02:48:05 | INFO | root | x", Origin(), "2026-12-01 02:48:05 | INFO | root | x"),
        ("[1]:", Origin(), "[1]:"),
        ("", Origin(), ""),
    ],
)
def test_origin(line: str, origin: Origin, body: str) -> None:
    assert origin_of(line) == origin
    assert body_of(line) == body
    assert rank_of(line) == (origin.local_rank if origin.rank is None else origin.rank)


@pytest.mark.parametrize(
    ("line", "level"),
    [
        (STEP, "INFO"),
        ("2026-12-01 02:48:03 | WARNING | root | save_consolidated=final", "WARNING"),
        ("[default0]:2026-12-01 02:48:03 | ERROR | root | x", "ERROR"),
        ("2026-12-01 02:48:03 | CRITICAL | root | x", "ERROR"),
        ("2026-12-01 02:48:03 | DEBUG | root | an ERROR | in | the text", "DEBUG"),
        ("W1201 02:50:57.797000 8592 torch/distributed/elastic/multiprocessing/api.py:1028] Sending", "WARNING"),
        ("E1201 02:50:57.861000 8592 torch/distributed/elastic/multiprocessing/api.py:1002] failed", "ERROR"),
        ("slurmstepd: error: *** JOB 12 ON n1 CANCELLED AT 2026-12-01T02:48:03 DUE TO TIME LIMIT ***", "ERROR"),
        ("srun: error: n1: task 0: Exited with exit code 1", "ERROR"),
        ("[rank1]: Traceback (most recent call last):", "ERROR"),
        ("[rank1]: torch.OutOfMemoryError: CUDA out of memory.", "ERROR"),
        ("RuntimeError: boom", "ERROR"),
        ("/x/ddp.py:120: FutureWarning: `broadcast_buffers` is deprecated.", "WARNING"),
        ("gpu-17:48213:48890 [3] NCCL WARN Call to connect returned", "WARNING"),
        ("learning_rate: 3e-4", None),
        ("the error: none", None),
        ("", None),
    ],
)
def test_level(line: str, level: str | None) -> None:
    assert level_of(line) == level
