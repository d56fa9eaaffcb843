#!/usr/bin/env bash
# Checks what each service says at /metrics, after a job has run, with promtool: names, types, help texts.
set -euo pipefail
cd "$(dirname "$0")/.."
for tool in promtool:prometheus curl:curl; do
	command -v "${tool%%:*}" >/dev/null || {
		echo "${tool%%:*} is missing; on Debian: apt-get install ${tool##*:}" >&2
		exit 1
	}
done

. scripts/stack.sh
go build -o bin/ ./services/planner ./services/scheduler ./services/expert-runner
go build -o examples/bin/ ./examples/cmd/...
start_stack --experts examples/inventory/experts
places=("up $http")
next=$((port + 2))
for service in planner scheduler expert-runner; do
	start "$service" env JOBGRAPH_HTTP_ADDR="127.0.0.1:$next" JOBGRAPH_EXPERTS=examples/inventory/experts "bin/$service"
	wait_ready "http://127.0.0.1:$next"
	places+=("$service http://127.0.0.1:$next")
	next=$((next + 1))
done
timeout "$limit" bin/jobgraph run -f examples/inventory/job.json --input out="$scratch/out" --no-input -q >/dev/null

for place in "${places[@]}"; do
	read -r name url <<<"$place"
	curl -fsS "$url/metrics" >"$scratch/$name.metrics"
	grep -q '^jobgraph_build_info' "$scratch/$name.metrics" || {
		echo "$name: no jobgraph_build_info at $url/metrics" >&2
		exit 1
	}
	promtool check metrics <"$scratch/$name.metrics"
	echo "$name: $(grep -c '^# TYPE jobgraph_' "$scratch/$name.metrics") families of ours, promtool agrees"
done
