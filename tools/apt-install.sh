#!/usr/bin/env bash
# Installs the Debian packages of apt-packages.txt that are missing: the real Slurm, sshd and Chromium that tests run against.
# No service is started or enabled; the tests start their own, on their own ports.
set -euo pipefail

mapfile -t wanted <"$(dirname "$0")/apt-packages.txt"
missing=()
for package in "${wanted[@]}"; do
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0
[ "$(id -u)" = 0 ] || { echo "apt-install.sh: run as root, or install: ${missing[*]}" >&2; exit 1; }

policy=/usr/sbin/policy-rc.d # what Debian's maintainer scripts ask before they start a service; 101 is no
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod +x "$policy"
  trap 'rm -f "$policy"' EXIT
fi
echo "installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null </dev/null
