"""The one line that says why: real failing logs, and Slurm's and the shell's own words."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from automodel_nb.watching import errors_in_log
from automodel_nb.watching.errors_in_log import ErrorLine, first_error, first_error_in
from automodel_nb.watching.follow import Piece, lines

DATA = Path(__file__).parents[1] / "data"
OOM = "OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB"
BROKEN = "RuntimeError: [/__w/pytorch/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:553] Connection closed by peer"


@pytest.mark.parametrize(
    ("name", "kind", "text", "rank"),
    [
        ("oom_rank1", "exception", OOM, 1),
        ("exception_rank1_tee3", "exception", "RuntimeError: raised by AM_FAIL", 1),
        ("exit7_rank1", "torchrun", "rank 1 ended with exit code 7", 1),
        ("exit7_rank1_cli", "aftermath", BROKEN, 0),  # torchrun blames rank 0, which only lost its peer
        ("sigkill", "torchrun", "rank 0 was killed by SIGKILL", 0),
        (
            "unknown_key",
            "exception",
            "TypeError: StepSchedulerConfig.__init__() got an unexpected keyword argument 'checkpoint_interval'",
            0,
        ),
        (
            "no_data",
            "exception",
            "ConnectionError: Couldn't reach 'tiny/missing.jsonl' on the Hub (OfflineModeIsEnabled)",
            None,
        ),
        ("no_recipe", "message", "YAML config must specify a recipe target.", None),
        ("bad_recipe", "message", "Unknown recipe class 'NoSuchRecipe'. Available short names:", None),
    ],
)
def test_real_logs(name: str, kind: str, text: str, rank: int | None) -> None:
    path = DATA / f"{name}.log"
    error = first_error(line.text for line in lines(path))
    assert error is not None
    assert (error.kind, error.rank) == (kind, rank)
    assert error.text.startswith(text)
    said = path.read_bytes().decode().split("\n")[error.number - 1]
    assert text.partition(": ")[2] in said or kind == "torchrun"
    assert first_error_in(path) == error


@pytest.mark.parametrize("name", ["torchrun2", "sigterm", "resume", "resume_finished", "colour"])
def test_logs_of_runs_that_ended_well_name_no_error(name: str) -> None:
    assert first_error_in(DATA / f"{name}.log") is None


TRACEBACK = 'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    raise ValueError("x")'
PEER = "\n".join(
    f"[rank0]: {line}" for line in [*TRACEBACK.split("\n"), "RuntimeError: Connection closed by peer [10.0.0.1]:3"]
)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", None),
        ("all is well\n0 errors found\nloss_error: 3\n", None),
        (f"{TRACEBACK}\nValueError: x\n", ErrorLine(4, "ValueError: x")),
        (f"{TRACEBACK}\nValueError\n", ErrorLine(4, "ValueError")),
        (f"{TRACEBACK}\nValueError: \n", ErrorLine(4, "ValueError")),
        (
            f"{TRACEBACK}\nsocket.gaierror: [Errno -2] Name or service not known\n",
            ErrorLine(4, "gaierror: [Errno -2] Name or service not known"),
        ),
        (f"{TRACEBACK}\n  ^^^^\n\nlost line of another rank\nmy.pkg.Custom: y\nValueError: z\n", ErrorLine(7, "Custom: y")),
        # what an exception became, where it became another
        (
            f"{TRACEBACK}\nKeyError: 'a'\n\nThe above exception was the direct cause of the following exception:\n\n"
            f"{TRACEBACK}\nConfigError: no a\n",
            ErrorLine(11, "ConfigError: no a"),
        ),
        # the first of two that are not a chain
        (f"{TRACEBACK}\nValueError: x\n{TRACEBACK}\nTypeError: y\n", ErrorLine(4, "ValueError: x")),
        (
            f"{PEER}\n[rank1]: {TRACEBACK.replace(chr(10), chr(10) + '[rank1]: ')}\n[rank1]: ValueError: x\n",
            ErrorLine(8, "ValueError: x", 1),
        ),
        (f"{PEER}\n", ErrorLine(4, "RuntimeError: Connection closed by peer [10.0.0.1]:3", 0, "aftermath")),
        (
            "slurmstepd: error: Detected 1 oom_kill event in StepId=12.0. Some of the step tasks have been OOM Killed.\n"
            "srun: error: n1: task 0: Out Of Memory\n",
            ErrorLine(
                1,
                "slurmstepd: error: Detected 1 oom_kill event in StepId=12.0. Some of the step tasks have been OOM Killed.",
                None,
                "scheduler",
            ),
        ),
        (
            "slurmstepd-n1: error: *** JOB 12 ON n1 CANCELLED AT 2026-12-01T02:48:03 DUE TO TIME LIMIT ***\n",
            ErrorLine(
                1,
                "slurmstepd-n1: error: *** JOB 12 ON n1 CANCELLED AT 2026-12-01T02:48:03 DUE TO TIME LIMIT ***",
                None,
                "scheduler",
            ),
        ),
        (
            "srun: error: n2: task 1: Exited with exit code 1\n"
            "slurmstepd: error: *** STEP 12.0 ON n1 CANCELLED AT 2026-12-01T02:48:03 ***\n"
            f"{TRACEBACK}\nValueError: x\n",
            ErrorLine(6, "ValueError: x"),
        ),
        (
            "srun: error: n2: task 1: Exited with exit code 7\n",
            ErrorLine(1, "srun: error: n2: task 1: Exited with exit code 7", None, "aftermath"),
        ),
        (
            "/jobs/a/launch.sh: line 12: 4711 Segmentation fault      (core dumped) python train.py\n",
            ErrorLine(
                1, "/jobs/a/launch.sh: line 12: 4711 Segmentation fault      (core dumped) python train.py", None, "crash"
            ),
        ),
        ("Fatal Python error: Segmentation fault\n", ErrorLine(1, "Fatal Python error: Segmentation fault", None, "crash")),
        (
            "launch.sh: line 9: automodel: command not found\n",
            ErrorLine(1, "launch.sh: line 9: automodel: command not found", None, "message"),
        ),
        (
            "bash: /data/venv/bin/python: No such file or directory\n",
            ErrorLine(1, "bash: /data/venv/bin/python: No such file or directory", None, "message"),
        ),
        (
            "usage: app.py [-h]\napp.py: error: argument -c: expected one argument\n",
            ErrorLine(2, "app.py: error: argument -c: expected one argument", None, "message"),
        ),
        ("2026-12-01 02:48:03 | ERROR | root | disk is full\n", ErrorLine(1, "disk is full", None, "message")),
        (
            "\rTraining: 100%|###| 7/7 [00:01<00:00,  3.9step/s]ERROR: no space left\n",
            ErrorLine(1, "ERROR: no space left", None, "message"),
        ),
    ],
)
def test_texts(text: str, error: ErrorLine | None) -> None:
    assert first_error(text.split("\n")) == error


STEP = "2026-12-01 02:48:07 | INFO | root | step 1 | epoch 0 | loss 2"


def test_an_exception_after_which_training_went_on_is_not_the_reason() -> None:
    caught = [*TRACEBACK.split("\n"), "ImportError: no liger"]
    assert first_error([*caught, STEP, STEP, STEP, "all is well"]) is None
    assert first_error([*caught, STEP, STEP, STEP, *caught[:3], "ValueError: x"]) == ErrorLine(11, "ValueError: x")
    assert first_error([*caught, STEP]) == ErrorLine(4, "ImportError: no liger")  # another rank's last word
    restarted = [
        "Root Cause (first observed failure):",
        "  rank      : 1 (local_rank: 1)",
        "  exitcode  : -9 (pid: 7)  (SIGKILL)",
    ]
    assert first_error([*restarted, STEP, STEP, STEP]) is None


def test_the_data_loader_quotes_the_worker_that_failed() -> None:
    text = f"{TRACEBACK}\nRuntimeError: Caught ValueError in worker process 0.\nOriginal {TRACEBACK}\nValueError: row 7"
    assert first_error(text.split("\n")) == ErrorLine(8, "ValueError: row 7")


def test_an_abort_of_nccls_watchdog_is_aftermath() -> None:
    lines = ["[rank0]: terminate called after throwing an instance of 'c10::DistBackendError'", "Fatal Python error: Aborted"]
    error = first_error(lines)
    assert error is not None
    assert (error.kind, error.rank) == ("aftermath", 0)
    assert first_error(["Fatal Python error: Aborted"]) == ErrorLine(1, "Fatal Python error: Aborted", None, "crash")


_PIECES = [
    *(STEP, STEP, STEP, f"Original {TRACEBACK}", "NVMLError: x", "Aborted (core dumped)"),
    *(
        *TRACEBACK.split("\n"),
        "ValueError: x",
        "ok",
        "",
        PEER,
        "error: y",
        "srun: error: z",
        "Killed",
        "[rank1]: ValueError: q",
    ),
    *(
        "Root Cause (first observed failure):",
        "  rank      : 1 (local_rank: 1)",
        "  exitcode  : -9 (pid: 7)  (SIGKILL)",
        "x" * 50,
    ),
]
_TEXT = st.lists(st.sampled_from(_PIECES), max_size=40).map("\n".join)


@given(_TEXT, st.integers(1, 64))
def test_the_fast_way_finds_the_same(text: str, block: int) -> None:
    data = text.encode()

    class Memory:
        def read(self, offset: int, limit: int) -> Piece:
            return Piece(data[offset : offset + limit], len(data), 0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(errors_in_log, "_BLOCK", block)
        assert first_error_in(Memory()) == first_error(text.split("\n"))
