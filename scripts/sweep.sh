#!/usr/bin/env bash
# Kills every service at every boundary. The tests are parted among processes that run beside each other: each has its own
# virtual time, and the bus's client can be in one at a time. What no part names runs in the last one.
set -euo pipefail
cd "$(dirname "$0")/.."
export GOGC=${GOGC:-400} # Each process starts hundreds of servers, and needs less than 100 MB.
parts=('^TestZeroTokensTwice$' '^TestCrashSweep$/^[a-f]/^scheduler$' '^TestCrashSweep$/^[g-z]/^scheduler$')
logs=$(mktemp -d)
beside=()
trap 'kill "${beside[@]}" 2>/dev/null || true; rm -rf "$logs"' EXIT
for part in "${!parts[@]}"; do
	scripts/tagged.sh sweep -run "${parts[part]}" >"$logs/$part" 2>&1 &
	beside+=("$!")
done
status=0
scripts/tagged.sh sweep -skip "$(IFS='|' && echo "${parts[*]}")" || status=$?
for part in "${!parts[@]}"; do
	wait "${beside[part]}" || status=$?
	cat "$logs/$part"
done
exit "$status"
