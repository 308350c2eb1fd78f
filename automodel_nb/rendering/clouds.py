"""What the clouds that SkyPilot knows can do, as far as a plan needs it (SkyPilot 0.14; a test asks the real one)."""

from __future__ import annotations

#: Clusters can be stopped, which keeps their disks; elsewhere an idle cluster can only be removed.
STOPS = frozenset(
    {"aws", "azure", "do", "gcp", "ibm", "mithril", "nebius", "oci", "paperspace", "scp", "seeweb", "vast", "vsphere"}
)
#: There are no spot instances.
NO_SPOT = frozenset(
    {
        "cudo",
        "do",
        "fluidstack",
        "hyperbolic",
        "lambda",
        "paperspace",
        "scp",
        "seeweb",
        "shadeform",
        "slurm",
        "vsphere",
        "yotta",
    }
)
#: A cluster can neither stop nor remove itself when it is idle.
NO_AUTOSTOP = frozenset({"hyperbolic", "primeintellect", "verda", "yotta"})
#: Nodes share a file system, so that any absolute path may well outlive a cluster.
SHARED = frozenset({"slurm", "kubernetes", "k8s", "ssh"})
