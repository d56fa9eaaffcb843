#!/usr/bin/env bash
# Runs the tests behind one build tag, and only those. Finding none is an error: a suite that has lost its
# tests must not look like one that passes.
# Usage: scripts/tagged.sh TAG [go test flag…]
set -euo pipefail
cd "$(dirname "$0")/.."
tag=${1:?usage: scripts/tagged.sh TAG}
shift
files=$(grep -rlE --include='*_test.go' "^//go:build (.*[^a-z])?$tag([^a-z]|\$)" cmd examples pkg services tools || true)
if [ -z "$files" ]; then
	echo "no test behind the build tag $tag: nothing would be tested" >&2
	exit 1
fi
# shellcheck disable=SC2086 # one argument per file
names=$(grep -hEo '^func Test[A-Za-z0-9_]*' $files | sed 's/^func //' | sort -u | paste -sd '|')
# shellcheck disable=SC2086
dirs=$(dirname $files | sort -u)
# shellcheck disable=SC2086
exec go test -vet=off -exec "$PWD/scripts/in-memory.sh" -tags "$tag" -count=1 -timeout 30m -v -run "^($names)\$" "$@" $(printf './%s ' $dirs)
