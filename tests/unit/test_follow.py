"""Following a log by offset: every line once, exactly, whatever happens to the file or the follower."""

from __future__ import annotations

import itertools
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from automodel_nb.watching import logfile
from automodel_nb.watching.follow import FileSource, Line, LineSplitter, LogFile, LogSet, Piece, follow, lines, tail

# Bytes that matter to the splitter stand out; anything else may be between them.
_BYTES = st.lists(
    st.sampled_from([b"a", b"\n", b"\r", b"\r\n", "█".encode(), b"\xff", b"\x1b[32m", b"step 1 | "]), max_size=60
).map(b"".join)
_CUTS = st.lists(st.integers(0, 200), max_size=8)


def cut(data: bytes, cuts: list[int]) -> list[bytes]:
    places = [0, *sorted(min(place, len(data)) for place in cuts), len(data)]
    return [data[a:b] for a, b in itertools.pairwise(places)]


def expected(data: bytes) -> list[str]:
    *whole, last = data.split(b"\n")
    return [raw.decode("utf-8", "backslashreplace") for raw in ([*whole, last] if last else whole)]


@given(_BYTES, _CUTS)
def test_any_cut_of_the_bytes_gives_the_same_lines(data: bytes, cuts: list[int]) -> None:
    splitter = LineSplitter()
    found = [line for chunk in cut(data, cuts) for line in splitter.feed(chunk)] + splitter.flush()
    assert [line.text for line in found] == expected(data)
    assert [line.ended for line in found] == [True] * data.count(b"\n") + [False] * bool(data and not data.endswith(b"\n"))
    assert (found[-1].offset if found else 0) == len(data)


@given(_BYTES, st.integers(0, 59))
def test_a_follower_goes_on_from_any_line(data: bytes, number: int) -> None:
    splitter = LineSplitter()
    found = splitter.feed(data) + splitter.flush()
    offset = found[number % len(found)].offset if found else 0
    later = LineSplitter(offset)
    assert later.feed(data[offset:]) + later.flush() == [line for line in found if line.offset > offset]


@given(_BYTES, _CUTS)
def test_a_line_too_long_comes_in_pieces_that_do_not_depend_on_the_cuts(data: bytes, cuts: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logfile, "MAX_LINE", 16)
        whole, chunked = LineSplitter(), LineSplitter()
        found = whole.feed(data) + whole.flush()
        assert [line for chunk in cut(data, cuts) for line in chunked.feed(chunk)] + chunked.flush() == found
        assert all(len(line.text.encode("utf-8", "surrogateescape")) <= 16 * 4 for line in found)
        text = "".join(line.text + "\n" * line.ended for line in found)
        assert text == data.decode("utf-8", "backslashreplace")


def test_a_bar_that_is_drawn_for_hours_takes_no_memory(tmp_path: Path) -> None:
    bar = b"\rTraining:  45%|####      | 18/40 [00:19<00:13,  1.63step/s]"
    path = tmp_path / "log"
    path.write_bytes(bar * 60_000 + b"\n")
    splitter, held = LineSplitter(), 0
    found = []
    with open(path, "rb") as file:
        while data := file.read(1 << 18):
            found += splitter.feed(data)
            held = max(held, splitter._held)
    assert held <= logfile.MAX_LINE
    assert len(found) == 4
    assert [line.ended for line in found] == [False, False, False, True]
    assert all(line.text.endswith("\r") for line in found[:-1])
    assert "".join(line.text for line in found).encode() == bar * 60_000


def test_an_unfinished_line_waits(tmp_path: Path) -> None:
    path = tmp_path / "log"
    log = LogFile(path)
    assert log.read() == []  # there is no file yet
    path.write_bytes(b"one\ntw")
    assert log.read() == [Line(4, "one")]
    assert log.offset == 4
    with open(path, "ab") as file:
        file.write(b"o\nthree")
    assert log.read() == [Line(8, "two")]
    assert log.read() == []
    assert log.flush() == [Line(13, "three", ended=False)]


