#!/usr/bin/env bash
# Shows that every module builds by itself, as for a user who has only that one: go.work may hide that a go.mod lacks something. A module
# that finds all its imports by itself, at the versions of the workspace, is made of the very sources that `make test` builds and vets.
set -euo pipefail
cd "$(dirname "$0")/.."

# requirements prints which modules packages and their tests are made of, other than our own, at which versions.
requirements() {
	go list -deps -test -f '{{with .Module}}{{if .Version}}{{.Path}} {{.Version}}{{end}}{{end}}' "$@" | sed '\,^github.com/jobgraph/jobgraph/,d' | sort -u
}

tested=$(requirements work)
status=0
export GOWORK=off
while read -r module; do
	echo "== $module"
	alone=$(cd "$module" && requirements ./...)
	other=$(comm -23 <(echo "$alone") <(echo "$tested"))
	if [ -n "$other" ]; then
		printf 'a user gets other versions than those that are tested; run go work sync and make tidy:\n%s\n' "$other" >&2
		status=1
	fi
done < <(find . -name go.mod -not -path './.cache/*' -printf '%h\n' | sort)
exit "$status"
