"""Slurm jobs that fail now: their causes, and the rules that would have said so before, against the real cluster."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell

import automodel_nb as am
from automodel_nb import facts_slurm
from automodel_nb.errors import UsageError
from automodel_nb.facts_slurm import cluster_facts
from automodel_nb.findings import Finding
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


def answer(kernel: Kernel, **fields: object) -> Finding:
    """What Slurm says to a preview that asks it."""
    plan = am.preview(kernel.text("true", **fields), "slurm", check_cluster=True)
    (found,) = [finding for finding in plan.findings if finding.code in ("cluster-check", "sbatch-refused")]
    return found


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
        silent = answer(kernel, partition="bacth")
        assert "no-partition" not in codes(kernel, partition="bacth")
    finally:
        kernel.lab.start_controller()
        facts_slurm.forget()
    assert (silent.severity, silent.message[:22]) == ("warning", "Slurm does not answer:")


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


def test_the_cluster_is_asked_before_a_launch(kernel: Kernel) -> None:
    """`sbatch --test-only`: its estimate, its refusal at the field; and nothing is submitted or written."""
    free = answer(kernel, nodes=2)
    assert (free.severity, "start it at once" in free.message, "partition batch, n[1-2]" in free.message) == (
        "hint",
        True,
        True,
    )
    kernel.lab.sbatch("#!/bin/bash\nsleep 100\n", "--nodes=4", "--exclusive", "--time=45")
    assert re.search(r"start it in about 4[45] min \(\d{4}-\d\d-\d\d \d\d:\d\d UTC\) on \d+ CPUs", answer(kernel).message)
    bad = answer(kernel, nodelist="n9")
    assert (bad.severity, bad.field, bad.line is not None, bad.fix is not None) == ("error", "slurm.nodelist", True, True)
    assert answer(kernel, mem="900G").field == "slurm.mem"
    assert am.jobs() == []
    assert not list((kernel.directory / "work").iterdir())


def test_the_magic_asks_the_cluster(kernel: Kernel, capsys: pytest.CaptureFixture[str]) -> None:
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "automodel_nb")
    shell.run_cell_magic("automodel_launch", "slurm -n --check-cluster", kernel.text("true"))
    assert "Slurm would take it and, as things are, start it " in capsys.readouterr().out
    with pytest.raises(UsageError, match="--check-cluster goes with --dry-run"):
        shell.run_cell_magic("automodel_launch", "slurm --check-cluster", kernel.text("true"))
    shell.run_cell_magic("automodel_launch", "interactive -n --check-cluster", "interactive: {command: 'true', device: cpu}\n")
    assert "only Slurm is asked" in capsys.readouterr().out
