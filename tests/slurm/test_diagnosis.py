"""Slurm jobs that fail now: their causes, and the rules that would have said so before, against the real cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

import automodel_nb as am
from automodel_nb import facts_slurm
from automodel_nb.facts_slurm import cluster_facts
from tests.slurm.conftest import Kernel
from tests.slurm.lab import SlurmLab
from tests.slurm.provoke import QUICK, without_plugins
from tests.unit.test_diagnosis import ON_SLURM

pytestmark = pytest.mark.slurm


@pytest.mark.parametrize("name", QUICK)
def test_a_job_that_fails_now(kernel: Kernel, name: str) -> None:
    job = QUICK[name](kernel)
    told = job.diagnosis()
    assert told is not None, job.state
    assert (told.code, told.node) == (ON_SLURM[name].code, ON_SLURM[name].node), job.log()


def codes(kernel: Kernel, **fields: object) -> set[str]:
    return {finding.code for finding in am.preview(kernel.text("true", **fields), "slurm").findings}


def test_rules_ask_the_real_cluster(kernel: Kernel) -> None:
    facts_slurm.forget()
    facts = cluster_facts()
    assert facts is not None
    assert set(facts.partitions) == {"batch", "debug", "preempt"}
    batch, debug = facts.partitions["batch"], facts.partitions["debug"]
    assert (batch.default, batch.total_nodes, batch.max_seconds, batch.default_seconds) == (True, 4, 172800, 3600)
    assert (debug.max_nodes, debug.max_seconds) == (2, 1800)
    assert (batch.groups[0].gpu_count, batch.groups[0].cpus, batch.groups[0].memory_mib) == (8, 64, 512000)
    assert facts.pyxis is True
    assert facts.accounts is None  # no accounting
    clean = codes(kernel)
    for code, fields in {
        "no-partition": {"partition": "bacth"},
        "partition-time": {"partition": "debug", "time": "01:00:00"},
        "partition-nodes": {"nodes": 5},
        "node-too-small": {"gpu_request": "gres", "gpus_per_node": "9"},
        "no-feature": {"constraint": "h100"},
        "port-shared-node": {"master_port": 13742},
    }.items():
        assert codes(kernel, **fields) - clean >= {code}, fields


def test_rules_without_pyxis(kernel: Kernel) -> None:
    with without_plugins(kernel.lab):
        assert "no-pyxis" in codes(kernel, container_image="nvcr.io/nvidia/nemo:25.09")


def test_a_cluster_that_does_not_answer_is_silence(kernel: Kernel) -> None:
    facts_slurm.forget()
    kernel.lab.stop_controller()
    try:
        assert "no-partition" not in codes(kernel, partition="bacth")
    finally:
        kernel.lab.start_controller()
        facts_slurm.forget()


def test_accounts_of_this_user(slurm_lab_accounting: SlurmLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = Kernel(slurm_lab_accounting, tmp_path, monkeypatch)
    facts_slurm.forget()
    facts = cluster_facts()
    assert facts is not None
    assert facts.accounts is not None
    assert "lab" in facts.accounts
    assert "account" in codes(kernel, account="labs")
    assert "account" not in codes(kernel, account="lab")
    facts_slurm.forget()
