#!/usr/bin/env bash
# Makes a release of every module: a commit beside the branch, in which each go.mod requires its siblings at that version instead of
# replacing them by folders (`go install …@version` refuses replacements), and a tag for each module, the lowest first. The branch and the
# work tree stay as they are; publishing is `git push --tags`.
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:?usage: scripts/release.sh vX.Y.Z}
base=github.com/jobgraph/jobgraph
modules="pkg/events pkg services/planner services/scheduler services/expert-runner services/gateway tools cmd" # From the lowest on.
[[ $version =~ ^v[01]\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] || {
	echo "VERSION=$version: want v0.Y.Z or v1.Y.Z, as in v0.4.0 or v0.4.0-rc.1" >&2
	exit 2
}
if [ -n "$(git status --porcelain)" ]; then
	echo "the work tree has changes: commit or stash them, a release is made of a commit" >&2
	exit 1
fi
for module in $modules; do
	if git rev-parse -q --verify "refs/tags/$module/$version" >/dev/null; then
		echo "there is a tag $module/$version already: choose another version" >&2
		exit 1
	fi
done
scratch=$(mktemp -d)
trap 'git worktree remove --force "$scratch/tree" 2>/dev/null || true; rm -rf "$scratch"' EXIT
git worktree add -q --detach "$scratch/tree" HEAD
(
	cd "$scratch/tree"
	for module in $modules; do
		for sibling in $modules; do
			if grep -q "$base/$sibling v" "$module/go.mod"; then
				(cd "$module" && GOWORK=off go mod edit -dropreplace "$base/$sibling" -require "$base/$sibling@$version")
			fi
		done
	done
	git commit -qam "Release $version"
	for module in $modules; do
		git tag -a -m "$module $version" "$module/$version"
	done
)
echo "tagged $(echo "$modules" | sed "s#[^ ]*#&/$version#g")"
echo "publish with: git push origin $(echo "$modules" | sed "s#[^ ]*#&/$version#g")"
