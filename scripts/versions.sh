#!/usr/bin/env bash
# Runs services of the release before beside those of this tree: every mix of scheduler, planner and runner, then a rolling upgrade and
# a rollback, one process at a time, under a load of quick jobs, of programs and of a worker in Python. Nothing may be lost, repeated
# unasked or left in quarantine. Takes about twice DURATION (2m); RELEASE is the commit of the release before.
# With BEFORE=DIR the programs of the release before are taken from there.
set -euo pipefail
cd "$(dirname "$0")/.."
release=${RELEASE:-15d5fad}
duration=${DURATION:-2m}
command -v python3 >/dev/null || {
	echo "python3 is missing; on Debian: apt-get install python3" >&2
	exit 1
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
before=${BEFORE:-}
if [ -z "$before" ]; then
	git cat-file -e "$release^{commit}" 2>/dev/null || {
		echo "commit $release, the release before, is not in this clone. A shallow one gets it with: git fetch --unshallow" >&2
		echo "Or give a folder with its planner, scheduler and expert-runner: BEFORE=DIR $0" >&2
		exit 1
	}
	before=$scratch/bin
	mkdir "$scratch/tree" "$before"
	git archive "$release" | tar -x -C "$scratch/tree"
	(cd "$scratch/tree" && go build -o "$before/" ./services/planner ./services/scheduler ./services/expert-runner)
fi
make --no-print-directory build
# A shim would look for its interpreter in the environment, which the worker does not get.
python=$(python3 -c 'import sys; print(sys.executable)')
bin/jobgraph bench --chaos --rolling --other "$before" --worker "$python $PWD/examples/workers/worker.py" --duration "$duration" "$@"
