package redact

import (
	"net/url"
	"strings"
	"unicode"
)

// minSecret is how short a secret may be, in bytes.
const minSecret = 8

// Telling reports whether a text that holds a value gives it away. What is shorter than 8 bytes is in too many texts; so are numbers
// below 16 digits, plain words below 16 letters, such as the word that a local model server takes for a key, and addresses without
// user, query and random parts.
func Telling(value string) bool {
	value = strings.TrimSpace(value)
	switch {
	case len(value) < minSecret:
		return false
	case len(value) < minPart:
		return strings.HasPrefix(value, form) || mixed(value)
	}
	return !address(value)
}

// mixed reports whether a text has characters of two kinds among lower case, upper case, digits and others; a capital that only
// begins a word does not count, nor does what joins words.
func mixed(value string) bool {
	if strings.Trim(value, "0123456789.,+-_: ") == "" {
		return false
	}
	kinds := map[string]bool{}
	for i, r := range value {
		switch {
		case unicode.IsLower(r):
			kinds["lower"] = true
		case unicode.IsUpper(r) && i > 0:
			kinds["upper"] = true
		case unicode.IsDigit(r):
			kinds["digit"] = true
		case !unicode.IsLetter(r) && !strings.ContainsRune("-_ ", r):
			kinds["other"] = true
		}
	}
	return len(kinds) > 1
}

// address reports whether a value says where something is, and nothing else.
func address(value string) bool {
	u, err := url.Parse(value)
	if err != nil || u.Scheme == "" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return false
	}
	for part := range strings.SplitSeq(u.Path, "/") {
		if len(part) >= minPart {
			return false
		}
	}
	return true
}
