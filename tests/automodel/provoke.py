"""Trainings that fail, each for a reason of its own: the real AutoModel on the tiny recipe.

usage: python -m tests.automodel.provoke [NAME ...]

writes what each of them said to tests/data/logs/NAME.log (paths of this machine shortened), where tests/unit/test_diagnosis.py
reads it; tests/automodel/test_diagnosis_real.py runs a few of them again.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from automodel_nb import cpu
from tests.automodel.real import ROOT, environment, make_tiny, recipe_text, run

LOGS = Path(__file__).parents[1] / "data/logs"
CLI = ["-m", "nemo_automodel.cli.app", "recipe.yaml"]
ONE = [*CLI, "--nproc-per-node", "1"]
RUN = ["-m", "torch.distributed.run"]
TWO = [*RUN, "--standalone", "--nproc-per-node=2", *CLI]


@dataclass(frozen=True)
class Ran:
    """How it ended: what it said, and its exit code (negative for a signal)."""

    log: str
    exit_code: int


@dataclass(frozen=True)
class Failing:
    """One way to fail.

    Attributes:
        arguments: of Python.
        recipe: scalars of the tiny recipe to change (see `recipe_text`).
        edit: what else is done to the recipe's text.
        aids: further environment variables (see aids/sitecustomize.py).
        around: makes the world in which it fails; gets the working directory.
        shim: with what makes AutoModel run without a GPU.
        prefix: a shell's words before Python's.
    """

    arguments: list[str]
    recipe: Mapping[str, object] = field(default_factory=dict)
    edit: Callable[[str], str] = str
    aids: Mapping[str, str] = field(default_factory=dict)
    around: Callable[[Path], contextlib.AbstractContextManager[Mapping[str, str]]] = lambda cwd: contextlib.nullcontext({})
    shim: bool = True
    prefix: str = ""


def replacing(old: str, new: str) -> Callable[[str], str]:
    def edit(text: str) -> str:
        assert old in text, old
        return text.replace(old, new)

    return edit


def adding(text: str) -> Callable[[str], str]:
    return lambda recipe: recipe + text


@contextlib.contextmanager
def small_disk(cwd: Path) -> Iterator[Mapping[str, str]]:
    """``small/`` holds 700 kB: the first files of a checkpoint, and no more."""
    (cwd / "small").mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=700k", "none", cwd / "small"], check=True)
    try:
        yield {}
    finally:
        subprocess.run(["umount", cwd / "small"], check=True)


@contextlib.contextmanager
def read_only_disk(cwd: Path) -> Iterator[Mapping[str, str]]:
    """``small/`` cannot be written."""
    (cwd / "small").mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "ro,size=100k", "none", cwd / "small"], check=True)
    try:
        yield {}
    finally:
        subprocess.run(["umount", cwd / "small"], check=True)


@contextlib.contextmanager
def busy_port(cwd: Path) -> Iterator[Mapping[str, str]]:
    """Something listens on port 29555."""
    with socket.create_server(("127.0.0.1", 29555)):
        yield {}


def hub(status: int, code: str, message: str) -> Callable[[Path], contextlib.AbstractContextManager[Mapping[str, str]]]:
    """A hub of our own that answers as huggingface.co does: `status`, and its error code in the header."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({"error": message}).encode()
            self.send_response(status)
            self.send_header("X-Error-Code", code)
            self.send_header("X-Error-Message", message)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_POST = do_GET

        def log_message(self, *_: object) -> None: ...

    @contextlib.contextmanager
    def around(cwd: Path) -> Iterator[Mapping[str, str]]:
        server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            address = f"http://127.0.0.1:{server.server_address[1]}"
            yield {"HF_ENDPOINT": address, "HF_HUB_OFFLINE": "0", "HF_HOME": str(cwd / "hf"), "HF_HUB_DOWNLOAD_TIMEOUT": "5"}
        finally:
            server.shutdown()
            server.server_close()

    return around


