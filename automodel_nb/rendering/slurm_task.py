"""What each node of a Slurm job runs: the training, told to save when Slurm says so, profiled or restarted where asked."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass

from automodel_nb.configs import SlurmConfig
from automodel_nb.rendering.shell import Raw, in_job_dir

#: What of a node's task tells the training to save. Slurm signals the task (some sites: every process below it); torchrun
#: must not have it: it would give its workers 30 s and then kill them. One worker is enough, AutoModel asks all of them.
_SAVING = r"""
# USR1 comes before the time limit, TERM with a preemption or scancel: the workers are told to save and stop, not torchrun.
told=0
# shellcheck disable=SC2317 # the traps run it
save() {
  told=$((told + 1))
  [ "$SLURM_NODEID" != 0 ] || echo "automodel_nb: $1: the training is told to save and stop"
  grep -lzsx "SLURM_JOB_ID=$SLURM_JOB_ID" /proc/[0-9]*/environ | while IFS=/ read -r _ _ process _; do
    parent=$(sed -n 's/^PPid:[^0-9]*//p' "/proc/$process/status")
    # a worker's own children, its data loaders, are no workers
    if is_worker "$process" && ! is_worker "$parent"; then kill -s SIGNAL "$process"; fi
  done 2>/dev/null || true
}
# shellcheck disable=SC2317
is_worker() { grep -qzs ^LOCAL_RANK= "/proc/$1/environ" && ! grep -qs ^nsys "/proc/$1/comm"; }
trap 'save "the time limit is near"; [ "$SLURM_NODEID" != 0 ] || true >"$AUTOMODEL_JOB_DIR/limit$attempt"' USR1
trap 'save "Slurm ends this attempt"' TERM
set -m # a process group of its own
(trap '' USR1; exec COMMAND) &
set +m
training=$! seen=
# a signal ends the wait and not the training
until [ "$seen" = "$told" ]; do
  seen=$told
  wait "$training" && code=0 || code=$?
done
exit "$code"
""".strip()


_AGAIN = "again=(--checkpoint.restore_from=LATEST)  # not the one that the first attempt began with"


@dataclass(frozen=True, slots=True)
class Saving:
    """How training is told to save before Slurm ends it.

    Attributes:
        signal: what AutoModel saves and stops on (``SIGTERM``).
        seconds: before the time limit; 0: never.
        checkpoints: the checkpoint directory as a shell's word, where the recipe names a checkpoint to begin with: a later
            attempt goes on from its own.
    """

    signal: str = "SIGTERM"
    seconds: int = 0
    checkpoints: str = ""


def task(config: SlurmConfig, command: str, saving: Saving) -> str:
    """The shell text that each node runs."""
    lines = ["set -eo pipefail", "attempt=${1-}", 'read -ra addresses <<<"${NODE_ADDRESSES:-}"']
    if config.runtime == "none":
        lines.append('mkdir -p -- "$HF_HOME" || true')  # who needs the cache says so
    source = config.nemo_mount.dest if config.nemo_mount and config.runtime != "none" else config.repo_root
    if source:
        path = shlex.quote(os.path.expanduser(source))
        lines.append(f'export PYTHONPATH={path}"${{PYTHONPATH:+:$PYTHONPATH}}"')
    if config.nsys_enabled:
        lines.append(f"mkdir -p -- {_nsys_directory(config)}")
    if config.pre_commands:
        lines += ["# pre_commands", *config.pre_commands]
    if saving.checkpoints:
        lines += ["again=()", f'[ -z "$attempt" ] || [ ! -e {saving.checkpoints}/LATEST ] || {_AGAIN}']
        command += ' "${again[@]}"'
    if config.command is None:
        lines.append(_SAVING.replace("SIGNAL", saving.signal.removeprefix("SIG")).replace("COMMAND", command))
    else:
        lines += [*(["trap : USR1  # meant for the command, whose processes get it too"] if saving.seconds else []), command]
    return "\n".join(lines)


def fault_tolerant(config: SlurmConfig) -> list[str]:
    """The options of ft_launcher beside torchrun's.

    Source: `ft_launcher --help` of nvidia-resiliency-ext 0.4.1.
    """
    given = config.fault_tolerance
    if given is None:
        return []
    timeouts = {name: getattr(given, name) for name in ("initial_rank_heartbeat_timeout", "rank_heartbeat_timeout")}
    set_ = [f"--ft-{name.replace('_', '-')}={seconds}" for name, seconds in timeouts.items() if seconds is not None]
    return [f"--max-restarts={given.max_restarts}", *(set_ or ["--ignore-missing-fault-tol-cfg"])]


def profiler(config: SlurmConfig) -> list[str]:
    """``nsys profile`` in front of each worker: one report a node, rank and start.

    It captures the whole run, without `cudaProfilerApi` calls in the recipe, and ends with the worker, whatever that leaves
    running.
    """
    if not config.nsys_enabled:
        return []
    name = """'job%q{SLURM_JOB_ID}'"$attempt"'.%h.rank%q{RANK}.%q{TORCHELASTIC_RESTART_COUNT}'"""
    return ["nsys", "profile", "--wait=primary", Raw(f"--output={_nsys_directory(config)}/{name}"), *config.nsys_args]


def _nsys_directory(config: SlurmConfig) -> str:
    return in_job_dir("nsys") if config.nsys_output is None else shlex.quote(os.path.expanduser(config.nsys_output))
