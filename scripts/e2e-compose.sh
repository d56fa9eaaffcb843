#!/usr/bin/env bash
# Proves the containers: starts bus and services from their images, submits jobs from outside, restarts each
# container in turn while jobs run, and checks that every job finishes and that its log folds to what is stored; that
# files are found on this machine, health and metrics on its ports, that a job with a model, whose key lies in a
# file, ends as at home, and that a job that is sent to the gateway over HTTP does. Then it does the example once more with
# docker-compose.secure.yml, where everyone has a key, and a stranger gets nothing. Takes everything down again.
#
# Without a docker command there is nothing to prove and it says so; with one but without an engine it says so
# loudly. REQUIRE_ENGINE=1 makes both an error.
set -euo pipefail
cd "$(dirname "$0")/.."

no_engine() {
	echo "!!! $1: THE CONTAINERS ARE NOT TESTED"
	[ -z "${REQUIRE_ENGINE:-}" ] || exit 1
	exit 0
}
command -v docker >/dev/null || no_engine "no docker command"
docker info >/dev/null 2>&1 || no_engine "docker is installed but no engine answers"

if docker compose version >/dev/null 2>&1; then
	compose=(docker compose)
elif command -v docker-compose >/dev/null; then
	compose=(docker-compose)
else
	echo "an engine runs, but neither docker compose nor docker-compose is installed" >&2
	exit 1
fi
project=jobgraph-e2e-$$
compose+=(-p "$project")

# free_port prints the first port from one on that nothing on this machine listens to.
free_port() {
	local port=$1
	while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do port=$((port + 1)); done
	echo "$port"
}

export JOBGRAPH_NATS_IMAGE=jobgraph/nats:dev JOBGRAPH_NATS_PORT=${JOBGRAPH_NATS_PORT:-$(free_port 14222)}
export NATS_URL=nats://127.0.0.1:$JOBGRAPH_NATS_PORT JOBGRAPH_NATS_MONITOR_PORT=${JOBGRAPH_NATS_MONITOR_PORT:-$(free_port 18222)}
room=$(mktemp -d)
mkdir "$room/out" "$room/secrets"
echo scripted-key >"$room/secrets/openai"
JOBGRAPH_USER=$(id -u):$(id -g)
JOBGRAPH_GATEWAY_PORT=${JOBGRAPH_GATEWAY_PORT:-$(free_port 18420)}
export COMPOSE_PROFILES=http JOBGRAPH_TOKEN=a-token-of-the-containers JOBGRAPH_GATEWAY_PORT
export JOBGRAPH_OUT=$room/out JOBGRAPH_SECRETS=$room/secrets JOBGRAPH_USER OPENAI_API_KEY_FILE=/run/secrets/openai OPENAI_MODEL=scripted OPENAI_BASE_URL=http://model:18080/v1
unset OPENAI_API_KEY
rounds=${ROUNDS:-3}
limit=${LIMIT:-120}

down() {
	local status=$?
	if [ "$status" -ne 0 ]; then
		"${compose[@]}" ps || true
		"${compose[@]}" logs --no-color --tail 40 || true
	fi
	docker rm -f "$project-model" >/dev/null 2>&1 || true
	"${compose[@]}" down -v --timeout 10 >/dev/null 2>&1 || true
	rm -rf "$room"
	exit "$status"
}

jobgraph() { timeout "$limit" bin/jobgraph "$@"; }

# exchange prints what HOST:PORT answers to a GET.
exchange() {
	exec 3<>"/dev/tcp/${1%:*}/${1##*:}"
	printf 'GET %s HTTP/1.0\r\n\r\n' "$2" >&3
	cat <&3
	exec 3>&-
}

# submit prints the id of a new job over the folder that the containers see.
submit() {
	jobgraph submit -f examples/inventory/job.json --input path=/examples --input out=/out --no-input -q -o name
}

# finish waits until each job is finished, and folds its log again; the exit code is that of the job.
finish() {
	local job
	for job in "$@"; do
		jobgraph watch "$job" --no-input >/dev/null || {
			echo "job $job ended with exit code $?:" >&2
			jobgraph get "$job" >&2 || true
			return 1
		}
		jobgraph replay "$job" --diff -q >/dev/null || {
			echo "the log of job $job does not fold to its stored state" >&2
			return 1
		}
		echo "finished $job"
	done
}

