# A book's lines are DATE ACCOUNT AMOUNT [TEXT…].
/^#/ || NF == 0 { next }
NF < 3 {
	print FILENAME ":" FNR ": a line needs a date, an account and an amount" > "/dev/stderr"
	wrong = 1
	next
}
{ balance[$2] += cents($3) }
END {
	for (name in balance) print name, decimal(balance[name])
	exit wrong
}