AGENT = [*RUN, "--nnodes=2", "--nproc-per-node=1", "--rdzv-backend=c10d", "--rdzv-id=7"]

FAILING: dict[str, Failing] = {
    # a rank
    "oom_rank1": Failing(TWO, {"max_steps": 8}, aids={"AM_FAIL": "1:2", "AM_FAIL_KIND": "oom"}),
    "exit7_rank1": Failing(TWO, {"max_steps": 8}, aids={"AM_FAIL": "1:2", "AM_FAIL_KIND": "exit"}),
    "segv_rank1": Failing(TWO, {"max_steps": 8}, aids={"AM_FAIL": "1:2", "AM_FAIL_KIND": "segv"}),
    "sigkill_rank1": Failing(TWO, {"max_steps": 8}, aids={"AM_FAIL": "1:2", "AM_FAIL_KIND": "kill"}),
    "segv_alone": Failing(ONE, {"max_steps": 8}, aids={"AM_FAIL": "0:2", "AM_FAIL_KIND": "segv"}),
    "exit7_alone": Failing(ONE, {"max_steps": 8}, aids={"AM_FAIL": "0:2", "AM_FAIL_KIND": "exit"}),
    "hang_rank1": Failing(TWO, {"max_steps": 8}, aids={"AM_FAIL": "1:2", "AM_FAIL_KIND": "hang"}),
    # memory of the host: PyTorch itself asks for 12 GB where it may have 6
    "host_memory": Failing(["-c", "import torch; torch.empty(3 * 10**9)"], prefix="ulimit -v 6000000;"),
    # the rendezvous
    "port_in_use": Failing(
        [*RUN, "--nproc-per-node=2", "--master-addr=127.0.0.1", "--master-port=29555", *CLI], around=busy_port
    ),
    "rendezvous_alone": Failing([*AGENT, "--rdzv-endpoint=127.0.0.1:29556", "--rdzv-conf=is_host=1,join_timeout=8", *CLI]),
    "rendezvous_unreachable": Failing(
        [*AGENT, "--rdzv-endpoint=127.0.0.1:29557", "--rdzv-conf=is_host=0,read_timeout=3,join_timeout=5", *CLI]
    ),
    # model and data
    "model_path": Failing(ONE, edit=replacing("/model\n", "/nope/model\n")),
    "model_offline": Failing(ONE, edit=lambda text: set_model(text, "org/nope"), aids={"HF_HUB_OFFLINE": "1"}),
    "model_gated": Failing(
        ONE,
        edit=lambda text: set_model(text, "meta-llama/Llama-3.2-1B"),
        around=hub(
            403,
            "GatedRepo",
            "Access to model meta-llama/Llama-3.2-1B is restricted and you are not in the authorized list. "
            "Visit https://huggingface.co/meta-llama/Llama-3.2-1B to ask for access.",
        ),
    ),
    "model_not_found": Failing(
        ONE, edit=lambda text: set_model(text, "org/nope"), around=hub(404, "RepoNotFound", "Repository not found")
    ),
    "model_unauthorized": Failing(
        ONE, edit=lambda text: set_model(text, "org/private"), around=hub(401, "", "Invalid username or password.")
    ),
    "data_path": Failing(ONE, edit=replacing("train.jsonl", "missing.jsonl")),
    "data_column": Failing(ONE, edit=replacing("{question: question, answer: answer}", "{question: query, answer: answer}")),
    # the recipe
    "no_recipe": Failing(ONE, edit=replacing("recipe: Train", "recette: Train")),
    "unknown_recipe": Failing(ONE, {"recipe": "NoSuchRecipe"}),
    "missing_module": Failing(ONE, {"recipe": "my_project.recipes.Mine"}),
    "unknown_target": Failing(ONE, edit=replacing("masked_ce.MaskedCrossEntropy", "masked_ce.MaskedCE")),
    "scheduler_key": Failing(ONE, edit=replacing("ckpt_every_steps: 20", "checkpoint_interval: 20")),
    "checkpoint_key": Failing(ONE, edit=replacing("save_consolidated: final", "save_consolidate: final")),
    "optimizer_key": Failing(ONE, edit=replacing("weight_decay: 0.0", "weight_decays: 0.0")),
    "dataloader_key": Failing(ONE, edit=replacing("shuffle: true", "shufle: true")),
    "distributed_key": Failing(ONE, edit=replacing("strategy: ddp", "strategy: ddp\n  tp_plan: x")),
    "unset_variable": Failing(ONE, edit=lambda text: set_model(text, "$NO_SUCH_DIRECTORY/model")),
    "batch_size": Failing(TWO, {"global_batch_size": 9}),
    "nccl_without_gpu": Failing(TWO, {"backend": "nccl"}),
    # checkpoints and disks
    "restore_missing": Failing(ONE, edit=adding("  restore_from: checkpoints/epoch_0_step_7\n")),
    "restore_mapping": Failing(ONE, edit=adding("  restore_from: {path: checkpoints/epoch_0_step_7}\n")),
    "disk_full": Failing(ONE, {"max_steps": 2}, edit=adding("  checkpoint_dir: small/checkpoints\n"), around=small_disk),
    "read_only": Failing(ONE, {"max_steps": 2}, edit=adding("  checkpoint_dir: small/checkpoints\n"), around=read_only_disk),
    # without a GPU, and without what makes AutoModel run there
    "no_gpu": Failing(ONE, shim=False),
    "no_gpu_torchrun": Failing(TWO, shim=False),
    # the user's own command
    "no_python_module": Failing(["-m", "my_project.train"]),
}


