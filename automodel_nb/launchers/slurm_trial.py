"""What Slurm says to a launch that is not made: ``sbatch --test-only``, with its own start estimate."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime

from automodel_nb import hosts
from automodel_nb.errors import UnreachableError
from automodel_nb.findings import Finding, Fix
from automodel_nb.launchers.slurm import refused_finding
from automodel_nb.launchers.slurm_cluster import one_line, program
from automodel_nb.launchers.slurm_refusals import unreachable
from automodel_nb.plan import Plan

#: Seconds for the answer.
TIMEOUT = 20.0
_ANSWER = re.compile(r"to start at (\S+) using (\d+) processors on (?:nodes )?(\S+)(?: in partition (\S+))?")


def ask(plan: Plan, environ: Mapping[str, str] = os.environ) -> Finding:
    """Ask the cluster whether it would take a plan's job, and when it would start it. Nothing is submitted or written.

    Args:
        plan: of a Slurm launch.
        environ: where sbatch is looked for on this machine.

    Returns:
        A hint with the estimate; an error where sbatch refuses; a warning where there is no answer.
    """
    host = hosts.host(plan.host)
    argv = [program("sbatch", environ) if host is hosts.LOCAL else "sbatch", "--test-only", f"--chdir={plan.chdir}"]
    # the environment of the submission, less what is secret or not known before it
    env = {name: value for name, value in plan.environment.items() if isinstance(value, str)}
    try:
        done = host.run(argv, env={**env, "TZ": "UTC"}, stdin=plan.files["launch.sbatch"], timeout=TIMEOUT)
    except (OSError, UnreachableError) as error:
        words = f"sbatch cannot be run: {error.strerror}" if isinstance(error, OSError) else str(error)
        return Finding("cluster-check", "warning", f"the cluster was not asked: {words}")
    said = done.stderr.replace("allocation failure:", "sbatch: error:")  # the same in the words of a submission
    if found := _ANSWER.search(done.stderr):
        return Finding("cluster-check", "hint", _in_words(*found.groups()))
    if unreachable(done.stderr):
        return Finding("cluster-check", "warning", f"Slurm does not answer: {one_line(said)}")
    if done.returncode:
        return refused_finding(plan, said)
    return Finding("cluster-check", "hint", f"Slurm would take it; it says: {one_line(done.stdout + said) or 'nothing'}")


def other_method(method: str) -> Finding:
    """What is said where the launch is no Slurm job."""
    fix = Fix("leave --check-cluster out")
    return Finding("cluster-check", "warning", f"only Slurm is asked, and this is a launch by {method}", fix=fix)


def _in_words(start: str, processors: str, nodes: str, partition: str | None) -> str:
    at = datetime.strptime(start, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=UTC)
    minutes = round((at.timestamp() - time.time()) / 60)
    when = "at once" if minutes < 1 else f"in about {minutes} min" if minutes < 120 else f"in about {minutes / 60:.0f} h"
    where = f"partition {partition}, {nodes}" if partition else nodes
    return f"Slurm would take it and, as things are, start it {when} ({at:%Y-%m-%d %H:%M} UTC) on {processors} CPUs ({where})"
