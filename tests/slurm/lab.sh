#!/usr/bin/env bash
# A real multi-node Slurm on one machine, for tests. lab.py calls it; by hand:
#
#   LAB=/tmp/lab LAB_NUMBER=0 tests/slurm/lab.sh up | down | node-kill N | node-start N | in N CMD.. | ctld-stop | ctld-start
#
# Each node is one `unshare` process that holds its own net, mount, uts and pid namespaces: its own address on a bridge, its own
# hostname (n1, n2, …), its own /etc/hosts and process tree. Killing that one process is a power loss. File systems are shared.
# Needs root and Debian's munge slurmctld slurmd slurm-client (and slurmdbd mariadb-server for LAB_ACCOUNTING=1).
# Writes only under $LAB, and a bridge with its links, all of which `down` removes.
set -euo pipefail

: "${LAB:?a directory for this lab}" "${LAB_NUMBER:?0..99, one for each lab on this machine}"
NODES=${LAB_NODES:-4}
ACCOUNTING=${LAB_ACCOUNTING:-0}   # 1: slurmdbd + MariaDB, so that sacct works and accounts and QOS are enforced
CGROUP=${LAB_CGROUP:-0}           # 1: the kernel enforces memory (OUT_OF_MEMORY); 0: Slurm's own sampling does (FAILED)
CONTAINERS=${LAB_CONTAINERS:-1}   # 1: the stand-in for Pyxis is loaded

NET=10.213.$((100 + LAB_NUMBER))  # .1 is this host (login node and slurmctld), .11 is n1, …
BRIDGE=amslab$LAB_NUMBER
CTLD_PORT=$((26000 + 10 * LAB_NUMBER)) SLURMD_PORT=$((26001 + 10 * LAB_NUMBER)) DBD_PORT=$((26002 + 10 * LAB_NUMBER))

ETC=$LAB/etc RUN=$LAB/run LOG=$LAB/log STATE=$LAB/state
export SLURM_CONF=$ETC/slurm.conf PATH=/usr/sbin:/usr/bin:/sbin:/bin
SELF=$(readlink -f "${BASH_SOURCE[0]}")

die() { printf 'lab.sh: %s\n' "$*" >&2; exit 1; }

# A pid file counts only where the process lives and its command line holds WORD.
alive() { # PIDFILE WORD
  local pid; pid=$(cat "$1" 2>/dev/null) || return 1
  [ -n "$pid" ] && tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | grep -q -- "$2"
}
stop() { # PIDFILE WORD [SIGNAL]
  local pid i
  if alive "$1" "$2"; then
    pid=$(cat "$1"); kill "-${3:-TERM}" "$pid" 2>/dev/null || true
    for i in $(seq 100); do
      if [ ! -d "/proc/$pid" ] || grep -q '^State:.Z' "/proc/$pid/status" 2>/dev/null; then break; fi
      [ "$i" = 60 ] && kill -KILL "$pid" 2>/dev/null; sleep 0.1
    done
  fi
  rm -f "$1"
}
wait_for() { # SECONDS WHAT COMMAND...
  local seconds=$1 what=$2 end=$((SECONDS + $1)); shift 2
  while [ $SECONDS -le $end ]; do "$@" >/dev/null 2>&1 && return 0; sleep 0.05; done
  die "waited ${seconds} s for $what; logs are in $LOG"
}

