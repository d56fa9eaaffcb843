#!/usr/bin/env bash
# Tidies every module of the workspace against its siblings on disk: `go mod tidy` ignores go.work, so each
# module is tidied with the replacements of go.work given to it for that one call and taken out again.
set -euo pipefail
cd "$(dirname "$0")/.."
base=github.com/jobgraph/jobgraph
modules="pkg/events examples pkg services/planner services/scheduler services/expert-runner cmd/jobgraph"
for module in ${*:-$modules}; do
	(
		cd "$module"
		up=$(echo "$module" | sed 's#[^/]*#..#g')
		for sibling in $modules; do
			[ "$sibling" = "$module" ] || GOWORK=off go mod edit -replace "$base/$sibling=$up/$sibling"
		done
		GOWORK=off go mod tidy || status=$?
		for sibling in $modules; do
			GOWORK=off go mod edit -dropreplace "$base/$sibling"
		done
		exit "${status:-0}"
	)
done
