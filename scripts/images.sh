#!/usr/bin/env bash
# Builds the container images from static binaries that are compiled here: jobgraph/<program>:dev for each of
# our programs, and jobgraph/nats:dev from the nats-server module. GOARCH chooses another machine.
set -euo pipefail
cd "$(dirname "$0")/.."
version=${VERSION:-dev}
tag=${JOBGRAPH_VERSION:-dev}
arch=${GOARCH:-$(go env GOARCH)}
# The profile that the compiler optimises by, `off` for none: with one everything is compiled a second time.
pgo=${PGO:-$PWD/deploy/jobgraph.pgo}
if ! docker info >/dev/null 2>&1; then
	echo "no Docker engine answers: start one, or use bin/ without containers (make build)" >&2
	exit 1
fi

# compile NAME FOLDER PACKAGE puts the program into the root of its image; with_tools NAME puts jobgraph-tools beside it.
compile() {
	local name=$1 folder=$2 package=$3 root=$PWD/bin/image/$1/root
	rm -rf "bin/image/$name"
	mkdir -p "$root/data" "$root/tmp"
	chmod 1777 "$root/tmp"
	(cd "$folder" && CGO_ENABLED=0 GOOS=linux GOARCH=$arch go build -trimpath -pgo="$pgo" -ldflags "-s -w" -o "$root/program" "$package")
	if [ -r /etc/ssl/certs/ca-certificates.crt ]; then
		mkdir -p "$root/etc/ssl/certs"
		cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
	fi
}

with_tools() {
	(cd tools && CGO_ENABLED=0 GOOS=linux GOARCH=$arch go build -trimpath -tags minimal -ldflags "-s -w" -o "$OLDPWD/bin/image/$1/root/jobgraph-tools" ./jobgraph-tools)
}

# image NAME DOCKERFILE builds an image; BuildKit is neither needed nor used.
image() {
	echo "== image jobgraph/$1:$tag"
	DOCKER_BUILDKIT=0 docker build -q --build-arg "VERSION=$version" -t "jobgraph/$1:$tag" -f "$2" "bin/image/$1"
}

compile jobgraph cmd/jobgraph .
compile planner services/planner .
compile scheduler services/scheduler .
compile expert-runner services/expert-runner .
with_tools jobgraph
with_tools expert-runner
compile gateway services/gateway .
compile nats cmd/jobgraph github.com/nats-io/nats-server/v2
for name in jobgraph planner scheduler expert-runner gateway; do
	image "$name" deploy/Dockerfile
done
image nats deploy/nats.Dockerfile

# The example experts run inside the expert-runner's container, so they have to be static too.
CGO_ENABLED=0 GOOS=linux GOARCH=$arch go build -o examples/bin/ ./examples/cmd/...
