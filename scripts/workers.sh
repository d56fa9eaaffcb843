#!/usr/bin/env bash
# Proves that a worker in another language, with nothing of ours linked, takes work and reports: the worker in
# Python speaks to the bus over its own socket.
set -euo pipefail
cd "$(dirname "$0")/.."
for tool in python3 curl; do
	command -v "$tool" >/dev/null || {
		echo "$tool is missing; on Debian: apt-get install $tool" >&2
		exit 1
	}
done
python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read(), sys.argv[1])' examples/workers/worker.py

. scripts/stack.sh
mkdir "$scratch/experts"
cat >"$scratch/experts/counter.md" <<'CARD'
---
name: Word Counter
description: Counts the words of a text
kind: nats
pool: python
timeout: 30s
---
A worker in Python.
CARD
start_stack --experts "$scratch/experts"
start worker python3 examples/workers/worker.py python

for text in "one two one" "three"; do
	timeout "$limit" bin/jobgraph run "Count the words" --expert "Word Counter" --input text="$text" --no-input -q -o json >"$scratch/job.json"
	python3 - "$scratch/job.json" "$text" <<'CHECK'
import json, sys
job = open(sys.argv[1]).read()
want = '"words":%d' % len(sys.argv[2].split())
if want not in job.replace(" ", "").replace("\\", ""):
    sys.exit("result of the worker is not in the job: want %s in\n%s" % (want, job))
json.loads(job)
CHECK
	echo "the worker in Python counted: $text"
done
