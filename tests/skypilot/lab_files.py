"""Files of the lab: its directory, which is removed where its owner was killed, and texts to be filled in."""

from __future__ import annotations

import fcntl
import shutil
import tempfile
from pathlib import Path
from typing import IO

PARENT, PREFIX = Path("/var/tmp"), "automodel-nb-sky-"


def new_root() -> tuple[Path, IO[str]]:
    """A new directory, and the lock that says that its lab lives; those of labs that live no longer are removed."""
    for old in PARENT.glob(f"{PREFIX}*/lock"):
        try:
            with open(old) as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(old.parent, ignore_errors=True)
        except OSError:
            continue  # its lab lives, or another one removes it now
    root = Path(tempfile.mkdtemp(prefix=PREFIX, dir=PARENT))
    held = open(root / "starting", "w")  # noqa: SIM115 - held as long as the lab is up
    fcntl.flock(held, fcntl.LOCK_EX)
    (root / "starting").rename(root / "lock")  # there is no moment at which it is there and free
    return root, held


SSHD_CONFIG = """
    ListenAddress 127.0.0.1
    HostKey {root}/ssh/hostkey
    PidFile none
    PermitRootLogin prohibit-password
    PasswordAuthentication no
    KbdInteractiveAuthentication no
    UsePAM no
    StrictModes no
    MaxSessions 200
    MaxStartups 100:30:200
"""
SSH_CLUSTER = """
    Host lab
        HostName 127.0.0.1
        Port {port}
        User root
        IdentityFile {root}/home/.ssh/id_lab
"""
SKY_CONFIG = """
    slurm:
      pricing: {cpu: 0.02, memory: 0.002, accelerators: {H100: 2.5}}
    jobs:
      controller: {consolidation_mode: true}
"""
UV = """
    #!/bin/bash
    # SkyPilot sets up a Python of its own on each node: 3.10 from GitHub, and 60 packages from PyPI. Here that Python
    # is this machine's, and it finds the packages where the tests have them. What else uv is asked for, uv does.
    export UV_CACHE_DIR={cache} UV_PYTHON_DOWNLOADS=never
    [ -f /etc/ssl/certs/ca-certificates.crt ] && export SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
    case "$1 $2 $VIRTUAL_ENV" in
      "pip install "*/skypilot-runtime | "pip uninstall "*/skypilot-runtime) exit 0 ;;
    esac
    args=(); own=; before=
    for arg in "$@"; do
      case "$arg" in */skypilot-runtime) own=$arg ;; esac
      [ "$before" = --python ] && [ "$arg" = 3.10 ] && arg={python}
      args+=("$arg"); before=$arg
    done
    [ "$1" = venv ] && [ "$own" ] || exec {real} "${{args[@]}}"
    {real} "${{args[@]/--seed/--quiet}}" && echo {packages} >"$(echo "$own"/lib/python*/site-packages)/lab.pth"
"""
CURL = """
    #!/bin/bash
    case "$*" in
      *astral.sh/uv/install.sh*) echo 'mkdir -p "$UV_INSTALL_DIR" && cp {root}/shim/uv "$UV_INSTALL_DIR/uv"' ;;
      *) exec {root}/shim/curl.real "$@" ;;
    esac
"""
SLURM_CONF = """
    ClusterName=skylab
    SlurmctldHost={host}(127.0.0.1)
    SlurmUser=root
    SlurmdUser=root
    SlurmctldPort={ctld}
    AuthType=auth/munge
    CryptoType=crypto/munge
    AuthInfo=socket={root}/munge/sock
    StateSaveLocation={root}/state
    SlurmdSpoolDir={root}/spool/%n
    SlurmctldPidFile={root}/slurmctld.pid
    SlurmdPidFile={root}/slurmd-%n.pid
    ProctrackType=proctrack/linuxproc
    TaskPlugin=task/none
    ReturnToService=2
    SelectType=select/cons_tres
    SelectTypeParameters=CR_Core_Memory
    JobAcctGatherType=jobacct_gather/none
    AccountingStorageType=accounting_storage/none
    KillWait=5
    GresTypes=gpu
    SlurmdParameters=config_overrides
    NodeName=sky1 NodeHostname=sky1 NodeAddr=127.0.0.11 Port={sky1} CPUs=8 RealMemory=64000 Gres=gpu:{gpu}:2 State=UNKNOWN
    NodeName=sky2 NodeHostname=sky2 NodeAddr=127.0.0.12 Port={sky2} CPUs=8 RealMemory=64000 Gres=gpu:{gpu}:2 State=UNKNOWN
    PartitionName=main Nodes=sky1,sky2 Default=YES MaxTime=01:00:00 State=UP
"""

# Prices are made up. Columns as in SkyPilot's own catalog; AWS's zones are named by their ids there.
_VMS = """
    InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Price,SpotPrice,Region,AvailabilityZone,Arch
    p5.48xlarge,H100,8.0,192.0,2048.0,,55.04,26.4,us-east-1,use1-az1,x86_64
    p5.48xlarge,H100,8.0,192.0,2048.0,,55.04,24.2,us-west-2,usw2-az1,x86_64
    p4d.24xlarge,A100,8.0,96.0,1152.0,,32.77,,us-east-1,use1-az1,x86_64
    m6i.2xlarge,,,8.0,32.0,,0.384,0.15,us-east-1,use1-az1,x86_64
"""
_IMAGES = """
    Tag,Region,OS,OSVersion,ImageId,CreationDate,BaseImageId
    skypilot:custom-gpu-ubuntu,us-east-1,ubuntu,22.04,ami-12c6146b,20240101,
    skypilot:custom-gpu-ubuntu,us-west-2,ubuntu,22.04,ami-12c6146b,20240101,
    skypilot:custom-cpu-ubuntu,us-east-1,ubuntu,22.04,ami-12c6146b,20240101,
    skypilot:custom-cpu-ubuntu,us-west-2,ubuntu,22.04,ami-12c6146b,20240101,
    skypilot:custom-gpu-ubuntu-cuda13,us-east-1,ubuntu,22.04,ami-12c6146b,20240101,
    skypilot:custom-gpu-ubuntu-cuda13,us-west-2,ubuntu,22.04,ami-12c6146b,20240101,
"""
CATALOG = {
    "common/accelerators": "AcceleratorName,Clouds\nH100,\"['AWS']\"\nA100,\"['AWS']\"",
    "aws/vms": _VMS,
    "aws/images": _IMAGES,
}
