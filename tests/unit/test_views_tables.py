from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

from automodel_nb.findings import Finding, Fix
from automodel_nb.states import JobState
from automodel_nb.views import (
    findings_html,
    findings_text,
    jobs_html,
    jobs_text,
    lines_html,
    lines_text,
    preview_html,
    preview_text,
)
from automodel_nb.views.model import JobRow
from automodel_nb.watching.progress import Progress
from tests.unit.test_views_card import words_of
from tests.unit.views_samples import NOON

ROWS = [
    JobRow(
        "7k3f",
        "llm_finetune",
        "slurm",
        JobState.RUNNING,
        "60360068",
        submitted=NOON - 90,
        progress=Progress(step=1829, total_steps=5000),
        loss=2.209,
    ),
    JobRow(
        "9x2d",
        "n" * 200,
        "skypilot",
        JobState.OUT_OF_MEMORY,
        "s" * 90,
        submitted=NOON - 90_000,
        owner="bob",
        note="on `rank 3`",
    ),
    JobRow("c", "tiny", "interactive", JobState.PENDING),
]
FINDINGS = [
    Finding("no-time", "warning", "No `time`: the partition's limit applies.", "slurm.time"),
    Finding(
        "unknown-key", "error", "`partion` is not a field.", "slurm.partion", 12, 3, Fix("write `partition`", "slurm.partition")
    ),
    Finding("elsewhere", "error", "Bad.", line=2, column=1, source="recipes/a.yaml"),
]


def test_the_table_of_jobs_in_text() -> None:
    lines = jobs_text(ROWS, NOON).split("\n")
    assert len(lines) == 4
    assert all(len(line) <= 100 for line in lines)
    assert re.fullmatch(r"●  RUNNING +llm_finetune +slurm +7k3f +1 min ago +1,830/5,000 +2\.209", lines[1])
    assert "nnn…" in lines[2]
    starts = [line.index(word) for line, word in zip(lines, ("METHOD", "slurm", "skypilot", "interactive"), strict=True)]
    assert len(set(starts)) == 1


def test_the_table_of_jobs_in_html() -> None:
    html = jobs_html(ROWS, NOON)
    text = words_of(html).replace("\xa0", " ")
    assert "● RUNNING llm_finetune 7k3f · slurm 60360068 · 1 min ago 1,830/5,000 2.209" in text
    assert "✗ OUT OF MEMORY on rank 3 " in text
    assert "· 1 d ago · of bob –" in text
    assert html.count("<tr") == 4


def test_no_jobs_says_what_to_type() -> None:
    assert "%automodel_new interactive" in jobs_text([], NOON)
    assert "%automodel_new interactive" in words_of(jobs_html([], NOON))


def test_a_thousand_jobs_take_milliseconds() -> None:
    import time

    begin = time.perf_counter()
    jobs_html(ROWS * 333, NOON)
    jobs_text(ROWS * 333, NOON)
    assert time.perf_counter() - begin < 0.2


def test_findings_stand_in_order_with_place_and_fix() -> None:
    assert findings_text(FINDINGS).split("\n") == [
        "✗ error   recipes/a.yaml, line 2, column 1: Bad.",
        "✗ error   line 12, column 3: `partion` is not a field.",
        "          → write `partition`",
        "▲ warning No `time`: the partition's limit applies.",
    ]
    text = words_of(findings_html(FINDINGS))
    assert text.index("elsewhere") < text.index("unknown-key") < text.index("no-time")
    assert "✗ error line 12, column 3: partion is not a field. unknown-key → write partition" in text


def test_no_findings_take_no_room() -> None:
    assert findings_html([]) == ""
    assert findings_text([]) == ""


@dataclass
class Secret:
    name: str

    def __str__(self) -> str:
        return f"taken from {self.name} at the start"


PLAN = {
    "files": {
        "recipe.yaml": "model:\n  # a remark\n  lr: 1e-5\n",
        "launch.sbatch": "#!/bin/bash\n#SBATCH --nodes=2\n# why\nsrun x < y\n",
    },
    "command": "torchrun --nnodes=2 -m nemo_automodel.cli.app recipe.yaml",
    "submit": ["sbatch", "--output=/a b/output.log"],
    "environment": {"HF_HOME": "/hf", "HF_TOKEN": Secret("HF_TOKEN")},
    "findings": FINDINGS[:1],
    "diff": "--- a\n+++ b\n-  checkpoint_interval: 5\n+  ckpt_every_steps: 5\n",
}


def test_a_preview_holds_everything_as_it_would_be_written() -> None:
    html, text = preview_html(**PLAN), preview_text(**PLAN)  # type: ignore[arg-type]
    for content in PLAN["files"].values():  # type: ignore[attr-defined]
        assert content.rstrip() in text
        assert content.rstrip() in re.sub(r"<[^>]+>", "", html).replace("&lt;", "<")
    for shown in (text, words_of(html)):
        assert "sbatch '--output=/a b/output.log'" in shown
        assert "taken from HF_TOKEN at the start" in shown
        assert "Nothing was launched" in shown
        assert "- checkpoint_interval: 5" in re.sub(" +", " ", shown)


def test_directives_stand_out_from_remarks() -> None:
    html = preview_html({"launch.sbatch": "#!/bin/bash\n#SBATCH --nodes=2\n# why\n"}, "")
    assert re.search(r"<span[^>]*># why</span>", html)
    assert not re.search(r"<span[^>]*>#SBATCH", html)


def test_errors_change_the_headline() -> None:
    assert "until the errors are gone" in preview_html({}, "", findings=FINDINGS)


def test_log_lines_keep_their_colours() -> None:
    lines = ["plain <b>", "\x1b[1;31mred\x1b[0m and \x1b[38;2;1;2;3mown\x1b[0m", "\x1b]8;;http://x\x07link\x1b]8;;\x07 \x08x"]
    html = lines_html(lines)
    assert "plain &lt;b&gt;" in html
    assert re.search(r'<span style="color:#e5484d;font-weight:600">red</span> and <span style="color:#010203">own</span>', html)
    assert lines_text(lines) == "plain <b>\nred and own\nlink x"
    assert lines_html([]) == ""


@pytest.mark.parametrize("render", [lines_html, lines_text])
def test_an_endless_line_is_cut_and_says_so(render) -> None:  # type: ignore[no-untyped-def]
    shown = render(["x" * 1_000_000])
    assert len(shown) < 3_000
    assert "… 998,000 characters more" in shown
    assert "… 1,000 characters more" in render(["\x1b[31m" + "x" * 1500 + "\x1b[32m" + "y" * 1500])
