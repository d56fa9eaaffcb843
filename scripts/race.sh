#!/usr/bin/env bash
# Tests all modules with the race detector, except packages where it has nothing to find: if neither the package, nor its tests, nor any
# package linked with them starts a goroutine, serves HTTP or starts a program, a test has one goroutine, and no two accesses can race.
# The list is made from the sources, each time; `make test` runs them all.
# Usage: [ATONCE=N] [LONGEST=PACKAGES] scripts/race.sh, or scripts/race.sh --list for the packages that are tested. N packages are tested
# at once, those of LONGEST first.
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# What starts a goroutine, or has the standard library start one.
starts='^[^/"`]*(\bgo +[A-Za-z_(]|\.Go\(|AfterFunc\(|\.Parallel\()|^[^/]*"(net/http|net/http/httptest|os/exec|os/signal)"'

# concurrent prints the packages, tests included, whose own files have it. cmp and rapid start goroutines, which share no memory of ours.
concurrent() {
	go list -deps -test -f '{{if not .Standard}}{{range .GoFiles}}{{$.ImportPath}}	{{$.Dir}}/{{.}}
{{end}}{{end}}' work | grep -vE '^$|^github\.com/google/go-cmp/|^pgregory\.net/rapid	|\.test	' >"$scratch/files"
	cut -f 2 "$scratch/files" | sort -u | { xargs -d '\n' grep -lE "$starts" || [ $? -eq 123 ]; } >"$scratch/starts"
	awk -F '\t' 'NR == FNR { starts[$1]; next } $2 in starts { print $1 }' "$scratch/starts" "$scratch/files" | sort -u
}

# raced prints each package whose test is linked with a concurrent one, but for the house and its measures, which read the tree in one goroutine.
raced() {
	concurrent >"$scratch/concurrent"
	go list -test -f '{{.ImportPath}}	{{join .Deps "	"}}' work | grep -E '^[^	]*\.test	' |
		awk -F '\t' 'NR == FNR { concurrent[$1]; next } { for (i = 2; i <= NF; i++) if ($i in concurrent) { sub(/\.test$/, "", $1); print $1; next } }' "$scratch/concurrent" - |
		grep -vE '/cmd/internal/(lint|measure)$'
}

raced >"$scratch/raced"
if [ "${1:-}" = --list ]; then
	cat "$scratch/raced"
	exit
fi

# Scripts start more than a thousand programs, and each would need a second to start under the detector: they are plain ones. The stacks
# and clients in the tests' own processes are under it; scripts without any are left to `make test`. A raced program sleeps for a second
# before it exits, unless told otherwise.
plain=$PWD/.cache/plain
go test -vet=off -ldflags '-s -w' -c -o "$plain/jobgraph" ./cmd/jobgraph
ln -f "$plain/jobgraph" "$plain/mcpserver"
ln -f "$plain/jobgraph" "$plain/gateway"
export GORACE="atexit_sleep_ms=0 ${GORACE:-}" JOBGRAPH_TEST_PROGRAMS="$plain"

# Nor can helpers of sandboxed programs be told: their environment is clean. They are plain, too, but where the helpers themselves are tested.
internal=github.com/jobgraph/jobgraph/services/expert-runner/internal
helper=(-ldflags "-X '$internal/process.self=$plain/jobgraph'" -ldflags "$internal/process=" -ldflags "$internal/sandbox=")

# Nor does the detector see what one test has the go command make and run.
skip='^TestANewKindIsOneFileAndOneLine$'

# -short makes large workloads smaller and repeats random ones less often, and leaves out none: what more work of the same kind shows is
# no race but an outcome, which `make test` proves in full.

# Only the detector needs C: what tests compile themselves would all be compiled once more with it.
# shellcheck disable=SC2046,SC2086 # one argument per package
CGO_ENABLED=1 go test -race "${helper[@]}" -short -skip "$skip" -vet=off -timeout 30m -exec "env CGO_ENABLED=0 GOGC=${TEST_GOGC:-400} $PWD/scripts/in-memory.sh" -p "${ATONCE:-3}" ${LONGEST:-} $(cat "$scratch/raced")
