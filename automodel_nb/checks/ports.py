"""Is the rendezvous port free?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from automodel_nb.checks.rules import Problem, rule
from automodel_nb.findings import Fix

if TYPE_CHECKING:
    from automodel_nb.checks.facts import Facts
    from automodel_nb.planning.parts import Parts


@rule("port-in-use", "error")
def port_is_free(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """On this node, nothing listens on the port that the job's own `command` is given.

    Source: the published pitfalls. (AutoModel's own command needs none here: torchrun takes a free one, a single process
    none. On a cluster's node the job's script looks for a free one, or says that the given one is in use.)
    """
    for port in sorted(facts.busy_ports):
        own = parts.config.master_port == port
        field = "interactive.master_port" if own else "interactive.env_vars.MASTER_PORT"
        yield Problem(f"port {port} is in use on this node", field, Fix("take it out for a free one, or give another"))


@rule("port-ephemeral", "warning")
def port_is_not_ephemeral(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """`master_port` is not one that the system hands out to outgoing connections.

    Source: `/proc/sys/net/ipv4/ip_local_port_range` of this machine; a node can be using such a port at any moment.
    """
    port = parts.config.master_port
    if port and facts.ephemeral and facts.ephemeral[0] <= port <= facts.ephemeral[1] and parts.sources.method != "interactive":
        first, last = facts.ephemeral
        field = f"{parts.sources.method}.master_port"
        message = f"port {port} is one that nodes give to outgoing connections ({first} to {last}), and may be in use"
        yield Problem(message, field, Fix("write 13742, or leave it out for a free one", field, "13742"))


@rule("port-shared-node", "warning")
def port_is_not_fixed_on_a_shared_node(parts: Parts, facts: Facts) -> Iterator[Problem]:
    """A job that may share its first node with others does not insist on a port.

    Source: the published pitfalls: another job on the node with the same port. Silent where the cluster does not say how
    many GPUs its nodes have.
    """
    if parts.sources.method != "slurm" or parts.config.master_port is None or parts.config.exclusive is not None:
        return
    partitions = facts.cluster.of(parts.config.partition) if facts.cluster else None
    gpus = min((group.gpu_count for part in partitions or () for group in part.groups), default=0)
    asked = int((parts.config.gpus_per_node or str(parts.config.ntasks_per_node)).rpartition(":")[2])
    if asked < gpus:
        port = parts.config.master_port
        message = f"with {asked} of {gpus} GPUs the first node may be shared with a job that uses port {port}, too"
        yield Problem(message, "slurm.master_port", Fix("leave it out for a free one"))


RULES = (port_is_free, port_is_not_ephemeral, port_is_not_fixed_on_a_shared_node)
