# cents is an amount with two decimals as a whole number of cents.
function cents(text,    part) {
	split(text, part, ".")
	return part[1] * 100 + part[2]
}

# decimal is a whole number of cents as an amount with two decimals.
function decimal(n,    sign) {
	sign = n < 0 ? "-" : ""
	n = n < 0 ? -n : n
	return sprintf("%s%d.%02d", sign, int(n / 100), n % 100)
}
