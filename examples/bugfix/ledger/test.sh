#!/bin/sh
# Runs every case and says how many failed. A case is a name, a book and what is expected of it.
cd "$(dirname "$0")" || exit 1
failed=0
number=0

check() {
	number=$((number + 1))
	got=$(printf '%b' "$2" | sh balance.sh - 2>/dev/null)
	if [ "$got" = "$(printf '%b' "$3")" ]; then
		echo "ok $number - $1"
	else
		echo "not ok $number - $1: want $3, got $got"
		failed=$((failed + 1))
	fi
}

check 'one booking' '2026-01-02 cash 12.30 till\n' 'cash 12.30'
check 'bookings add up' '2026-01-02 cash 12.30\n2026-01-03 cash 0.75\n' 'cash 13.05'
check 'a remark is no booking' '# cash 1.00\n2026-01-02 cash 2.00\n' 'cash 2.00'
check 'accounts are apart' '2026-01-02 bank 5.00\n2026-01-02 cash 7.00\n' 'bank 5.00\ncash 7.00'
check 'a payment is taken off' '2026-01-02 cash 10.00\n2026-01-03 cash -2.50\n' 'cash 7.50'
check 'a payment below one' '2026-01-02 cash 1.00\n2026-01-03 cash -0.25\n' 'cash 0.75'
echo "$number cases, $failed failed"
[ "$failed" = 0 ]
