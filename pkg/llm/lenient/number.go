package lenient

import (
	"strconv"
	"strings"
)

// number returns the JSON number that a word stands for, and whether it stands for one.
func number(word string) (string, bool) {
	if len(word) == 0 {
		return "", false
	}
	if isJSONNumber(word) {
		return word, true
	}
	word = narrow(word)
	sign, digits := "", word
	switch digits[0] {
	case '-':
		sign, digits = "-", digits[1:]
	case '+':
		digits = digits[1:]
	}
	if digits == "" || !isDigit(digits[0]) && digits[0] != '.' {
		return "", false
	}
	if plain, ok := based(digits); ok {
		return sign + plain, true
	}
	if n := len(digits) - 1; strings.IndexByte("nL", digits[n]) >= 0 && strings.Trim(digits[:n], "0123456789") == "" {
		digits = digits[:n]
	}
	plain, ok := decimal(digits)
	return sign + plain, ok
}

// narrow writes full-width digits and signs as ASCII.
func narrow(word string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= '０' && r <= '９':
			return r - '０' + '0'
		case r == '－' || r == '−':
			return '-'
		case r == '＋':
			return '+'
		case r == '．':
			return '.'
		}
		return r
	}, word)
}

// based reads a number with a prefix for its base.
func based(digits string) (string, bool) {
	if len(digits) < 3 || digits[0] != '0' || strings.IndexByte("xXoObB", digits[1]) < 0 {
		return "", false
	}
	n, err := strconv.ParseUint(digits, 0, 64)
	return strconv.FormatUint(n, 10), err == nil
}

// decimal corrects a number with leading zeros, a bare point, an empty exponent or underscores between its digits.
func decimal(digits string) (string, bool) {
	whole, rest := split(digits)
	frac, exponent := "", ""
	if strings.HasPrefix(rest, ".") {
		frac, rest = split(rest[1:])
	}
	if whole == "" && frac == "" {
		return "", false
	}
	if rest != "" {
		if rest[0] != 'e' && rest[0] != 'E' {
			return "", false
		}
		exponent, rest = rest[:1], rest[1:]
		if rest != "" && (rest[0] == '+' || rest[0] == '-') {
			exponent, rest = exponent+rest[:1], rest[1:]
		}
		power, end := split(rest)
		if end != "" {
			return "", false
		}
		if exponent += power; power == "" {
			exponent = ""
		}
	}
	if whole = strings.TrimLeft(whole, "0"); whole == "" {
		whole = "0"
	}
	if frac != "" {
		frac = "." + frac
	}
	return whole + frac + exponent, true
}

// split returns the leading digits without underscores, and the rest.
func split(text string) (digits, rest string) {
	end := 0
	for end < len(text) && (isDigit(text[end]) || text[end] == '_' && end > 0) {
		end++
	}
	return strings.ReplaceAll(text[:end], "_", ""), text[end:]
}

// isJSONNumber reports whether a word is a number as JSON writes it.
func isJSONNumber(word string) bool {
	word = strings.TrimPrefix(word, "-")
	whole := digitRun(word)
	if whole == 0 || whole > 1 && word[0] == '0' {
		return false
	}
	word = word[whole:]
	if strings.HasPrefix(word, ".") {
		frac := digitRun(word[1:])
		if frac == 0 {
			return false
		}
		word = word[1+frac:]
	}
	if word == "" {
		return true
	}
	if word[0] != 'e' && word[0] != 'E' {
		return false
	}
	if word = word[1:]; word != "" && (word[0] == '+' || word[0] == '-') {
		word = word[1:]
	}
	return word != "" && digitRun(word) == len(word)
}

// digitRun counts the digits in front.
func digitRun(text string) int {
	n := 0
	for n < len(text) && isDigit(text[n]) {
		n++
	}
	return n
}
