#!/usr/bin/env bash
# Runs the program of a test with its temporary files in memory, for `go test -exec`. The tests start thousands of servers with
# stores of their own, and no test outlives its machine: a disk would only be waited for. A machine whose memory cannot be used
# so has the program run as it is. What go itself builds is large, and stays on the disk.
# Usage: [ROOM=GIB] go test -exec "$PWD/scripts/in-memory.sh" …
set -euo pipefail
least=$((${ROOM:-1} << 20)) # KiB that have to be free.

# usable says whether a folder has the room, and lets programs run.
usable() {
	local free
	free=$(df --output=avail "$1" | tail -n 1) && [ "${free:-0}" -ge "$least" ] || return 1
	free=$(awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo) && [ "${free:-0}" -ge $((2 * least)) ] || return 1
	folder=$(mktemp -d "$1/jobgraph.XXXXXX") && chmod 711 "$folder" || return 1 # Some tests run programs as another user.
	printf '#!/bin/sh\n' >"$folder/try" && chmod +x "$folder/try" && "$folder/try" && rm "$folder/try"
}

folder=
trap 'if [ -n "$folder" ]; then chmod -R u+w "$folder" && rm -rf "$folder"; fi' EXIT
if usable /dev/shm 2>/dev/null; then
	export TMPDIR=$folder GOTMPDIR=$folder # Of the second, testing makes its folders when it is set.
fi
"$@"
