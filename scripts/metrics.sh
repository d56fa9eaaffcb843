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

# What has to be there once a model has planned a goal and reported of it, each behind jobgraph_.
planned=(
	planner_plans_total planner_drafts_total planner_enough_context_total planner_steps planner_rounds
	planner_duration_seconds planner_results_total llm_requests_total llm_tokens_total llm_request_duration_seconds
)

. scripts/stack.sh
cat >"$scratch/echo.md" <<'EXPERT'
---
name: Echo
description: says done
kind: command
tags: [default]
sandbox: best-effort
command: [sh, -c, 'cat >/dev/null; echo "\"done\""']
---
EXPERT
start_stack --experts examples/inventory/experts --experts "$scratch/echo.md" --model fake
# The planners below have no model, so this one is planned before they start.
timeout "$limit" bin/jobgraph run --profile research --no-input -q 'Say what is done' >/dev/null
places=("up $http")
next=$((port + 2))
for service in planner scheduler expert-runner gateway; do
	start "$service" env JOBGRAPH_HTTP_ADDR="127.0.0.1:$next" JOBGRAPH_START_TOKEN=metrics-of-every-service JOBGRAPH_EXPERTS=examples/inventory/experts "bin/$service"
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
	if [ "$name" = up ]; then
		for family in "${planned[@]}"; do
			grep -q "^# TYPE jobgraph_$family " "$scratch/up.metrics" || {
				echo "$name: no jobgraph_$family at $url/metrics after a goal was planned" >&2
				exit 1
			}
		done
	fi
	echo "$name: $(grep -c '^# TYPE jobgraph_' "$scratch/$name.metrics") families of ours, promtool agrees"
done
