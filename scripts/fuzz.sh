#!/usr/bin/env bash
# Runs each fuzz target of the workspace for a short time, so that it keeps finding and keeps working.
# Usage: scripts/fuzz.sh [DURATION]
set -euo pipefail
cd "$(dirname "$0")/.."
duration=${1:-10s}
targets=$(grep -rEo --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' cmd examples pkg services || true)
if [ -z "$targets" ]; then
	echo "no fuzz target found in cmd, examples, pkg, services" >&2
	exit 1
fi
while IFS=: read -r file func; do
	name=${func#func }
	echo "== fuzz $name in $(dirname "$file") for $duration"
	go test -run '^$' -fuzz "^$name\$" -fuzztime "$duration" "./$(dirname "$file")"
done <<<"$targets"
