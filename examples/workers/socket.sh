#!/usr/bin/env bash
# A worker in shell that needs no client: bash opens a socket and speaks the NATS protocol itself. Needs bash and jq.
#
#   NATS_URL=nats://127.0.0.1:4222 ./socket.sh POOL
#
# It works at the basic level of the contract, at least once: it takes one piece of work at a time, reports under the id that
# the work message carries, waits until the bus has stored the report, and acknowledges. While the work lasts it says every
# five seconds that it is still in hand. User and password, or a token, come from the URL; TLS is beyond an example. When the
# connection ends, so does the worker: let its supervisor start it again. JOBGRAPH_PREFIX names another stack than "jobs".
set -euo pipefail
export LC_ALL=C # Lengths are counted in bytes.
pool=${1:?usage: socket.sh POOL}
prefix=${JOBGRAPH_PREFIX:-jobs}
inbox=_INBOX.socket.$$.$RANDOM$RANDOM

# The work itself: a work message on standard input, the output as JSON on standard output. Replace it by your own.
work() { jq '{words: ([.inputs.text // .goal] + [.results[]?.output | strings] | join(" ") | [splits("\\s+") | select(. != "")] | length)}'; }

say() { echo "socket.sh: $*" >&2; }
send() { printf '%s\r\n' "$@" >&"$bus"; }
publish() { # publish SUBJECT REPLY BODY
	send "PUB $1 $2 ${#3}" "$3"
}

# take reads one message of the server: kind, reply and body. Other lines of the protocol are answered on the way.
take() {
	local line fields size head
	while true; do
		IFS= read -r -t "$1" line <&"$bus" || { # Silence for so long, or the end: a ping tells which.
			[ $? -gt 128 ] && return 1
			say "the connection to the bus ended"
			exit 69
		}
		line=${line%$'\r'}
		read -ra fields <<<"$line"
		case ${fields[0]:-} in
		PING) send PONG ;;
		-ERR) say "the bus said: $line" && exit 69 ;;
		MSG | HMSG)
			kind=${fields[1]} reply='' head=0 size=${fields[-1]}
			[ "${fields[0]}" = HMSG ] && head=${fields[-2]}
			[ ${#fields[@]} -eq $((head ? 6 : 5)) ] && reply=${fields[3]}
			IFS= read -r -N $((size + 2)) body <&"$bus"
			body=${body:head:size-head}
			return 0
			;;
		esac
	done
}

# connect opens the socket and names the user of the URL.
connect() {
	local url=${NATS_URL:-nats://127.0.0.1:4222} address user=() info
	address=${url%%,*} address=${address#*://}
	if [[ $address == *@* ]]; then
		user=("${address%%@*}") address=${address#*@}
	fi
	address=${address%%/*}
	[[ $address == *:* ]] || address+=:4222
	exec {bus}<>"/dev/tcp/${address%:*}/${address##*:}"
	IFS= read -r -t 10 info <&"$bus"
	if jq -e '.tls_required' <<<"${info#INFO }" >/dev/null; then
		say "the server asks for TLS, which this example does not speak"
		exit 69
	fi
	send "CONNECT $(jq -cn --arg user "${user[0]:-}" '{verbose: false, pedantic: false, lang: "shell", version: "1", name: "socket.sh", headers: true, no_responders: true}
		+ if $user == "" then {} elif $user | contains(":") then ($user | capture("(?<user>[^:]*):(?<pass>.*)")) else {auth_token: $user} end')"
	send "SUB $inbox.* 1"
}

# perform does the work in the background, so that the bus can be told that it is in hand.
perform() { # perform ACK; the work message is in body, the report goes to report
	local output file wait
	file=$(mktemp)
	work <<<"$body" >"$file" 2>&1 &
	worker=$!
	(while sleep 5; do publish "$1" '' +WPI; done) &
	wait=$!
	if wait "$worker"; then
		report=$(jq -c '{outcome: "SUCCESS", output: .}' "$file")
	else
		report=$(jq -Rsc '{outcome: "EXECUTION_ERROR", error: .}' "$file")
	fi
	kill "$wait" && wait "$wait" 2>/dev/null || true
	rm -f "$file"
}

# stored publishes the report and waits until the bus has it; a report that it had before is just as good.
stored() { # stored SUBJECT ID
	local head=$'NATS/1.0\r\nNats-Msg-Id: '$2$'\r\n\r\n'
	send "HPUB $1 $inbox.stored ${#head} $((${#head} + ${#report}))" "$head$report"
	until take 10 && [ "$kind" = "$inbox.stored" ]; do :; done
	jq -e '.seq' <<<"$body" >/dev/null
}

stopping=
trap 'stopping=1' TERM INT
connect
while [ -z "$stopping" ]; do
	publish "\$JS.API.CONSUMER.MSG.NEXT.${prefix^^}_WORK.pool-$pool" "$inbox.work" '{"batch":1,"expires":5000000000}'
	take 10 || continue
	[[ $kind == "$prefix.work."* && $reply == '$JS.ACK.'* ]] || { # A status of the server: nothing there, or no such pool.
		[ -n "$stopping" ] || read -r -t 0.5 <> <(:) || true
		continue
	}
	ack=$reply name=$kind
	if ! read -r subject id < <(jq -er '"\(.report_subject // error) \(.report_id // error)"' <<<"$body" 2>/dev/null); then
		publish "$ack" '' +TERM
		say "no work message, given up: $name"
		continue
	fi
	perform "$ack"
	if stored "$subject" "$id"; then
		publish "$ack" '' +ACK
		say "reported $id"
	else
		say "the report of $id was not stored ($body); the work will come again"
	fi
done
