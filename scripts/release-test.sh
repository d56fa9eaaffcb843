#!/usr/bin/env bash
# Makes a release in a clone of this repository, turns its tags into a module proxy in a folder, and gets client, CLI and services from there
# as a user would: in an empty folder, by `go get` and `go install`.
set -euo pipefail
cd "$(dirname "$0")/.."
version=v0.99.0
base=github.com/jobgraph/jobgraph
scratch=$(mktemp -d)
trap 'chmod -R u+w "$scratch" && rm -rf "$scratch"' EXIT
git clone -q . "$scratch/clone"
git -C "$scratch/clone" config user.name release
git -C "$scratch/clone" config user.email release@localhost
"$scratch/clone/scripts/release.sh" "$version"
if "$scratch/clone/scripts/release.sh" "$version" 2>/dev/null; then
	echo "the same release can be made twice" >&2
	exit 1
fi
go run ./cmd/internal/modproxy "$scratch/clone" "$version" "$scratch/proxy"

# Other modules come from what has been downloaded before, else from the proxy of this machine.
export GOPROXY="file://$scratch/proxy,file://$(go env GOMODCACHE)/cache/download,$(go env GOPROXY)"
export GONOSUMDB="$base,$base/*" GOFLAGS="-mod=mod -trimpath" GOWORK=off GOMODCACHE="$scratch/modules" GOBIN="$scratch/bin" CGO_ENABLED=0
mkdir "$scratch/user" && cd "$scratch/user"
go mod init example.com/user 2>/dev/null
cat >main.go <<'EOF'
package main

import (
	"context"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
)

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := client.Connect(ctx, bus.Options{URL: "nats://127.0.0.1:1"})
	fmt.Println(err)
}
EOF
go get "$base/pkg/client@$version"
go build -o user . && ./user | grep -q "bus"
go install "$base/cmd/jobgraph@$version"
for service in planner scheduler expert-runner gateway; do
	go install "$base/services/$service@$version"
done
go install "$base/tools/jobgraph-tools@$version"
says() { # says PROGRAM WANTED: what it says of its version has to have that.
	local said
	said=$("$scratch/bin/$1" version)
	echo "$said"
	[[ $said == *"$2"* ]] || { echo "$1 does not say $2" >&2; exit 1; }
}
cd "$scratch"
says jobgraph "jobgraph $version "
for service in planner scheduler expert-runner gateway; do
	says "$service" "\"$version\""
done
says jobgraph-tools "jobgraph-tools $version"
echo "client, CLI and services of $version can be had from a module proxy"
