#!/usr/bin/env bash
# Builds and vets every module by itself: go.work may hide that a go.mod lacks something.
set -euo pipefail
cd "$(dirname "$0")/.."
export GOWORK=off
find . -name go.mod -not -path './.cache/*' -printf '%h\n' | sort | while read -r module; do
	echo "== $module"
	(cd "$module" && go build ./... && go vet ./...)
done
