#!/usr/bin/env bash
# Writes the profile by which images are compiled: what server and services spend their time on in the workloads of `jobgraph bench`.
# Usage: scripts/pgo.sh FILE
set -euo pipefail
cd "$(dirname "$0")/.."
file=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
go build -o "$dir/jobgraph" ./cmd/jobgraph
for workload in "random 1000" "fan 10000" "chain 5000"; do
	read -r name size <<<"$workload"
	mkdir "$dir/$name"
	"$dir/jobgraph" bench --workload "$name" --size "$size" --rounds 3 --side pure,claimed --mode services --cpu-profile "$dir/$name" >/dev/null
done
rm "$dir"/*/*-trial.pprof # The driver of a measurement does not run in production.
go tool pprof -proto -output="$file" "$dir"/*/*.pprof 2>/dev/null
echo "$file: $(stat -c %s "$file") bytes of $(find "$dir" -name '*.pprof' | wc -l) profiles"