def set_model(text: str, name: str) -> str:
    lines = text.splitlines(keepends=True)
    return "".join(
        f"  pretrained_model_name_or_path: {name}\n" if "pretrained_model_name_or_path" in line else line for line in lines
    )


def fail(case: Failing, cwd: Path) -> Ran:
    """Run one of them in an empty directory."""
    text = case.edit(recipe_text(make_tiny(), **case.recipe))
    (cwd / "recipe.yaml").write_text(text)
    with case.around(cwd) as extra:
        env = {**environment(2, **case.aids), **extra}
        if not case.shim:
            env = {name: value for name, value in env.items() if name not in cpu.environment(1) and name != "PYTHONPATH"}
        if case.prefix:
            command = f'{case.prefix} exec "$@"'
            done = subprocess.run(
                ["bash", "-c", command, "-", sys.executable, *case.arguments],
                cwd=cwd,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=240,
                check=False,
            )
        else:
            done = run(case.arguments, cwd, env)
    return Ran(done.stdout, done.returncode)


def shortened(log: str, cwd: Path) -> str:
    """Without this machine's paths."""
    packages = Path(sys.executable).parents[1] / f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    for path, name in (
        (str(cwd), "/jobs/run"),
        (str(make_tiny()), "/jobs/tiny"),
        (str(packages), "/venv/lib/site-packages"),
        (sys.executable, "/venv/bin/python"),
        (os.path.dirname(os.__file__), "/usr/lib/python3"),
        (str(ROOT), "/repo"),
    ):
        log = log.replace(path, name)
    return log


def main(names: list[str]) -> None:
    LOGS.mkdir(parents=True, exist_ok=True)
    index = LOGS / "index.json"
    ended = json.loads(index.read_text()) if index.exists() else {}
    for name in names or FAILING:
        with tempfile.TemporaryDirectory(prefix="provoke-") as directory:
            ran = fail(FAILING[name], Path(directory))
            (LOGS / f"{name}.log").write_text(shortened(ran.log, Path(directory)))
        ended[name] = ran.exit_code
        index.write_text(json.dumps(dict(sorted(ended.items())), indent=1) + "\n")
        print(f"{name}: exit code {ran.exit_code}, {len(ran.log)} characters", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
