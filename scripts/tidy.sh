#!/usr/bin/env bash
# Tidies every module by itself: each go.mod says where its siblings lie on disk, because `go mod tidy` ignores go.work.
set -euo pipefail
cd "$(dirname "$0")/.."
modules="pkg/events examples pkg services/planner services/scheduler services/expert-runner services/gateway tools cmd"
for module in ${*:-$modules}; do
	(cd "$module" && GOWORK=off go mod tidy)
done
