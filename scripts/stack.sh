# Sourced by the scripts that need a running stack: builds the programs, starts `jobgraph up` on free ports with
# an empty store, and stops by its process id whatever was started when the script ends.
#
#   . scripts/stack.sh; start_stack [flag of up…]; start NAME COMMAND…; wait_ready URL
#
# Sets scratch (a folder that is removed at the end), NATS_URL and http.

limit=${LIMIT:-60}
scratch=$(mktemp -d)
pids=()
port=$((20000 + $$ % 20000))

stop_all() {
	local status=$? pid
	for pid in "${pids[@]}"; do
		kill -TERM "$pid" 2>/dev/null || true
	done
	for pid in "${pids[@]}"; do
		wait "$pid" 2>/dev/null || true
	done
	if [ "$status" -ne 0 ]; then
		tail -n 40 "$scratch"/*.log >&2 || true
	fi
	rm -rf "$scratch"
	exit "$status"
}
trap stop_all EXIT

# start NAME COMMAND… runs a program in the background; its output goes to NAME.log in scratch.
start() {
	local name=$1
	shift
	"$@" >"$scratch/$name.log" 2>&1 &
	pids+=($!)
}

# wait_ready URL waits until a /readyz answers 200.
wait_ready() {
	local deadline=$((SECONDS + limit))
	until curl -fsS -o "$scratch/ready" "$1/readyz" 2>"$scratch/ready.log"; do
		if [ "$SECONDS" -ge "$deadline" ]; then
			echo "$1 is not ready after $limit s" >&2
			return 1
		fi
		sleep 0.2
	done
}

start_stack() {
	make --no-print-directory build # All phases link the same programs: once.
	export NATS_URL=nats://127.0.0.1:$port
	http=http://127.0.0.1:$((port + 1))
	start up bin/jobgraph up --store "$scratch/store" --nats "127.0.0.1:$port" --http "127.0.0.1:$((port + 1))" "$@"
	wait_ready "$http"
}