write_config() {
  local i host; host=$(hostname -s)
  {
    cat <<END
ClusterName=amslab
SlurmctldHost=$host($NET.1)
SlurmctldPort=$CTLD_PORT
SlurmdPort=$SLURMD_PORT
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$RUN/munge/munge.sock
CredType=cred/munge
StateSaveLocation=$STATE/ctld
SlurmdSpoolDir=$STATE/%n
SlurmctldPidFile=$RUN/slurmctld.pid
SlurmdPidFile=$RUN/slurmd.%n.pid
SlurmctldLogFile=$LOG/slurmctld.log
SlurmdLogFile=$LOG/slurmd.%n.log
MpiDefault=none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobRequeue=1
ReturnToService=2
SlurmctldTimeout=30
SlurmdTimeout=10
MinJobAge=300
KillWait=3
CompleteWait=0
InactiveLimit=0
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=2,sched_interval=5,batch_sched_delay=0
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
DefMemPerCPU=1000
PriorityType=priority/multifactor
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
GresTypes=gpu
SlurmdParameters=config_overrides
PlugStackConfig=$ETC/plugstack.conf
END
    if [ "$CGROUP" = 1 ]; then printf 'ProctrackType=proctrack/cgroup\nTaskPlugin=task/cgroup\n'
    else printf 'ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nJobAcctGatherParams=OverMemoryKill\n'; fi
    if [ "$ACCOUNTING" = 1 ]; then
      # slurmdbd's clients do not look at AuthInfo: the munge socket is named as AccountingStoragePass
      cat <<END
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=$DBD_PORT
AccountingStoragePass=$RUN/munge/munge.sock
AccountingStorageEnforce=associations,limits,qos
AccountingStorageTRES=gres/gpu
END
    else echo AccountingStorageType=accounting_storage/none; fi
    for i in $(seq "$NODES"); do
      echo "NodeName=n$i NodeAddr=$NET.1$i CPUs=64 Boards=1 SocketsPerBoard=2 CoresPerSocket=32 ThreadsPerCore=1 RealMemory=512000 Gres=gpu:8"
    done
    cat <<END
PartitionName=batch Nodes=ALL Default=YES MaxTime=2-00:00:00 DefaultTime=01:00:00 PriorityTier=10 PreemptMode=OFF
PartitionName=debug Nodes=$([ "$NODES" = 1 ] && echo n1 || echo n1,n2) MaxTime=00:30:00 DefaultTime=00:10:00 MaxNodes=2 PriorityTier=20 PreemptMode=OFF
PartitionName=preempt Nodes=ALL MaxTime=1-00:00:00 PriorityTier=1 PreemptMode=REQUEUE GraceTime=3
END
  } >"$ETC/slurm.conf"
  printf 'CgroupMountpoint=/sys/fs/cgroup\nConstrainRAMSpace=yes\n' >"$ETC/cgroup.conf"
  # A bare count registers 0 GPUs, and plain files leave CUDA_VISIBLE_DEVICES unset: character devices that nobody opens do both.
  for i in $(seq 0 7); do mknod "$LAB/dev/gpu$i" c 195 "$i"; done
  echo "Name=gpu File=$LAB/dev/gpu[0-7]" >"$ETC/gres.conf"
  : >"$ETC/plugstack.conf"
  if [ "$CONTAINERS" = 1 ]; then
    gcc -shared -fPIC -O2 -Wall -Werror -o "$LAB/spank_ctropts.so" "$(dirname "$SELF")/spank_ctropts.c"
    : >"$LOG/containers.jsonl"; : >"$ETC/image.env"; chmod 666 "$LOG/containers.jsonl"
    echo "required $LAB/spank_ctropts.so log=$LOG/containers.jsonl image_env=$ETC/image.env" >"$ETC/plugstack.conf"
  fi
  { # torch looks addresses up as IPv4-mapped IPv6, and warns at each connection where that has no name
    echo "127.0.0.1 localhost"
    echo "$NET.1 $host"; echo "::ffff:$NET.1 $host"
    for i in $(seq "$NODES"); do echo "$NET.1$i n$i"; echo "::ffff:$NET.1$i n$i"; done
  } >"$ETC/hosts"
}

start_munge() {
  (umask 077; dd if=/dev/urandom of="$ETC/munge.key" bs=128 count=1 status=none)
  # --force: munged otherwise refuses a socket below a folder that others may write, such as /tmp
  munged --force --key-file="$ETC/munge.key" --socket="$RUN/munge/munge.sock" --pid-file="$RUN/munge/munged.pid" \
    --log-file="$LOG/munged.log" --seed-file="$RUN/munge/seed" --num-threads=4 </dev/null >>"$LOG/munged.out" 2>&1
  wait_for 10 munged munge -n -S "$RUN/munge/munge.sock"
}

start_accounting() {
  mariadb-install-db --no-defaults --user=root --datadir="$STATE/mysql" --auth-root-authentication-method=normal \
    --skip-test-db >"$LOG/mariadb-install.log" 2>&1
  setsid mariadbd --no-defaults --user=root --datadir="$STATE/mysql" --socket="$RUN/mysql.sock" --skip-networking \
    --pid-file="$RUN/mariadbd.pid" --innodb-buffer-pool-size=64M --innodb-log-file-size=48M --innodb-lock-wait-timeout=900 \
    --performance-schema=OFF --innodb-flush-log-at-trx-commit=0 </dev/null >>"$LOG/mariadbd.log" 2>&1 &
  wait_for 60 mariadbd mariadb-admin --no-defaults -S "$RUN/mysql.sock" -u root ping
  (umask 077; cat >"$ETC/slurmdbd.conf" <<END
AuthType=auth/munge
AuthInfo=socket=$RUN/munge/munge.sock
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort=$DBD_PORT
SlurmUser=root
PidFile=$RUN/slurmdbd.pid
LogFile=$LOG/slurmdbd.log
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=slurm_acct
END
  )
  # slurmdbd has no option for MariaDB's socket; its client library reads this variable
  MYSQL_UNIX_PORT=$RUN/mysql.sock slurmdbd </dev/null >>"$LOG/slurmdbd.out" 2>&1
  wait_for 60 slurmdbd timeout 10 sacctmgr -n show cluster
  sacctmgr -i add cluster amslab >/dev/null 2>&1
  sacctmgr -i add account lab Description=lab Organization=lab >/dev/null 2>&1
  sacctmgr -i add user root,nobody Account=lab >/dev/null 2>&1
}

