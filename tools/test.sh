#!/usr/bin/env bash
# usage: test.sh MARKS [PYTEST OPTION...]
#
# All tests that MARKS (pytest's -m) chooses. Those of the two clusters come first, Slurm's and SkyPilot's at the same time,
# since they mostly wait; then those that want the machine for themselves. A failure stops nothing; it is told at the end.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
marks=$1
shift
sky=.lab/sky/venv failed=()

# where an option (-k) leaves nothing to run, pytest exits with 5
tests() { "$@" || [ $? = 5 ]; }

# SkyPilot pins other versions than AutoModel, so that its tests have a Python of their own: made (1 GB) where they can run
skypilot() {
  local lacks
  lacks=$(.venv/bin/python -m tests.skypilot.lab lacks) || return
  if [ -n "$lacks" ] && [ "${CI-}" != true ]; then echo "SkyPilot tests skipped: $lacks"; return; fi
  make --no-print-directory "$sky/ready" && tests "$sky/bin/python" -m pytest -m skypilot tests/skypilot "$@"
}

mkdir -p .lab
set -m # a process group of its own, to be ended whole
skypilot "$@" >.lab/skypilot.log 2>&1 &
beside=$!
set +m
trap 'kill -- -$beside 2>/dev/null' EXIT
tests .venv/bin/pytest -m "$marks" tests/slurm tests/ssh "$@" || failed+=("Slurm")
echo "== SkyPilot (.lab/skypilot.log)"
wait "$beside" || failed+=("SkyPilot")
cat .lab/skypilot.log
tests .venv/bin/pytest -m "$marks" --ignore tests/slurm --ignore tests/ssh "$@" || failed+=("the others")
[ ${#failed[@]} = 0 ] || { echo "failed: ${failed[*]}"; exit 1; }
