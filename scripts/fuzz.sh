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

# fuzz runs one target. The fuzzer of Go may report the end of its time as a failure, "context deadline exceeded" with no
# input: such a run says nothing, and is made again, twice at most.
fuzz() {
	local log again
	log=$(mktemp)
	for again in 1 2 3; do
		if go test -run '^$' -fuzz "^$1\$" -fuzztime "$duration" "$2" 2>&1 | tee "$log"; then
			rm "$log"
			return 0
		fi
		if grep -q "Failing input\|panic\|--- FAIL: .*/" "$log" || ! grep -q "^ *context deadline exceeded$" "$log"; then
			break
		fi
		echo "== the fuzzer did not end in time (run $again)"
	done
	rm "$log"
	return 1
}

while IFS=: read -r file func; do
	name=${func#func }
	echo "== fuzz $name in $(dirname "$file") for $duration"
	fuzz "$name" "./$(dirname "$file")"
done <<<"$targets"