# over_http prints the answer of the gateway to a request: METHOD PATH [BODY].
over_http() {
	curl -sS --fail-with-body --max-time "$limit" -X "$1" -H "Authorization: Bearer $JOBGRAPH_TOKEN" ${3:+-d "$3"} "http://127.0.0.1:$JOBGRAPH_GATEWAY_PORT$2"
}

# by_gateway runs the example with a request over HTTP, and waits there for its end.
by_gateway() {
	local request id reply
	request=$(jq -c '. + {inputs: ((.inputs // {}) + {path: "/examples", out: "/out"})}' examples/inventory/job.json)
	id=$(over_http POST /api/v1/jobs "$request" | jq -r .job_id)
	reply=$(over_http GET "/api/v1/jobs/$id/wait?timeout=${limit}s")
	case $reply in *'"status":"FINISHED"'*) echo "finished $id" ;; *) echo "job $id ended otherwise: $reply" >&2 && return 1 ;; esac
}

# ready waits until each service says of itself that it is healthy.
ready() {
	local service container deadline=$((SECONDS + limit))
	for service in planner scheduler expert-runner gateway; do
		container=$("${compose[@]}" ps -q "$service")
		until [ "$(docker inspect -f '{{.State.Health.Status}}' "$container")" = healthy ]; do
			if [ "$SECONDS" -ge "$deadline" ]; then
				echo "$service is not healthy after $limit s" >&2
				return 1
			fi
			sleep 0.5
		done
	done
}

PGO=off scripts/images.sh # What is proved here is that they run.
make --no-print-directory build
trap down EXIT
"${compose[@]}" up -d
docker run -d --name "$project-model" --network "${project}_default" --network-alias model -v "$PWD/examples:/examples:ro" \
	"jobgraph/jobgraph:${JOBGRAPH_VERSION:-dev}" model serve --listen 0.0.0.0:18080 --script /examples/report/model.yaml >/dev/null
ready
echo "== a job on a fresh stack, whose files are found here"
finish "$(submit)"
for file in report.md graph.svg graph.json; do test -s "$room/out/$file"; done
echo "== health and metrics on ports of this machine"
for service in planner scheduler expert-runner gateway; do
	address=$("${compose[@]}" port "$service" 8080)
	case $address in 127.0.0.1:*) ;; *) echo "$service is published on $address" >&2 && exit 1 ;; esac
	reply=$(exchange "$address" /readyz)
	case $reply in HTTP/1.?" 200 "*) ;; *) echo "$service is not ready: $reply" >&2 && exit 1 ;; esac
	reply=$(exchange "$address" /metrics)
	case $reply in *jobgraph_*) ;; *) echo "$service has no metrics: $reply" >&2 && exit 1 ;; esac
done
echo "== a job with a model and the experts that come with the program"
jobgraph run -f examples/report/job.yaml --attach examples/report/minutes --no-input -q >"$room/report" || {
	cat "$room/report" >&2
	exit 1
}
grep -q '(https://town.example/council/2026-05)' "$room/report"
grep -q '(https://energy.example/schools) (not verified)' "$room/report"
echo "== a job over HTTP"
by_gateway
[ "$(curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$JOBGRAPH_GATEWAY_PORT/api/v1/jobs")" = 401 ]
for container in expert-runner scheduler planner nats; do
	echo "== restart $container while jobs run"
	jobs=()
	for _ in $(seq "$rounds"); do
		jobs+=("$(submit)")
	done
	"${compose[@]}" kill -s KILL "$container" >/dev/null 2>&1
	if [ "$container" != nats ]; then # While one of them is away, the others admit jobs, or keep them until it is back.
		jobs+=("$(submit)")
	fi
	"${compose[@]}" up -d >/dev/null 2>&1
	finish "${jobs[@]}"
done
ready
echo "== the same with a key and a role for everyone"
docker rm -f "$project-model" >/dev/null
"${compose[@]}" down -v --timeout 10 >/dev/null 2>&1
export JOBGRAPH_KEYS=$room/keys
mkdir "$JOBGRAPH_KEYS"
compose+=(-f docker-compose.yml -f docker-compose.secure.yml)
"${compose[@]}" up -d
ready
if jobgraph list >/dev/null 2>&1; then
	echo "a stranger is let onto the bus" >&2
	exit 1
fi
set -a
. "$JOBGRAPH_KEYS/jobgraph/client.env"
NATS_URL=tls://127.0.0.1:$JOBGRAPH_NATS_PORT
set +a
finish "$(submit)"
by_gateway
jobgraph doctor
echo "== all jobs finished; every container was killed once"
