#!/bin/sh
# Runs the job, and checks what came out. Needs nothing but jobgraph in PATH, or its path in JOBGRAPH.
set -eu
cd "$(dirname "$0")"
kept=$(mktemp -d)
trap 'rm -rf "$kept"' EXIT
"${JOBGRAPH:-jobgraph}" run --embedded --trust --no-input -f job.yaml --attach texts --artifacts "$kept"

cat >"$kept/wanted" <<'END'
# Words
- bees.txt: 15 words
- ships.txt: 11 words

# Longest words
- lighthouses
- automatic
- beekeeper
END
diff "$kept/wanted" "$kept/report/report.md" || {
	echo "FAILED: the report is not as wanted" >&2
	exit 1
}
echo "ok"
