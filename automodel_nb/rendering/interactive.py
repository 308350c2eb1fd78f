"""The script of an interactive job."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

_HEAD = """\
#!/usr/bin/env bash
# Written by automodel_nb. To run it again by hand, in the training's working directory:
#   AUTOMODEL_JOB_DIR=/the/job/directory bash launch.sh
set -eo pipefail
: "${AUTOMODEL_JOB_DIR:?is the job directory}"
"""


def script(command: str, pre_commands: Sequence[str] = (), *, own_command: bool = False) -> str:
    """``launch.sh``: what runs on this node.

    Args:
        command: the training command as a shell reads it.
        pre_commands: the user's own shell lines, run before it in the same shell.
        own_command: the command is the user's own shell text, not one program.
    """
    lines = [_HEAD.rstrip(), '[ -z "${HF_HOME:-}" ] || mkdir -p -- "$HF_HOME"']
    if pre_commands:
        lines += ["", "# pre_commands", *pre_commands]
    # exec: signals and the exit code are the training's own
    lines += ["", command if own_command else f"exec {command}"]
    return "\n".join(lines) + "\n"


def supervisor_argv(directory: str, chdir: str, preemption_signal: str) -> list[str]:
    """The command that starts a job: its directory and working directory are arguments, its environment is its own."""
    supervisor = Path(__file__).parents[1] / "launchers" / "supervisor.py"
    return [sys.executable, "-I", "-S", str(supervisor), directory, chdir, preemption_signal, "bash", f"{directory}/launch.sh"]
