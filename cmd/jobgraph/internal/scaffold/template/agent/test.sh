#!/bin/sh
# Runs the job with the scripted model, and checks what came out. Needs nothing but jobgraph in PATH, or its path in JOBGRAPH.
set -eu
cd "$(dirname "$0")"
kept=$(mktemp -d)
trap 'rm -rf "$kept"' EXIT
"${JOBGRAPH:-jobgraph}" run --embedded --trust --no-input -f job.yaml --attach notes --model fake:model.yaml --artifacts "$kept"

check() { # check FILE TEXT: the file has the text.
	grep -q "$2" "$kept/main/$1" || {
		echo "FAILED: $1 does not say: $2" >&2
		exit 1
	}
}
check minutes.md "The printer, for 240 euros"
check minutes.md "Ben: tell the neighbours"
echo "ok"
