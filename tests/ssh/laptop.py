"""A laptop: a Python in a mount namespace of its own, that sees nothing of the cluster and that the cluster sees nothing of.

Its home is a file system that exists there only. What belongs to the cluster (the lab's directory, Slurm's commands) is
covered. It does what it is sent: statements, of which the last, if it is an expression, is the answer (as JSON).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from tests.automodel.real import ROOT

SLURM = ("sbatch", "squeue", "sacct", "scancel", "sinfo", "scontrol", "srun", "sacctmgr", "salloc")

#: In the new mount namespace: cover the cluster, give this user another home, and become the Python that answers.
_ENTER = """
set -eu
mount -t tmpfs -o mode=0700 laptop "$HOME"
cp -r "$SEED/." "$HOME/"
mount --bind "$HOME/passwd" /etc/passwd
mount -t tmpfs nothing "$LAB"
for program in $SLURM; do mount --bind /dev/null "$program"; done
mkdir -p "$HOME/work" && cd "$HOME/work"
exec "$PYTHON" -u -W error -m tests.ssh.laptop
"""


class Laptop:
    """The Python there.

    Args:
        home: an empty directory that will be its home; in the laptop alone there is something in it.
        lab: the directory of the cluster, covered there.
        ssh: files of ``~/.ssh``, by name.
        environ: variables of its notebook.
    """

    def __init__(self, home: Path, lab: Path, ssh: Mapping[str, str], environ: Mapping[str, str]) -> None:
        self.home = home
        seed = home.with_name("seed")
        (seed / ".ssh").mkdir(parents=True)
        for name, text in ssh.items():
            (seed / ".ssh" / name).write_text(text)
            (seed / ".ssh" / name).chmod(0o600)
        (seed / "run").mkdir(mode=0o700)
        others = Path("/etc/passwd").read_text()
        (seed / "passwd").write_text(f"me:x:0:0::{home}:/bin/bash\n{others}")
        self._process = subprocess.Popen(
            ["unshare", "--mount", "--propagation=private", "sh", "-c", _ENTER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={
                "PATH": "/usr/bin:/bin",
                "HOME": str(home),
                "USER": "me",
                "LOGNAME": "me",
                "LANG": "C.UTF-8",
                "XDG_RUNTIME_DIR": str(home / "run"),
                "PYTHONPATH": str(ROOT),
                "PYTHONDONTWRITEBYTECODE": "1",
                "OMP_NUM_THREADS": "1",
                "PYTHON": sys.executable,
                "SEED": str(seed),
                "LAB": str(lab),
                "SLURM": " ".join(filter(None, map(shutil.which, SLURM))),
                **environ,
            },
        )
        shutil.rmtree(seed) if self.do("0") is None else None

    @property
    def pid(self) -> int:
        """Of its Python, whose namespace is the laptop."""
        return self._process.pid

    def do(self, code: str, **values: Any) -> Any:
        """Run statements there, with `values` as variables. An exception there is one here, as text."""
        request = json.dumps({"code": textwrap.dedent(code), "values": values})
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin
        assert stdout
        stdin.write(request.encode() + b"\n")
        stdin.flush()
        line = stdout.readline()
        assert line, f"the laptop's Python has ended: {self._process.wait()}"
        answer = json.loads(line)
        if "error" in answer:
            raise LaptopError(answer["error"], answer["trace"])
        return answer.get("value")

    def close(self) -> None:
        """End it, and the connections that it left open."""
        assert self._process.stdin
        assert self._process.stdout
        if self._process.poll() is None:
            self.do("import automodel_nb.hosts; automodel_nb.hosts.forget()")
            self.do(
                """
                import pathlib, subprocess
                for socket in pathlib.Path.home().glob("run/automodel_nb/*"):
                    subprocess.run(["ssh", "-o", f"ControlPath={socket}", "-O", "exit", "x"], capture_output=True)
                """
            )
        self._process.stdin.close()
        self._process.wait(10)
        self._process.stdout.close()


class LaptopError(Exception):
    """What a user would see; `trace` is for the one who reads a failed test."""

    def __init__(self, shown: str, trace: str) -> None:
        super().__init__(shown)
        self.trace = trace

    def __str__(self) -> str:
        return str(self.args[0])


def _serve(requests: IO[str], answers: IO[str]) -> None:
    import ast
    import traceback

    names: dict[str, Any] = {}
    for line in requests:
        request = json.loads(line)
        names |= request["values"]
        try:
            body = ast.parse(request["code"]).body
            value = None
            if body and isinstance(body[-1], ast.Expr):
                last = ast.Expression(body.pop().value)
                exec(compile(ast.Module(body, []), "<laptop>", "exec"), names)
                value = eval(compile(last, "<laptop>", "eval"), names)
            else:
                exec(compile(ast.Module(body, []), "<laptop>", "exec"), names)
            text = json.dumps({"value": value}, default=str)
        except Exception as error:
            render = getattr(error, "_render_traceback_", None)
            shown = "\n".join(render()) if render else f"{type(error).__name__}: {error}"
            text = json.dumps({"error": shown, "trace": traceback.format_exc()})
        answers.write(text + "\n")
        answers.flush()
    answers.close()


if __name__ == "__main__":
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what is printed there is no answer
    _serve(sys.stdin, channel)
