"""Why jobs failed, by the logs of real failing runs, and by a few written by hand where nothing here can provoke the failure.

tests/automodel/provoke.py and tests/slurm/provoke.py made the real ones.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from automodel_nb.states import JobState, Observation
from automodel_nb.watching.diagnosis import Diagnosis, Setting, diagnose, diagnose_log
from automodel_nb.watching.diagnosis.clues import SIGNS

LOGS = Path(__file__).parents[1] / "data/logs"
EXIT_CODES: dict[str, int] = json.loads((LOGS / "index.json").read_text())
SLURM = json.loads((LOGS / "slurm.json").read_text())
STEP = "2026-12-01 03:00:00 | INFO | root | step {} | epoch 0 | loss 2.5 | grad_norm 1.0 | lr 1e-05 | mem 1.00 GiB | tps 9.0"
RECIPE = {"step_scheduler": {"global_batch_size": 8, "local_batch_size": 4}, "dist_env": {"timeout_minutes": 1}}


class Told(NamedTuple):
    code: str
    cause: str  # a part of it
    evidence: str = ""  # a part of it
    rank: int | None = None
    node: str | None = None
    change: Mapping[str, str] = MappingProxyType({})


#: Real runs of AutoModel 0.7.0 (see tests/automodel/provoke.py for each).
AUTOMODEL = {
    "oom_rank1": Told(
        "gpu-memory", "GPU ran out of memory", "OutOfMemoryError", 1, change={"step_scheduler.local_batch_size": "2"}
    ),
    "exit7_rank1": Told("unknown", "rank 1 ended with exit code 7", "", 1),
    "exit7_alone": Told("unknown", "exit code 7, and nothing in the log"),
    "segv_rank1": Told("crash", "Rank 1 crashed: SIGSEGV", "", 1),
    "segv_alone": Told("crash", "signal 11"),
    "sigkill_rank1": Told("killed", "Rank 1 was killed from outside", "SIGKILL", 1),
    "hang_rank1": Told(
        "collective-timeout",
        "rank 1 did not take part",
        "Timed out waiting 60000ms",
        1,
        change={"dist_env.timeout_minutes": "10"},
    ),
    "host_memory": Told("host-memory", "node's memory (not the GPU's)", "can't allocate memory"),
    "port_in_use": Told("port-in-use", "port 29555 is in use", "EADDRINUSE"),
    "rendezvous_alone": Told("rendezvous", "never formed", "RendezvousTimeoutError"),
    "rendezvous_unreachable": Told("rendezvous", "never formed", "RendezvousConnectionError"),
    "model_path": Told("model-path", "no model /jobs/tiny/nope/model", "HFValidationError", 0),
    "model_offline": Told("hub-unreachable", "neither on disk nor", "", 0),
    "model_gated": Told("gated", "is gated", ""),
    "model_not_found": Told("not-on-hub", "no such model or data set on the hub", "RepositoryNotFoundError", 0),
    "model_unauthorized": Told("unauthorized", "does not accept the token", "401", 0),
    "data_path": Told("file-missing", "/jobs/tiny/missing.jsonl", "FileNotFoundError"),
    "data_column": Told("data-column", "has not the columns", "Expected at least two columns", 0),
    "no_recipe": Told("no-recipe", "does not say which one", "must specify a recipe"),
    "unknown_recipe": Told("unknown-recipe", "no recipe NoSuchRecipe"),
    "missing_module": Told("missing-module", "my_project"),
    "no_python_module": Told("missing-module", "my_project"),
    "unknown_target": Told("missing-name", "cannot resolve attribute 'MaskedCE'"),
    "scheduler_key": Told("unknown-key", "`step_scheduler` takes no `checkpoint_interval`", "TypeError", 0),
    "checkpoint_key": Told("unknown-key", "`checkpoint` takes no `save_consolidate`", "TypeError", 0),
    "optimizer_key": Told("unknown-key", "`weight_decays`", "TypeError", 0),
    "dataloader_key": Told("unknown-key", "shufle", "TypeError", 0),
    "distributed_key": Told("unknown-key", "tp_plan", "ValueError", 0),
    "unset_variable": Told("unset-variable", "NO_SUCH_DIRECTORY", "KeyError"),
    "batch_size": Told(
        "batch-size",
        "9 is no multiple of local_batch_size 4 x 2 workers",
        "",
        0,
        change={"step_scheduler.global_batch_size": "8"},
    ),
    "nccl_without_gpu": Told("nccl-on-cpu", "nccl needs GPUs", "", None, change={"dist_env.backend": "gloo"}),
    "restore_missing": Told("restore-missing", "restore_from names does not exist", "", 0),
    "restore_mapping": Told("restore-format", "is a mapping where AutoModel wants text", "TypeError", 0),
    "disk_full": Told("disk-full", "disk is full", "", 0),
    "read_only": Told("not-writable", "Read-only file system", "", 0),
    "no_gpu": Told("no-gpu", "found no GPU"),
    "no_gpu_torchrun": Told("no-gpu", "found no GPU", "_cuda_resetPeakMemoryStats"),
}

#: Real jobs of a real Slurm (see tests/slurm/provoke.py for each).
ON_SLURM = {
    "command_missing": Told("command-missing", "no command `no-such-command`", node="n1"),
    "srun_option": Told("srun-option", "srun does not know the option --gpu-bnd", node="n1"),
    "one_of_two_nodes": Told("unknown", "the task on n2 ended (exited with exit code 1)", node="n2"),
    "mount_missing": Told("mount-missing", "/jobs/data/set", node="n2"),
    "port_in_use": Told("port-in-use", "port 13999 is in use", node="n1"),
    "no_pyxis": Told("no-pyxis", "Pyxis is not installed", "unrecognized option '--container-image", node="n1"),
    "time_limit": Told("time-limit", "time limit was reached", "DUE TO TIME LIMIT"),
    "memory": Told("host-memory", "memory that the job was given", node="n1"),
    "node": Told("node-failed", "The node n3 failed", "DUE TO NODE FAILURE", node="n3"),
    "preempted": Told("preempted", "higher priority", "DUE TO PREEMPTION"),
    "cancelled": Told("cancelled", "cancelled", "CANCELLED AT"),
}

#: Written by hand after what PyTorch, transformers, Pyxis, Apptainer and the kernel are documented to say.
BY_HAND = {
    "nccl_timeout": Told(
        "collective-timeout", "rank 2 did not take part", "Watchdog", 2, "n2", change={"dist_env.timeout_minutes": "10"}
    ),
    "peer_lost": Told("peer-lost", "rank 3 did not take part", "Connection closed by peer", 3, "n2"),
    "driver_too_old": Told("driver", "driver or GPU does not go with"),
    "no_kernel_image": Told("driver", "driver or GPU does not go with", "no kernel image", 2, "n2"),
    "gpu_ecc": Told("gpu-fault", "A GPU failed", "uncorrectable ECC", 5),
    "gated_transformers": Told("gated", "is gated"),
    "pyxis_import": Told("image", "image cannot be had", "failed to import docker image", node="n1"),
    "apptainer_image": Told("image", "image cannot be had", "manifest unknown"),
    "shared_memory": Told("shared-memory", "/dev/shm", "", 0, "n1"),
    "quota": Told("disk-full", "quota", "Disk quota exceeded", 1, "n1"),
}


def check(told: Diagnosis | None, expected: Told, path: Path) -> None:
    assert told is not None
    assert (told.code, told.rank, told.node) == (expected.code, expected.rank, expected.node), told
    assert expected.cause in told.cause
    assert expected.evidence in told.evidence
    assert dict(told.change) == expected.change
    assert told.fix
    assert "{" not in told.cause + told.fix.replace("${", "")
    if told.line is not None and told.evidence and not told.evidence.startswith("rank "):
        physical = path.read_bytes().decode().split("\n")[told.line - 1]
        assert told.evidence.partition(": ")[2][:60] in physical


@pytest.mark.parametrize("name", AUTOMODEL)
def test_real_runs_of_automodel(name: str) -> None:
    path, end = LOGS / f"{name}.log", Observation(JobState.FAILED, exit_code=EXIT_CODES[name])
    assert end.exit_code != 0
    check(diagnose_log(path, end, Setting(RECIPE)), AUTOMODEL[name], path)
    assert diagnose(path.read_bytes().decode().split("\n"), end, Setting(RECIPE)) == diagnose_log(path, end, Setting(RECIPE))


@pytest.mark.parametrize("name", ON_SLURM)
def test_real_jobs_of_slurm(name: str) -> None:
    path, seen = LOGS / f"slurm_{name}.log", SLURM[name]
    end = Observation(
        JobState(seen["state"]), seen["reason"], seen["reason_code"], seen["exit_code"], nodes=tuple(seen["nodes"])
    )
    check(diagnose_log(path, end, Setting(method="slurm")), ON_SLURM[name], path)


@pytest.mark.parametrize("name", BY_HAND)
def test_written_by_hand(name: str) -> None:
    path = LOGS / f"handwritten/{name}.log"
    end = Observation(JobState.FAILED, exit_code=1, nodes=("n1", "n2"))
    check(diagnose_log(path, end, Setting(workers_per_node=2)), BY_HAND[name], path)


def test_every_log_is_read_and_every_sign_found() -> None:
    assert {path.stem for path in LOGS.glob("*.log")} == {*AUTOMODEL, *(f"slurm_{name}" for name in ON_SLURM)}
    assert {path.stem for path in LOGS.glob("handwritten/*.log")} == set(BY_HAND)
    codes = {told.code for told in (*AUTOMODEL.values(), *ON_SLURM.values(), *BY_HAND.values())}
    assert {sign.code for sign in SIGNS} - codes == set()


@pytest.mark.parametrize("state", [state for state in JobState if not state.final or state.ok])
def test_nothing_to_say_of_jobs_that_did_not_fail(state: JobState) -> None:
    assert diagnose_log(LOGS / "oom_rank1.log", Observation(state)) is None


def test_unknown_is_said_to_be_unknown() -> None:
    end = Observation(JobState.FAILED, exit_code=3)
    told = diagnose(["all is well", "bye"], end)
    assert told is not None
    assert (told.code, told.line, told.evidence) == ("unknown", None, "")
    assert told.cause == "Why is not known: exit code 3, and nothing in the log says more."
    odd = diagnose(["Traceback (most recent call last):", '  File "a.py", line 1', "my.Odd: seven"], end)
    assert odd is not None
    assert (odd.code, odd.line, odd.evidence) == ("unknown", 3, "Odd: seven")
    assert diagnose_log(LOGS / "there is no such log", end) == diagnose([], end)


@pytest.mark.parametrize(
    ("exit_code", "code"),
    [(137, "killed"), (-9, "killed"), (139, "crash"), (-11, "crash"), (134, "crash"), (127, "command-missing")],
)
def test_exit_codes_alone(exit_code: int, code: str) -> None:
    told = diagnose([], Observation(JobState.FAILED, exit_code=exit_code))
    assert told is not None
    assert told.code == code


def test_what_training_survived_is_no_cause() -> None:
    """A restart got over it: three steps later the same words count no more."""
    oom = ["Traceback (most recent call last):", '  File "a.py", line 1', "torch.OutOfMemoryError: CUDA out of memory. Tried"]
    end = Observation(JobState.FAILED, exit_code=5)
    lines = [*oom, *(STEP.format(n) for n in range(3)), "bye"]
    told = diagnose(lines, end)
    assert told is not None
    assert told.code == "unknown"
    again = diagnose([*lines, *oom], end)
    assert again is not None
    assert (again.code, again.line) == ("gpu-memory", 10)


def test_a_record_that_quotes_an_error_is_none() -> None:
    lines = ["2026-12-01 03:00:00 | INFO | root | torch.OutOfMemoryError: CUDA out of memory (caught, batch split)", "bye"]
    told = diagnose(lines, Observation(JobState.FAILED, exit_code=1))
    assert told is not None
    assert told.code == "unknown"


def test_a_time_limit_that_others_waited_for() -> None:
    lines = (LOGS / "slurm_time_limit.log").read_text().splitlines()
    died = ["[rank3]: Traceback (most recent call last):", '[rank3]:   File "a.py", line 1', "[rank3]: ValueError: NaN in loss"]
    told = diagnose([*died, *lines], Observation(JobState.TIMEOUT))
    assert told is not None
    assert (told.code, told.rank, told.line) == ("hung-until-limit", 3, 3)
    assert "ValueError: NaN in loss" in told.cause


def test_what_was_saved_is_said() -> None:
    end = Observation(JobState.TIMEOUT, "the time limit was reached; saved at step 39", "saved_at_time_limit")
    told = diagnose([], end)
    assert told is not None
    assert told.cause == "The time limit was reached; saved at step 39."


@given(st.lists(st.text(max_size=80), max_size=30), st.integers(-20, 160))
def test_no_text_breaks_it(lines: list[str], exit_code: int) -> None:
    told = diagnose(lines, Observation(JobState.FAILED, exit_code=exit_code))
    assert told is not None
    assert told.cause


def test_a_large_log_takes_no_time(tmp_path: Path) -> None:
    """100,000 steps of 130 bytes and a failure at the end: 13 MB."""
    log = tmp_path / "large.log"
    log.write_text("".join(STEP.format(n) + "\n" for n in range(100_000)) + (LOGS / "oom_rank1.log").read_text())
    begin = time.process_time()  # of this process: others on the machine do not count
    told = diagnose_log(log, Observation(JobState.FAILED, exit_code=1))
    assert time.process_time() - begin < 2
    assert told is not None
    assert (told.code, told.rank) == ("gpu-memory", 1)
