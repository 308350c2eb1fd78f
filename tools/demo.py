"""Execute a notebook, and say in a few lines what came of it.

usage: demo.py NOTEBOOK DIRECTORY

The notebook runs in DIRECTORY, where the executed copy is left, with job records of its own; those of an earlier run go.
"""

import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from traitlets.config import Config


def execute(notebook, directory, sockets):
    """Run all cells; the executed notebook is written whatever happens."""
    document = nbformat.read(notebook, as_version=4)
    cells = [index for index, cell in enumerate(document.cells) if cell.cell_type == "code"]

    def tell(cell, cell_index):
        first = next(iter(cell.source.splitlines()), "")
        print(f"  [{cells.index(cell_index) + 1}/{len(cells)}] {first}", flush=True)

    client = NotebookClient(
        document,
        timeout=240,
        kernel_name="python3",
        resources={"metadata": {"path": str(directory)}},
        # no port, and no remark of the kernel's about one
        config=Config({"KernelManager": {"transport": "ipc", "ip": f"{sockets}/kernel"}}),
        on_cell_execute=tell,
    )
    try:
        client.execute()
    finally:
        nbformat.write(document, directory / notebook.name)


def report(directory):
    import automodel_nb as am

    for job in reversed(am.jobs()):
        losses = [point.loss for point in job.metrics() if point.split == "train"]
        shown = [f"{losses[step]:.2f}" for step in sorted({*range(0, len(losses), 8), len(losses) - 1})]
        print(f"  {job.name}: {job.state}, loss {' → '.join(shown)}")
        print(f"    checkpoint  {os.path.relpath(job.checkpoint)}")
        print(f"    model       {os.path.relpath(job.model_path)}")


def main(notebook, directory):
    began = time.monotonic()
    for left in ("home", "automodel_jobs"):
        shutil.rmtree(directory / left, ignore_errors=True)
    directory.mkdir(exist_ok=True)
    os.environ["AUTOMODEL_NB_HOME"] = str((directory / "home").resolve())
    print(f"executing {notebook}")
    try:
        with tempfile.TemporaryDirectory() as sockets:
            execute(notebook, directory, sockets)
    except CellExecutionError as error:
        sys.exit(f"{error.ename}: {error.evalue}\nthe notebook stopped there; it lies at {directory / notebook.name}")
    report(directory)
    print(f"the executed notebook: {directory / notebook.name}   ({time.monotonic() - began:.0f} s)")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
