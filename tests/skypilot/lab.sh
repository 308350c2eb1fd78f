#!/bin/bash
# The first process of the lab's own mount and PID namespace (lab.py starts it): a two-node Slurm, a login node with sshd, and a
# SkyPilot API server. When this process dies, the kernel ends every other one and takes the mounts with it.
# Environment: LAB (its directory, written by lab.py), REPOSITORY, VENV (where SkyPilot is), SSHD_PORT, AWS_PORT.
set -euo pipefail
export PATH=$VENV/bin:/usr/sbin:/usr/bin:/sbin:/bin

mount --bind "$LAB/etc/passwd" /etc/passwd # root's home is in the lab: ssh, Slurm and SkyPilot write there
mount --bind "$LAB/etc/hosts" /etc/hosts   # sky1, sky2
mount --bind "$LAB/slurm" /etc/slurm
names=$(readlink -m /etc/resolv.conf) # systemd keeps it under /run
cp "$names" "$LAB/etc/resolv.conf" 2>/dev/null || true
mount -t tmpfs lab /run && mkdir /run/sshd # sshd asks for it, at each connection
if [ ! -e "$names" ]; then mkdir -p "${names%/*}" && cp "$LAB/etc/resolv.conf" "$names"; fi
case $REPOSITORY in /tmp/*) # a clone under /tmp stays where it is
  mkdir -p "$LAB$REPOSITORY" && mount --bind "$REPOSITORY" "$LAB$REPOSITORY" ;;
esac
mount --rbind "$LAB/tmp" /tmp # SkyPilot and its clusters leave much there
mount --bind "$LAB/shim/curl" /usr/bin/curl # answers for astral.sh with the uv of $VENV

daemon() { # NAME COMMAND...: in the background, output in a log; its end is the end of the lab
  local name=$1; shift
  { "$@" >"$LAB/log/$name.log" 2>&1 </dev/null || true; echo "$name ended" >>"$LAB/log/lab.log"; } &
}
node() { # each node has its own hostname, as SkyPilot and torchrun expect
  # shellcheck disable=SC2016 # $1 is the inner shell's
  daemon "slurmd-$1" unshare --uts --mount bash -c 'hostname "$1" && exec slurmd -D -N "$1"' node "$1"
}

daemon munged munged --foreground --force --key-file="$LAB/munge/key" --socket="$LAB/munge/sock" \
  --pid-file="$LAB/munge/pid" --log-file="$LAB/log/munged.log" --seed-file="$LAB/munge/seed"
daemon slurmctld slurmctld -D
node sky1
node sky2
daemon sshd /usr/sbin/sshd -D -e -p "$SSHD_PORT" -f "$LAB/ssh/sshd_config"
daemon moto moto_server -H 127.0.0.1 -p "$AWS_PORT"
if [ "${SKYPILOT_API_SERVER_LOCAL_PORT:-}" ]; then
  sky api start >"$LAB/log/api_start.log" 2>&1 </dev/null
fi
while :; do wait -n || true; sleep 1; done
