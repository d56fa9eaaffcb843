#!/usr/bin/env bash
# Runs each Go benchmark once: not to measure, but to notice when one no longer works.
set -euo pipefail
cd "$(dirname "$0")/.."
dirs=$(grep -rlE --include='*_test.go' '^func Benchmark' cmd examples pkg services tools | xargs -r dirname | sort -u)
if [ -z "$dirs" ]; then
	echo "no benchmark found in cmd, examples, pkg, services, tools" >&2
	exit 1
fi
# shellcheck disable=SC2086 # one argument per folder
go test -vet=off -exec "$PWD/scripts/in-memory.sh" -run '^$' -bench . -benchtime 1x -benchmem $(printf './%s ' $dirs)
