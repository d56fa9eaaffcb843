#!/usr/bin/env bash
# Proves that workers in other languages, with nothing of ours linked, take work, report, and keep the contract of the wire:
# those in Python and in shell speak to the bus over sockets of their own.
set -euo pipefail
cd "$(dirname "$0")/.."
for tool in python3 curl jq; do
	command -v "$tool" >/dev/null || {
		echo "$tool is missing; on Debian: apt-get install $tool" >&2
		exit 1
	}
done
python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read(), sys.argv[1])' examples/workers/worker.py

. scripts/stack.sh
mkdir "$scratch/experts"
card() { # card POOL NAME
	cat >"$scratch/experts/$1.md" <<CARD
---
name: $2
description: Counts the words of a text
kind: nats
pool: $1
timeout: 30s
---
A worker in another language.
CARD
}
card python "Word Counter"
card shell "Socket Counter"
start_stack --experts "$scratch/experts"
start python python3 examples/workers/worker.py python
start shell bash examples/workers/socket.sh shell

for expert in "Word Counter" "Socket Counter"; do
	for text in "one two one" "three"; do
		timeout "$limit" bin/jobgraph run "Count the words" --expert "$expert" --input text="$text" --no-input -q -o json >"$scratch/job.json"
		want=$(wc -w <<<"$text")
		jq -e --argjson want "$want" '.result.words == $want' "$scratch/job.json" >/dev/null || {
			echo "$expert: the result is not in the job: want $want words in" >&2
			cat "$scratch/job.json" >&2
			exit 1
		}
		echo "$expert counted: $text"
	done
	timeout "$limit" bin/jobgraph experts test "$expert" --goal "the quick brown fox" | tee "$scratch/checks"
	if grep -q VIOLATED "$scratch/checks"; then
		exit 1
	fi
done

# The project that `new` writes passes its own tests, and its worker works.
bin/jobgraph new "$scratch/counter" --template worker-python
(cd "$scratch/counter" && PYTHONDONTWRITEBYTECODE=1 python3 -m unittest)
sed -i 's/^name: .*/name: New Counter/' "$scratch/counter/experts/words.md"
bin/jobgraph experts register "$scratch/counter/experts/words.md"
start new python3 "$scratch/counter/worker.py" words
timeout "$limit" bin/jobgraph run "one two three" --expert "New Counter" --no-input -q -o json >"$scratch/job.json"
jq -e '.result.words == 3' "$scratch/job.json" >/dev/null
echo "the worker of a new project counted"
