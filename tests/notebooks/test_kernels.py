"""Magics in a real kernel, with shell commands in AutoModel's place: the stop button, kernels that die, bad input."""

from __future__ import annotations

import os
import re
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.notebooks.kernel import Kernel, kernel


def environment(place: Path) -> dict[str, str]:
    return {**os.environ, "AUTOMODEL_NB_HOME": str(place / "home"), "IPYTHONDIR": str(place / "ipython")}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("notebook")


@pytest.fixture(scope="module")
def notebook(place: Path) -> Iterator[Kernel]:
    with kernel(environment(place), place) as one:
        yield one


def cell(command: str, options: str = "") -> str:
    lines = textwrap.indent(textwrap.dedent(command).strip(), "    ")
    return f"%%automodel_launch interactive {options}\ninteractive:\n  device: cpu\n  command: |\n{lines}\n"


def test_the_stop_button_is_a_ladder(notebook: Kernel) -> None:
    script = """
        exec python3 -u -c '
        import signal, time
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda n, f: print("got", signal.Signals(n).name))
        print("rea" + "dy")
        while True: time.sleep(0.1)'
    """
    script = textwrap.dedent(script).replace("\n        ", "\n")
    message = notebook.begin(cell(script, "--as job"))
    notebook.end(message, until="ready")
    for expected in ("got SIGTERM", "got SIGINT"):
        notebook.press_stop()
        shown = notebook.end(message, until=expected)
        assert expected in shown.text + shown.html
    notebook.press_stop()
    last = notebook.end(message)
    assert last.error is None
    assert notebook.value("(str(job.state), job.reason_code)") == ("CANCELLED", "asked_kill")


def test_detached_is_at_once_and_its_card_stays_current(notebook: Kernel) -> None:
    begun = time.monotonic()
    message = notebook.begin(cell("sleep 3; echo end", "--detach --as quiet"))
    shown = notebook.end(message)
    assert time.monotonic() - begun < 3
    assert "RUNNING" in shown.text
    time.sleep(4)
    late = notebook.begin("print(quiet.state)")
    assert "COMPLETED" in notebook.end(late).text  # the card's update arrives with any later message


WRITER = r"""
exec python3 -u -c '
import time
for i in range(4000):
    print(f"line {i} " + "x" * 40)
    if i % 10 == 9: time.sleep(0.01)'
"""


@pytest.mark.parametrize("run", range(50 if os.environ.get("SOAK") else 5))
def test_killed_kernels_lose_and_double_nothing(place: Path, run: int) -> None:
    """A writer at 1,000 lines a second; the kernel that follows it dies by -9; another goes on from the offset."""
    here = place / f"kill{run}"
    here.mkdir()
    with kernel(environment(here), here) as first:
        first.ok(cell(WRITER, "--detach --as job"))
        message = first.begin(
            "for offset, line in job.follow():\n    print(offset, line.split()[1])\n    if offset > 20000: print('enough')"
        )
        seen = first.end(message, until="enough").stream
        first.kill()
    pairs = [tuple(map(int, line.split())) for line in seen.splitlines() if re.fullmatch(r"\d+ \d+", line)]
    offset = pairs[-1][0]
    with kernel(environment(here), here) as second:
        rest = second.value(f"[l for _, l in am.attach('last').follow({offset})]")
        whole = second.value("[l for _, l in am.attach('last').follow()]")
        assert second.value("str(am.attach('last').state)") == "COMPLETED"
        log = Path(second.value("str(am.attach('last').paths.log)"))
    assert whole == log.read_text().splitlines()
    assert [number for _, number in pairs] == list(range(len(pairs)))
    assert [int(line.split()[1]) for line in rest] == list(range(len(pairs), 4000))


