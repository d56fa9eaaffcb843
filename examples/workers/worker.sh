#!/usr/bin/env bash
# A worker in shell: takes work from a pool, does it, reports, acknowledges. Needs bash, jq and the nats CLI.
#
#   NATS_URL=nats://127.0.0.1:4222 ./worker.sh POOL
#
# It works at the basic level of the contract, at least once: when it dies between report and acknowledgement, the work
# comes again and is reported under the same id, which the bus drops. Nothing here computes a subject: the work message
# carries them. JOBGRAPH_PREFIX names another stack than "jobs".
set -euo pipefail
pool=${1:?usage: worker.sh POOL}
prefix=${JOBGRAPH_PREFIX:-jobs}
stream=${prefix^^}_WORK
inbox=_INBOX.worker.$HOSTNAME.$$.$RANDOM

# The work itself: a work message on standard input, the output as JSON on standard output. Replace it by your own.
work() { jq '{words: ([.goal] + [.results[]?.output | strings] | join(" ") | [splits("\\s+") | select(. != "")] | length)}'; }

next() { # ask the pool for one message, to be delivered to our inbox
	nats pub "\$JS.API.CONSUMER.MSG.NEXT.$stream.pool-$pool" --reply "$inbox" '{"batch":1,"expires":5000000000}' >/dev/null
}

stopping=
trap 'stopping=1' TERM INT
coproc deliveries { nats sub "$inbox" --dump=-; } # whole messages as JSON, ended by a zero byte
subscription=$deliveries_PID
trap 'kill "$subscription" 2>/dev/null || true' EXIT

while [ -z "$stopping" ]; do
	next || true
	IFS= read -r -d '' -t 6 message <&"${deliveries[0]}" || { # nothing yet: ask again, unless the subscription ended
		kill -0 "$subscription" 2>/dev/null || { echo "worker.sh: connection to the bus ended" >&2; exit 69; }
		continue
	}
	body=$(jq -r '.Data // "" | @base64d' <<<"$message")
	ack=$(jq -r .Reply <<<"$message")
	[ -n "$body" ] && [[ $ack == '$JS.ACK.'* ]] || continue # a status of the server (no messages, expired), not work

	if ! jq -e '.report_subject and .report_id' <<<"$body" >/dev/null 2>&1; then
		nats pub "$ack" +TERM >/dev/null
		echo "worker.sh: no work message, given up: ${body:0:80}" >&2
		continue
	fi
	if output=$(work <<<"$body" 2>&1); then
		report=$(jq -c '{outcome: "SUCCESS", output: .}' <<<"$output")
	else
		report=$(jq -cn --arg error "$output" '{outcome: "EXECUTION_ERROR", error: $error}')
	fi
	# A request, not a publication: the answer says that the report is stored. Only then is the work acknowledged.
	if stored=$(nats req "$(jq -r .report_subject <<<"$body")" "$report" --raw \
		--header "Nats-Msg-Id:$(jq -r .report_id <<<"$body")") && jq -e .seq >/dev/null <<<"$stored"; then
		nats pub "$ack" +ACK >/dev/null
		echo "reported $(jq -r '"\(.job)/\(.subjob) run \(.run)"' <<<"$body")" >&2
	else
		echo "worker.sh: report was not stored (${stored:-no answer}); the work will come again" >&2
	fi
done
