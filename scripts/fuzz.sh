#!/usr/bin/env bash
# Runs each fuzz target of the workspace for a short time, so that it keeps finding and keeps working. Two run at a time, each
# on half the machine. Our own packages are instrumented: their branches guide the fuzzer, and those of others, which
# `go test -fuzz` would compile once more, do not.
# Usage: scripts/fuzz.sh [DURATION]
set -euo pipefail
cd "$(dirname "$0")/.."
export duration=${1:-10s}
targets=$(grep -rEo --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' cmd examples pkg services tools || true)
if [ -z "$targets" ]; then
	echo "no fuzz target found in cmd, examples, pkg, services, tools" >&2
	exit 1
fi
cores=$(nproc)
export workers=$((cores > 1 ? cores / 2 : 1)) cache=$PWD/.cache/fuzz
# shellcheck disable=SC2046 # one argument per folder
go test -vet=off -c -ldflags '-s -w' -gcflags 'github.com/jobgraph/jobgraph/...=-d=libfuzzer' -o "$cache/" $(printf '%s\n' "$targets" | sed 's,^,./,; s,/[^/]*$,,' | sort -u)

# fuzz runs one target, given as FILE:func NAME, and prints what it said when it is over. The fuzzer of Go may report the end
# of its time as a failure, "context deadline exceeded" with no input: such a run says nothing, and is made again, four times at most.
fuzz() {
	local dir=${1%/*} name=${1##*:func } log again status=1
	log=$(mktemp)
	echo "== fuzz $name in $dir for $duration" >"$log"
	for again in 1 2 3 4 5; do
		local begun
		begun=$(wc -c <"$log")
		if (cd "$dir" && "$cache/${dir##*/}.test" -test.run '^$' -test.fuzz "^$name\$" -test.fuzztime "$duration" -test.parallel "$workers" \
			-test.fuzzcachedir "$cache/$dir" -test.timeout 30m -test.paniconexit0) >>"$log" 2>&1; then
			status=0
			break
		fi
		if tail -c +"$((begun + 1))" "$log" | grep -q "Failing input\|panic\|--- FAIL: .*/" ||
			! tail -c +"$((begun + 1))" "$log" | grep -q "^ *context deadline exceeded$"; then
			break
		fi
		echo "== the fuzzer did not end in time (run $again)" >>"$log"
	done
	cat "$log"
	rm "$log"
	return "$status"
}
export -f fuzz

printf '%s\n' "$targets" | xargs -d '\n' -P 2 -I '{}' bash -c 'fuzz "$1"' fuzz '{}'
