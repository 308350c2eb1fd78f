"""`--wait` and blocking cells where nobody looks: papermill, nbconvert --execute, IPython in a terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

BIN = Path(sys.executable).parent
# What AutoModel says of three steps, so that there is progress to tell
LINES = "".join(
    f'echo "2026-12-01 02:48:0{i} | INFO | root | step {i} | epoch 0 | loss {6 - i}.5 | grad_norm 1.0 | lr 1.00e-04'
    f' | mem 0.00 GiB | tps 59.28(29.14/gpu) | num_label_tokens 58"; '
    for i in range(3)
)
CELL = "%%automodel_launch {options}\ninteractive:\n  device: cpu\n  command: |\n    {command}\n"
GOOD = CELL.format(options="--as job --wait", command=LINES + "sleep 0.5")
BAD = CELL.format(options="--wait", command=LINES + "python3 -c 'raise ValueError(\"no good\")'")


def notebook(place: Path, *cells: str) -> Path:
    path = place / "in.ipynb"
    book = nbformat.v4.new_notebook(metadata={"kernelspec": {"name": "python3", "display_name": "p", "language": "python"}})
    book.cells = [nbformat.v4.new_code_cell(source) for source in ("%load_ext automodel_nb", *cells)]
    nbformat.write(book, path)
    return path


def run(place: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "AUTOMODEL_NB_HOME": str(place / "home"), "IPYTHONDIR": str(place / "ipython")}
    argv = (str(BIN / argv[0]), *argv[1:])
    return subprocess.run(argv, cwd=place, env=env, capture_output=True, text=True, timeout=120, check=False)


def shown(path: Path) -> str:
    """All text of the saved outputs."""
    parts = []
    for cell in nbformat.read(path, 4).cells:
        for output in cell.get("outputs", []):
            parts += [output.get("text", ""), *output.get("data", {}).values(), *output.get("traceback", [])]
    return "\n".join(parts)


RUNNERS = {
    "papermill": ("papermill", "in.ipynb", "out.ipynb"),
    "nbconvert": ("jupyter", "nbconvert", "--to", "notebook", "--execute", "--output", "out.ipynb", "in.ipynb"),
}


@pytest.mark.parametrize("runner", RUNNERS)
def test_a_good_job_leaves_its_card(tmp_path: Path, runner: str) -> None:
    notebook(tmp_path, GOOD, "print(job.state, [p.loss for p in job.metrics()])")
    done = run(tmp_path, *RUNNERS[runner])
    assert done.returncode == 0, done.stderr[-2000:]
    text = shown(tmp_path / "out.ipynb")
    assert "COMPLETED [6.5, 5.5, 4.5]" in text
    assert "step 2 | epoch 0 | loss 4.5" in text
    assert "%automodel_attach" in text


@pytest.mark.parametrize("runner", RUNNERS)
def test_a_failed_job_fails_the_run(tmp_path: Path, runner: str) -> None:
    notebook(tmp_path, BAD)
    done = run(tmp_path, *RUNNERS[runner])
    assert done.returncode != 0
    assert "JobFailedError" in done.stderr
    assert "ValueError: no good" in done.stderr
    assert "exit code 1" in done.stderr


def test_a_terminal_prints_lines_and_a_card(tmp_path: Path) -> None:
    (tmp_path / "session.py").write_text(
        "from IPython import get_ipython as g\ng().run_line_magic('load_ext', 'automodel_nb')\n"
        f"g().run_cell_magic('automodel_launch', '--wait', {GOOD.partition(chr(10))[2]!r})\n"
        f"g().run_cell({BAD!r})\n"
    )
    done = run(tmp_path, "ipython", "--no-banner", "--colors=nocolor", "session.py")
    assert done.stdout.count("step 2 | epoch 0 | loss 4.5") == 2
    assert "COMPLETED" in done.stdout
    assert "JobFailedError" in done.stdout
    assert (done.stdout + done.stderr).count("Traceback") == 1  # the training's own, in its log
    assert "<div" not in done.stdout
    assert "\x1b" not in done.stdout


def test_metrics_make_a_data_frame(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed; job.metrics() is a plain list then")
    (tmp_path / "session.py").write_text(
        "import automodel_nb as am, pandas\n"
        f"job = am.launch({GOOD.partition(chr(10))[2]!r}, wait=True)\n"
        "frame = pandas.DataFrame(job.metrics())\nprint(frame[['step', 'loss']].to_csv(index=False))\n"
    )
    done = run(tmp_path, "python", "session.py")
    assert done.stdout.split() == ["step,loss", "0,6.5", "1,5.5", "2,4.5"], done.stderr
    assert pandas
