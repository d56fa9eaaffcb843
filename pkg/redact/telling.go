package redact

import (
	"net/url"
	"strings"
	"unicode"
)

// minSecret is the minimum length of a secret, in bytes.
const minSecret = 8

// Telling reports whether a value is specific enough to be treated as a secret. Values below 8 bytes occur in too many
// texts. The same is true of numbers below 16 digits, plain words below 16 letters, such as the word that a local model
// server accepts as a key, and addresses without user, query and random parts.
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

// mixed reports whether a text has characters of two kinds among lower case, upper case, digits and others; an initial
// capital does not count, nor do characters that join words.
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

// address reports whether a value is an address without anything secret.
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