def test_bytes_that_are_not_utf8_are_shown_and_half_a_character_waits(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"a\xffb\n\xe2\x96")
    log = LogFile(path)
    assert [line.text for line in log.read()] == ["a\\xffb"]
    with open(path, "ab") as file:
        file.write(b"\x88\n")
    assert [line.text for line in log.read()] == ["█"]


def test_only_a_newline_ends_a_line(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes("a\x0bb\x0cc\x1cd\x85e\u2028f\r\ng".encode())
    assert [line.text for line in lines(path)] == ["a\x0bb\x0cc\x1cd\x85e\u2028f\r", "g"]


def test_a_truncated_file_begins_anew_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\ntwo\n")
    log = LogFile(path)
    assert len(log.read()) == 2
    path.write_bytes(b"3\n")
    assert log.read() == []  # a size may be out of date for seconds on a shared file system: once is not believed
    assert log.reset is None
    assert log.read() == [Line(2, "3")]
    assert log.reset == ("truncated", 8)
    assert log.read() == []
    assert log.reset is None


def test_a_size_that_was_out_of_date_changes_nothing() -> None:
    content = b"one\ntwo\nthree\n"

    class Stale:
        sizes = iter([8, 4, 14])

        def read(self, offset: int, limit: int) -> Piece:
            size = next(self.sizes)
            return Piece(content[offset : min(size, offset + limit)], size, "same")

    log = LogFile(Stale())
    assert [line.text for line in log.read()] == ["one", "two"]
    assert (log.read(), log.reset) == ([], None)
    assert [line.text for line in log.read()] == ["three"]


def test_a_replaced_file_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\n")
    log = LogFile(path)
    log.read()
    (tmp_path / "new").write_bytes(b"first\nsecond\n")
    os.replace(tmp_path / "new", path)
    assert log.read() == [Line(6, "first"), Line(13, "second")]
    assert log.reset == ("replaced", 4)


def test_a_file_rewritten_longer_than_before_is_seen_by_its_content(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"2026-12-01 02:48:05 one\n")
    log = LogFile(path)
    log.read()
    path.write_bytes(b"2026-12-01 02:59:05 one\n2026-12-01 02:59:06 two\n")  # the same inode
    assert [line.text for line in log.read()] == ["2026-12-01 02:59:05 one", "2026-12-01 02:59:06 two"]
    assert log.reset == ("truncated", 24)


def test_a_new_file_is_reported_with_its_first_bytes(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\n")
    log = LogFile(path)
    log.read()
    path.write_bytes(b"")
    assert [(log.read(), log.reset) for _ in range(3)] == [([], None)] * 3
    path.write_bytes(b"1\n")
    assert log.read() == [Line(2, "1")]
    assert log.reset == ("truncated", 4)


def test_each_byte_is_handed_out_once_and_read_little_more_than_once(tmp_path: Path) -> None:
    path = tmp_path / "log"
    read = 0

    class Counting(FileSource):
        def read(self, offset: int, limit: int) -> Piece | None:
            nonlocal read
            piece = super().read(offset, limit)
            read += len(piece.data) if piece else 0
            return piece

    log, got = LogFile(Counting(path)), b""
    for i in range(100):
        with open(path, "ab") as file:
            file.write(b"x" * 1000 + b"%d\n" % i)
        got += log.fetch()
    assert got == path.read_bytes()
    assert read <= len(got) + 100 * 32


def test_a_look_takes_no_more_than_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"12345\n" * 10)
    log = LogFile(path)
    assert log.read(limit=13) == [Line(6, "12345"), Line(12, "12345")]
    assert log.more
    assert len(log.flush()) == 8
    assert log.offset == 60


@given(_BYTES, st.integers(0, 12), st.integers(1, 9))
def test_tail_is_the_end_of_all_lines(data: bytes, count: int, block: int) -> None:
    class Memory:
        def read(self, offset: int, limit: int) -> Piece:
            return Piece(data[offset : offset + limit], len(data), 0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("automodel_nb.watching.follow._TAIL_BLOCK", block)
        everything = list(lines(Memory()))
        assert tail(Memory(), count) == (everything[-count:] if count else [])


def test_tail_of_a_large_log_reads_its_end_only(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with open(path, "wb") as file:
        file.truncate(1 << 30)  # sparse
        file.seek(0, os.SEEK_END)
        file.write(b"\nlast but one\nlast\n")
    started = time.perf_counter()
    assert [line.text for line in tail(path, 2)] == ["last but one", "last"]
    assert time.perf_counter() - started < 1
    assert tail(tmp_path / "none", 5) == []


def test_follow_ends_with_what_was_written_before_the_end(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\n")
    over = False

    def wait() -> None:
        nonlocal over
        with open(path, "ab") as file:
            file.write(b"two\nunfinished")
        over = True

    assert [line.text for line in follow(LogFile(path), lambda: over, wait)] == ["one", "two", "unfinished"]


def test_a_finished_attempt_comes_whole_before_the_next(tmp_path: Path) -> None:
    (tmp_path / "0").write_bytes(b"a\n" * 3)
    (tmp_path / "1").write_bytes(b"b\nhalf")
    logs = LogSet({"attempt 0": tmp_path / "0", "attempt 1": tmp_path / "1"})
    assert [(label, line.text) for label, line in logs.read()] == [("attempt 0", "a")] * 3 + [("attempt 1", "b")]
    assert logs.offsets == {"attempt 0": 6, "attempt 1": 2}
    logs.add("attempt 2", tmp_path / "2")
    (tmp_path / "2").write_bytes(b"c\n")
    again = LogSet({"attempt 1": tmp_path / "1"}, logs.offsets)
    assert [(label, line.text) for label, line in logs.read()] == [("attempt 2", "c")]
    assert [(label, line.text) for label, line in again.flush()] == [("attempt 1", "half")]


_WRITER = """
import random, sys, time
rng = random.Random(1)
start = time.monotonic()
with open(sys.argv[1], "ab", buffering=0) as file:
    for i in range(int(sys.argv[2])):
        line = b"%d " % i + b"x" * rng.randint(0, 300) + b"\\rbar \\xe2\\x96\\x88\\n"
        cut = rng.randint(0, len(line))  # half a line may be there for a while
        file.write(line[:cut])
        file.write(line[cut:])
        time.sleep(max(0, start + i / 1000 - time.monotonic()))
"""
_FOLLOWER = """
import sys, time
from automodel_nb.watching.follow import LogFile
log = LogFile(sys.argv[1], int(sys.argv[2]))
with open(sys.argv[3], "ab", buffering=0) as out:
    while True:
        for line in log.read():
            out.write(f"{line.offset} {line.text}\\n".encode())
        time.sleep(0.01)
"""


def resume_offset(seen: Path) -> int:
    """What a killed follower had recorded, cut to whole entries, as a record on disk would be."""
    data = seen.read_bytes() if seen.exists() else b""
    data = data[: data.rfind(b"\n") + 1]
    seen.write_bytes(data)
    last = data.rstrip(b"\n").rpartition(b"\n")[2]
    return int(last.split()[0]) if last else 0


@pytest.mark.parametrize("kills", [pytest.param(5, id="5 kills"), pytest.param(50, id="50 kills", marks=pytest.mark.soak)])
def test_followers_killed_while_a_thousand_lines_a_second_are_written_miss_nothing(tmp_path: Path, kills: int) -> None:
    rng = random.Random(kills)
    log, seen, count = tmp_path / "log", tmp_path / "seen", 600 * kills
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    writer = subprocess.Popen([sys.executable, "-c", _WRITER, str(log), str(count)])
    try:
        for _ in range(kills):
            arguments = [str(log), str(resume_offset(seen)), str(seen)]
            follower = subprocess.Popen([sys.executable, "-c", _FOLLOWER, *arguments], env=environment)
            time.sleep(rng.uniform(0.2, 0.8))
            follower.send_signal(signal.SIGKILL)
            follower.wait()
        assert writer.wait(timeout=60) == 0
    finally:
        writer.kill()
        writer.wait()
    followed = [line.partition(b" ")[2] for line in seen.read_bytes().split(b"\n")[:-1]] if resume_offset(seen) else []
    rest = [line.text.encode() for line in lines(log, resume_offset(seen))]
    assert followed  # it was followed while it was written
    assert b"\n".join([*followed, *rest, b""]) == log.read_bytes()
    assert len(followed) + len(rest) == count
