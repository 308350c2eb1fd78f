"""What Slurm's commands answer, read: ids, rows, host lists, exit statuses, durations, reasons."""

from __future__ import annotations

from pathlib import Path

import pytest

from automodel_nb.errors import SubmissionError
from automodel_nb.launchers.base import JobRef, Submission
from automodel_nb.launchers.slurm import parse_submission, sbatch_argv
from automodel_nb.launchers.slurm_states import duration, hostlist, observe, sacct_observations, squeue_rows, status, waiting


@pytest.mark.parametrize(
    ("stdout", "answer"),
    [
        ("17\n", ("17", "", "")),
        ("60360068;clusterA\n", ("60360068", "clusterA", "")),
        ("Submitted batch job 10\n", ("10", "", "")),
        ("Submitted batch job 10 on cluster west\n", ("10", "west", "")),
        ("*** 2026: maintenance on Friday ***\n\n17\n", ("17", "", "*** 2026: maintenance on Friday ***")),
        ("17\nYour project has 3 GPU hours left\n", ("17", "", "Your project has 3 GPU hours left")),
        ("2026\n17\n", ("17", "", "2026")),
    ],
)
def test_the_id_through_site_noise(stdout: str, answer: tuple[str, str, str]) -> None:
    assert parse_submission(stdout) == answer


def test_no_id() -> None:
    with pytest.raises(SubmissionError, match="no job id: hello"):
        parse_submission("hello\n")


def test_the_name_of_the_output_is_not_a_pattern() -> None:
    argv = sbatch_argv("/a/100%j", "/w")
    assert "--output=/a/100%%j/output.log" in argv
    assert argv[-1] == "/a/100%j/launch.sbatch"
    assert sbatch_argv("/a", "/w", array=True)[4] == "--output=/a/output.task%a.log"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n1", ("n1",)),
        ("n[1-3]", ("n1", "n2", "n3")),
        ("n[01-03,10],login", ("n01", "n02", "n03", "n10", "login")),
        ("a[1,3]-ib,b2", ("a1-ib", "a3-ib", "b2")),
        ("", ()),
    ],
)
def test_host_lists(text: str, names: tuple[str, ...]) -> None:
    assert hostlist(text) == names


@pytest.mark.parametrize(("code", "shell"), [("0:0", 0), ("3:0", 3), ("0:15", 143), ("0:9", 137), ("", None)])
def test_exit_status(code: str, shell: int | None) -> None:
    assert status(code) == shell


@pytest.mark.parametrize(
    ("limit", "words"),
    [("30:00", "30 minutes"), ("1-12:00:00", "1 day 12 hours"), ("2:00:00", "2 hours"), ("infinite", "infinite")],
)
def test_durations(limit: str, words: str) -> None:
    assert duration(limit) == words


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("Resources", "waiting for resources"),
        ("ReqNodeNotAvail, UnavailableNodes:n4", "waiting: a node that it asks for is not available (UnavailableNodes:n4)"),
        ("ReqNodeNotAvail,_UnavailableNodes:n4", "waiting: a node that it asks for is not available (UnavailableNodes:n4)"),
        ("QOSMaxNodePerUserLimit", "waiting: a limit of the QOS is reached (QOSMaxNodePerUserLimit)"),
        ("AssocGrpCpuLimit", "waiting: a limit of the account is reached (AssocGrpCpuLimit)"),
        ("job requeued in held state", "waiting: job requeued in held state"),
    ],
)
def test_reasons_in_words(reason: str, words: str) -> None:
    assert waiting(reason) == words


def ref(directory: Path) -> JobRef:
    return JobRef("abcd1234", directory, Submission("33"), 0.0)


def test_an_array_is_one_job(tmp_path: Path) -> None:
    text = (
        "CLUSTER: west\n"
        "34|33|0|COMPLETED|None|2026-12-01T02:00:00|2026-12-01T02:00:09|batch|n1|/j/launch.sbatch\n"
        "35|33|1|RUNNING|None|2026-12-01T02:00:01|2026-12-01T03:00:01|batch|n2|/j/launch.sbatch\n"
        "33|33|2-7%2|PENDING|JobArrayTaskLimit|N/A|N/A|batch||/j/launch.sbatch\n"
    )
    rows = list(squeue_rows(text))
    seen = observe(ref(tmp_path), rows)
    assert (seen.state, seen.nodes, seen.reason) == ("RUNNING", ("n2",), "tasks: 1 COMPLETED, 1 RUNNING, 1 PENDING")
    (tmp_path / "exit_code.task0").write_text("5 100\n")
    failed = list(squeue_rows(text.replace("COMPLETED", "FAILED")))[:1]
    assert (observe(ref(tmp_path), failed).state, observe(ref(tmp_path), failed).exit_code) == ("FAILED", 5)


def test_sacct_is_believed_for_ends_only(tmp_path: Path) -> None:
    job = ref(tmp_path)
    assert sacct_observations([job], "33|RUNNING|0:0|2026-12-01T02:00:00|Unknown|n1\n") == {}
    text = (
        "33|FAILED|1:0|2026-12-01T02:00:00|2026-12-01T02:00:09|n[1-2]\n"
        "33.batch|FAILED|1:0|||n1\n"
        "33.0|OUT_OF_MEMORY|0:125|||n1\n"
    )
    seen = sacct_observations([job], text)["abcd1234"]
    assert (seen.state, seen.nodes, seen.reason) == ("OUT_OF_MEMORY", ("n1", "n2"), "out of memory")
    assert sacct_observations([job], "33|CANCELLED by 0|0:0|||\n")["abcd1234"].state == "CANCELLED"


@pytest.mark.parametrize(
    ("state", "end", "limit"),
    [
        ("RUNNING", "2026-12-01T03:00:01", 3600.0),
        ("RUNNING", "2027-12-01T02:00:01", None),
        ("COMPLETING", "2026-12-01T02:10:01", None),
    ],
)
def test_the_time_limit_of_a_running_job(tmp_path: Path, state: str, end: str, limit: float | None) -> None:
    text = f"33|33|N/A|{state}|None|2026-12-01T02:00:01|{end}|batch|n1|/j/launch.sbatch\n"
    assert observe(ref(tmp_path), list(squeue_rows(text))).time_limit == limit


def test_a_job_cancelled_while_it_waited_never_started(tmp_path: Path) -> None:
    text = "33|33|N/A|CANCELLED|None|2026-12-01T02:00:01|2026-12-01T02:00:01|batch||/j/launch.sbatch\n"
    for seen in (
        observe(ref(tmp_path), list(squeue_rows(text))),
        sacct_observations([ref(tmp_path)], "33|CANCELLED by 0|0:0|2026-12-01T02:00:01|2026-12-01T02:00:01|None assigned\n")[
            "abcd1234"
        ],
    ):
        assert (seen.state, seen.started, seen.nodes) == ("CANCELLED", None, ())
        assert seen.ended is not None
