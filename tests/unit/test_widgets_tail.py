"""What of a log goes to the browser: capped, numbered, coloured, masked, and counted to the line."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from automodel_nb.interpolation import Masker
from automodel_nb.widgets import tail as room
from automodel_nb.widgets.tail import BACKLOG, CAP, LONGEST, LogTail


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "output.log"


def write(log: Path, text: str, mode: str = "a") -> None:
    with log.open(mode, newline="") as file:
        file.write(text)


def texts(batch: room.Batch | None) -> list[str]:
    assert batch is not None
    return [row[3] if isinstance(row[3], str) else "".join(piece[0] for piece in row[3]) for row in batch.rows]


def test_nothing_before_there_is_a_file(log: Path) -> None:
    tail = LogTail(log)
    assert tail.look() is None
    write(log, "one\n")
    assert texts(tail.look()) == ["one"]
    assert tail.look() is None


def test_lines_are_numbered_and_an_unfinished_one_waits(log: Path) -> None:
    tail = LogTail(log)
    write(log, "a\n\nb\nhal")
    batch = tail.look()
    assert [(row[0], row[3]) for row in batch.rows] == [(1, "a"), (2, ""), (3, "b")]  # type: ignore[union-attr]
    write(log, "f\n")
    assert [(row[0], row[3]) for row in tail.look().rows] == [(4, "half")]  # type: ignore[union-attr]
    write(log, "end without a newline")
    assert tail.look() is None
    last = tail.look(last=True)
    assert texts(last) == ["end without a newline"]
    assert last.total == 5  # type: ignore[union-attr]
    assert tail.look(last=True) is None


def test_a_flood_is_capped_and_counted(log: Path) -> None:
    tail = LogTail(log)
    write(log, "first\n")
    tail.look()
    write(log, "".join(f"line {i}\n" for i in range(2, 50_002)))
    batch = tail.look()
    while tail.waiting:
        batch = tail.look()
    assert batch is not None
    assert batch.total == 50_001
    assert [row[0] for row in batch.rows] == list(range(50_001 - CAP + 1, 50_002))
    assert texts(batch)[-1] == "line 50001"


def test_a_log_that_is_there_comes_in_portions(log: Path) -> None:
    write(log, "".join(f"{i}\n" for i in range(1, 10_001)))
    tail, seen = LogTail(log), []
    for _ in range(BACKLOG // CAP):
        batch = tail.look()
        assert batch is not None
        assert len(batch.rows) == CAP
        seen += [row[0] for row in batch.rows]
    assert seen == list(range(10_000 - BACKLOG + 1, 10_001))
    assert not tail.waiting
    assert tail.look() is None


def test_lines_that_come_during_the_backlog_are_not_lost(log: Path) -> None:
    write(log, "".join(f"{i}\n" for i in range(1, 1001)))
    tail, seen = LogTail(log), []
    for i in range(10):
        write(log, f"{1001 + i}\n")
        batch = tail.look()
        seen += [row[0] for row in batch.rows] if batch else []
    assert seen == list(range(1, 1011))


def test_a_log_that_takes_long_to_read_begins_with_its_end(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "_TIME", -1.0)  # each look reads one chunk
    write(log, "".join(f"{i:07d}{'.' * 92}\n" for i in range(1, 30_001)))  # 3 MB
    tail, seen = LogTail(log), []
    for _ in range(40):
        if batch := tail.look():
            seen += [row[0] for row in batch.rows]
    assert seen == list(range(30_000 - BACKLOG + 1, 30_001))


def test_memory_and_time_of_a_large_log(log: Path) -> None:
    write(log, ("x" * 99 + "\n") * 1_000_000)  # 100 MB
    import tracemalloc

    tail = LogTail(log)
    tracemalloc.start()
    began = time.perf_counter()
    while tail.look() is None or tail.waiting:
        pass
    took, (_, peak) = time.perf_counter() - began, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8e6
    assert took < 10


@pytest.mark.parametrize("how", ["truncated", "replaced"])
def test_a_log_that_begins_again(log: Path, how: str) -> None:
    tail = LogTail(log)
    write(log, "old 1\nold 2\n")
    tail.look()
    if how == "replaced":
        log.rename(log.with_suffix(".old"))
    write(log, "new\n", "w")
    batch = tail.look() or tail.look()
    assert batch is not None
    assert batch.anew
    assert [(row[0], row[3]) for row in batch.rows] == [(1, "new")]
    assert batch.total == 1


def test_levels_ranks_and_the_inside_of_a_traceback(log: Path) -> None:
    write(
        log,
        "2026-12-01 02:48:05 | INFO | root | step 0\n"
        "[default1]:[WARNING] careful\n"
        "[rank1]: Traceback (most recent call last):\n"
        '[rank1]:   File "x.py", line 1, in <module>\n'
        "[rank1]: ValueError: no\n"
        "plain\n",
    )
    rows = LogTail(log).look().rows  # type: ignore[union-attr]
    assert [(row[1], row[2]) for row in rows] == [("I", None), ("W", 1), ("E", 1), ("E", 1), ("E", 1), ("", None)]


def test_colours_become_pieces(log: Path) -> None:
    write(log, "\x1b[1;31mred\x1b[0m plain \x1b[38;2;1;2;3mown\x1b[0m\n\x1b[2K\x1b[0mnone\n")
    rows = LogTail(log).look().rows  # type: ignore[union-attr]
    assert rows[0][3] == [["red", "red", "b"], [" plain ", None, ""], ["own", "#010203", ""]]
    assert rows[1][3] == "none"


def test_secrets_are_masked_also_where_a_colour_splits_them(log: Path) -> None:
    masker = Masker(["supersecretvalue"])
    write(log, "token supersecretvalue\n\x1b[31msupersecret\x1b[32mvalue\x1b[0m\n\rbar supersecretvalue")
    tail = LogTail(log, masker.mask)
    batch = tail.look()
    assert texts(batch) == ["token ***", "***"]
    assert "supersecret" not in batch.bar  # type: ignore[union-attr]


def test_what_a_browser_would_act_on_is_made_visible(log: Path) -> None:
    write(log, "a\u202eb\x00c\n\x1b[31m\u202ered\x1b[0m\n")
    assert all("\u202e" not in text and "\x00" not in text for text in texts(LogTail(log).look()))


def test_a_long_line_is_cut_with_a_remark(log: Path) -> None:
    write(log, "x" * 5000 + "\n" + "\x1b[31m" + "y" * 5000 + "\n" + "z" * 3_000_000)
    tail = LogTail(log)
    shown = texts(tail.look())
    assert shown[0] == "x" * LONGEST + " … 3,000 characters more"
    assert shown[1] == "y" * LONGEST + " … 3,000 characters more"
    while tail.waiting:
        tail.look()
    assert texts(tail.look(last=True))[0].startswith("zzz")


def test_a_bar_is_shown_while_it_is_drawn(log: Path) -> None:
    tail = LogTail(log)
    write(log, "\rTraining:  10%|█         | 4/40 [00:02<00:20,  1.75step/s]")
    assert tail.look().bar.startswith("Training:  10%")  # type: ignore[union-attr]
    write(log, "\rTraining:  20%|██        | 8/40 [00:04<00:20,  1.75step/s]")
    batch = tail.look()
    assert batch.bar.startswith("Training:  20%")  # type: ignore[union-attr]
    assert batch.rows == []  # type: ignore[union-attr]
    write(log, "2026-12-01 02:48:05 | INFO | root | done\n")
    batch = tail.look()
    assert texts(batch) == ["2026-12-01 02:48:05 | INFO | root | done"]
    assert batch.bar == ""  # type: ignore[union-attr]


def test_unfinished_text_that_is_no_bar_waits(log: Path) -> None:
    write(log, "password: supersec")
    assert LogTail(log).look() is None
