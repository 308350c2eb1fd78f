"""What a form proposes: the cluster's own, what cannot work marked, and nobody waits."""

from __future__ import annotations

import threading

import pytest

import automodel_nb as am
from automodel_nb.editing.choices import Choice, Cluster, choices
from automodel_nb.editing.trying import with_problems
from automodel_nb.facts_slurm import ClusterFacts, parse_associations, parse_partitions

from .checking import SCONTROL, SINFO

CLUSTER = ClusterFacts(
    parse_partitions(SCONTROL, SINFO, "batch|1/3\ndebug|0/2\n"), *parse_associations("lab|normal\nlab|high\n")[:1], True
)
RECIPE = "recipe: TrainFinetuneRecipeForNextTokenPrediction\n"


def test_partitions_are_told_with_what_limits_them() -> None:
    assert choices("partition", CLUSTER)[:2] == (
        Choice("batch", "the default, 4 nodes, 3 free, up to 2 days, 8 GPUs a node"),
        Choice("debug", "2 nodes, 2 free, 2 a job, up to 30 minutes, 8 GPUs a node, not up"),
    )


def test_what_the_cluster_knows() -> None:
    assert [choice.value for choice in choices("account", CLUSTER)] == ["lab"]
    assert [choice.value for choice in choices("constraint", CLUSTER)] == ["h100", "ib"]
    assert [choice.value for choice in choices("gpus_per_node", CLUSTER)] == ["h100:8"]
    assert [choice.value for choice in choices("qos", CLUSTER)] == ["normal"]  # what a partition allows, without accounting
    accounts, qos = parse_associations("lab|normal,high\nphysics|\n")
    assert (sorted(accounts), sorted(qos)) == (["lab", "physics"], ["high", "normal"])


def test_what_cannot_work_is_marked_and_why() -> None:
    plan = am.preview(f"slurm:\n  nodes: 4\n  time: '10'\n{RECIPE}")
    found = {
        choice.value: choice.problem for choice in with_problems(choices("partition", CLUSTER), "partition", plan, CLUSTER)
    }
    assert found["batch"] == ""
    assert found["debug"] == "4 nodes are asked for, and partition debug gives 2 at most"
    assert found["cpu"] != ""


def test_names_of_secrets_and_never_their_values() -> None:
    found = choices("secrets", None, {"HF_TOKEN": "value-of-it", "PATH": "/bin", "WANDB_API_KEY": "other"})
    assert [choice.value for choice in found] == ["HF_TOKEN", "WANDB_API_KEY"]
    assert "value-of-it" not in repr(found)


@pytest.mark.parametrize("name", ["partition", "account", "cloud", "job_name", "nothing"])
def test_without_a_cluster_what_is_known_is_proposed(name: str) -> None:
    assert isinstance(choices(name, None), tuple)


def test_whoever_looks_does_not_wait() -> None:
    answer, arrived = threading.Event(), threading.Event()

    def ask() -> ClusterFacts:
        answer.wait(10)
        return CLUSTER

    cluster = Cluster(ask)
    assert cluster.look(arrived.set) is None
    assert cluster.look() is None
    answer.set()
    assert arrived.wait(10)
    assert cluster.look() is CLUSTER