BAD = [
    ("%automodel_launch --dru-run", "UsageError", "did you mean --dry-run"),
    ("%automodel_launch slrum", "LaunchError", "did you mean slurm"),
    ("%%automodel_launch\n \n", "DocumentError", "the cell is empty"),
    ("%%automodel_launch\n# only a comment\n", "DocumentError", "the cell is empty"),
    ("%%automodel_launch\nstep_scheduler: {max_steps: 3}\n", "LaunchError", "add recipe: TrainFinetuneRecipe"),
    ("%%automodel_launch\nrecipe: x\nrecipe: y\n", "DocumentError", "line 3, column 1"),
    ("%%automodel_launch\nrecipe: [x\n", "DocumentError", "line"),
    ("%%automodel_launch\n- a\n- b\n", "DocumentError", "line 2"),
    ("%%automodel_launch\nrecipe: a.B\n---\nrecipe: y\n", "DocumentError", "line 3"),
    ("%%automodel_launch\n\trecipe: a.B\n", "DocumentError", "line 2"),
    ("%%automodel_launch slurm\ninteractive: {gpus: 0}\nrecipe: a.B\n", "LaunchError", "line 2, column 1"),
    ("%%automodel_launch\nslurm: {nodes: 1}\nskypilot: {cloud: aws}\nrecipe: a.B\n", "LaunchError", "two launcher sections"),
    ("%%automodel_launch\ninteractive: {nproc_per_nod: 2}\nrecipe: a.B\n", "LaunchError", "did you mean `nproc_per_node`"),
    ("%%automodel_launch\ninteractive: {nproc_per_node: two}\nrecipe: a.B\n", "LaunchError", "line 2, column 31"),
    (
        "%%automodel_launch\ninteractive:\n  env_vars: {HF_TOKEN: hf_" + "a1B2" * 8 + "cd}\nrecipe: a.B\n",
        "LaunchError",
        "${HF_TOKEN}",
    ),
    (
        '%%automodel_launch\ninteractive:\n  env_vars: {A: "${NOT_SET_ANYWHERE}"}\nrecipe: a.B\n',
        "LaunchError",
        "NOT_SET_ANYWHERE",
    ),
    ("%%automodel_launch\ninteractive: {nproc_per_node: {{ nope }}}\nrecipe: a.B\n", "DocumentError", "nope"),
    ("%%automodel_launch\ninteractive: {python: /no/python}\nrecipe: a.B\n", "LaunchError", "no program `/no/python`"),
    ("%%automodel_launch\ninteractive: {chdir: /no/such}\nrecipe: a.B\n", "LaunchError", "no directory /no/such"),
    ("%automodel_launch -c no_such.yaml", "LaunchError", "cannot read no_such.yaml"),
    ("%automodel_launch -c .", "LaunchError", "cannot read"),
    ("%automodel_launch -c x --set foo", "UsageError", "--set a.b=value"),
    ("%automodel_launch --profile nope -c good.yaml", "LaunchError", "no profile 'nope'"),
    ("%automodel_launch -c good.yaml 'quote", "UsageError", "quot"),
    ("%automodel_attach nope", "JobNotFoundError", "%automodel_"),
    ("%automodel_new slrm", "LaunchError", "did you mean slurm"),
    ("%automodel_cancel", "UsageError", "job"),
]


@pytest.mark.parametrize(("code", "name", "words"), BAD, ids=[f"{i}" for i in range(len(BAD))])
def test_a_mistake_is_one_line_and_leaves_nothing(notebook: Kernel, place: Path, code: str, name: str, words: str) -> None:
    (place / "good.yaml").write_text("recipe: a.B\n")
    before = sorted(path.name for path in place.iterdir()), notebook.value("len(am.jobs())")
    shown = notebook.run(code)
    assert shown.error, f"no error; shown: {shown.text}"
    assert shown.error[0] == name
    assert words in shown.error[1]
    assert len(shown.traceback) <= 2, shown.traceback
    assert "hf_" + "a1B2" not in repr(shown)
    assert (sorted(path.name for path in place.iterdir()), notebook.value("len(am.jobs())")) == before


def test_all_mistakes_are_told_at_once(notebook: Kernel) -> None:
    shown = notebook.run("%%automodel_launch\ninteractive:\n  nproc_per_node: x\n  gpuz: 1\n  device: tpu\nrecipe: a.B\n")
    assert shown.error
    for line in ("line 3", "line 4", "line 5"):
        assert line in shown.error[1]


def files(place: Path) -> list[Path]:
    """All but IPython's own, which writes its history when it likes."""
    return sorted(path for path in place.rglob("*") if "ipython" not in path.parts)


def test_dry_run_touches_nothing_and_shows_what_a_launch_writes(notebook: Kernel, place: Path) -> None:
    before = files(place)
    shown = notebook.ok(cell("echo $HOME {x}", "-n"))
    assert "echo $HOME {x}" in shown.text
    assert "Nothing was launched" in shown.text
    assert files(place) == before


def test_names_from_the_notebook_fill_the_section_only(notebook: Kernel) -> None:
    notebook.ok("count, word = 2, 'a: {b}'")
    body = (
        "interactive:\n  nproc_per_node: {{ count }}\n  env_vars: {W: {{ word }}}\nrecipe: a.B\nname: '{{ count }} ${count}'\n"
    )
    shown = notebook.ok(f"%%automodel_launch -n\n{body}")
    assert "--nproc-per-node=2" in shown.text
    assert "W=a: {b}" in shown.text
    assert "name: '{{ count }} ${count}'" in shown.text


def test_from_an_earlier_job(notebook: Kernel) -> None:
    notebook.ok(cell("echo one $N", "--as base --name base --set interactive.env_vars.N=1"))
    notebook.ok(f"%automodel_launch --from {notebook.value('base.id')} --as more --set interactive.env_vars.N=2")
    assert notebook.value("(base.log(), more.log())") == ("one 1", "one 2")


def test_the_magics_help_themselves(notebook: Kernel) -> None:
    for name in ("launch", "new", "jobs", "attach", "logs", "cancel", "resume"):
        shown = notebook.value(f"get_ipython().find_line_magic('automodel_{name}').__doc__")
        assert shown
        assert f"%automodel_{name}" in shown


def test_logs_and_jobs(notebook: Kernel) -> None:
    notebook.ok(cell("for i in 1 2 3; do echo row $i '<b>'; done", "--as rows --name rows"))
    shown = notebook.ok("%automodel_logs rows --tail 2")
    assert "row 1" not in shown.text
    assert "row 3 <b>" in shown.text
    assert "<b>" not in re.sub(r"</?b>(?=[^&])", "", shown.html) or "&lt;b&gt;" in shown.html
    assert "row 2" in notebook.ok("%automodel_logs rows --grep 'row 2'").text
    table = notebook.ok("%automodel_jobs")
    assert "rows" in table.text
    assert "COMPLETED" in table.html