start_ctld() {
  slurmctld </dev/null >>"$LOG/slurmctld.out" 2>&1
  wait_for 30 slurmctld timeout 10 scontrol ping
}

# Process 1 of a node's namespaces: a shell, so that orphans are reaped.
node_init() { # N
  local name=n$1 slurmd
  mount --make-rprivate /
  mount -t proc proc /proc
  hostname "$name"
  mount --bind "$ETC/hosts" /etc/hosts
  wait_for 10 "an address for $name" sh -c "ip -4 addr show dev eth0 | grep -q $NET"
  mkdir -p "$STATE/$name"; rm -f "$RUN/slurmd.$name.pid"
  slurmd -D -N "$name" -f "$SLURM_CONF" </dev/null >>"$LOG/slurmd.$name.out" 2>&1 & slurmd=$!
  while kill -0 "$slurmd" 2>/dev/null; do wait "$slurmd" || true; done
}

start_node() { # N
  local n=$1 pid link=$BRIDGE-$1
  alive "$RUN/node.n$n.pid" "node-init $n" && return 0
  ip link del "$link" 2>/dev/null || true
  # --kill-child: when this process ends, so does process 1 of the node, and with it every process there
  setsid unshare --net --uts --mount --pid --fork --kill-child=KILL -- bash "$SELF" node-init "$n" \
    </dev/null >>"$LOG/node.n$n.out" 2>&1 &
  pid=$!; echo "$pid" >"$RUN/node.n$n.pid"
  wait_for 10 "namespaces of n$n" bash -c "[ \$(readlink /proc/$pid/ns/net) != \$(readlink /proc/self/ns/net) ]"
  ip link add "$link" type veth peer name eth0 netns "$pid"
  ip link set "$link" master "$BRIDGE" up
  nsenter -t "$pid" -n sh -c "ip link set lo up; ip link set eth0 up; ip addr add $NET.1$n/24 dev eth0"
}
kill_node() { stop "$RUN/node.n$1.pid" "node-init $1" KILL; ip link del "$BRIDGE-$1" 2>/dev/null || true; }

in_node() { # N COMMAND...
  local pid child; pid=$(cat "$RUN/node.n$1.pid") || die "n$1 is not up"; shift
  child=$(cat "/proc/$pid/task/$pid/children"); child=${child%% *}
  exec nsenter -t "$child" -n -m -u -p -- "$@"
}

usable() { # all nodes take jobs; one that an earlier fault left down is resumed
  sinfo -h -N -p batch -o '%N %T' | while read -r node state; do
    case $state in drain*|down*|inval*) scontrol update NodeName="$node" State=RESUME ;; esac
  done
  [ "$(sinfo -h -N -p batch -o %T | grep -cE '^(idle|allocated|mixed|completing)$')" = "$NODES" ]
}

up() {
  [ "$(id -u)" = 0 ] || die "needs root"
  mkdir -p "$ETC" "$RUN/munge" "$LOG" "$STATE/ctld" "$LAB/dev"; chmod 755 "$LAB" "$ETC" "$RUN" "$RUN/munge"
  write_config
  start_munge
  ip link add "$BRIDGE" type bridge; ip addr add "$NET.1/24" dev "$BRIDGE"; ip link set "$BRIDGE" up
  [ "$ACCOUNTING" = 1 ] && start_accounting
  start_ctld
  for i in $(seq "$NODES"); do start_node "$i"; done
  wait_for 30 "$NODES usable nodes" usable
}

down() {
  local file
  for file in "$RUN"/node.n*.pid; do [ -e "$file" ] && stop "$file" node-init KILL; done
  stop "$RUN/slurmctld.pid" slurmctld
  stop "$RUN/slurmdbd.pid" slurmdbd
  stop "$RUN/mariadbd.pid" mariadbd
  stop "$RUN/munge/munged.pid" munged
  for file in $(ip -br link show master "$BRIDGE" 2>/dev/null | sed 's/@.*//;s/ .*//'); do ip link del "$file" 2>/dev/null || true; done
  ip link del "$BRIDGE" 2>/dev/null || true
  [ "$CGROUP" = 1 ] && for i in $(seq "$NODES"); do
    find /sys/fs/cgroup -depth -type d -path "*/slurm_n$i*" -exec rmdir {} \; 2>/dev/null || true
  done
  return 0
}

case ${1:-} in
  up) up ;;
  down) down ;;
  usable) wait_for "${2:-60}" "$NODES usable nodes" usable ;;
  node-init) node_init "$2" ;;
  node-kill) kill_node "$2" ;;
  node-start) start_node "$2" ;;
  ctld-stop) stop "$RUN/slurmctld.pid" slurmctld ;;
  ctld-start) start_ctld ;;
  in) shift; in_node "$@" ;;
  *) sed -n '2,5p' "$SELF"; exit 2 ;;
esac
