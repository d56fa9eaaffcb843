package host

import (
	"encoding/base64"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// secrets collects the values of a file that must not be revealed. A value counts as secret
//
//   - if a reference takes it from a variable or a file whose name indicates a secret, wherever it is used;
//   - if a reference puts it where programs and servers get their secrets (env, headers, metadata, body, extra),
//     unless the name of the variable indicates a place, such as HOME;
//   - if it is written there under a key that indicates a secret, such as Authorization;
//   - if it is the user part, or such a parameter, of an address.
//
// The user of the list removes values that are too common.
type secrets struct{ values []string }

// given are sections whose values go to programs and servers.
var given = []string{"env", "headers", "metadata", "body", "extra"}

// sensitive are words in the names of secrets, harmless are words in the names of places and options.
var (
	sensitive = regexp.MustCompile(`(?i)(^|[^a-z])(key|pat|pin|pass|pwd|auth|dsn|jwt|cert|salt|seed|bearer|cookie|signature|sig)s?([^a-z]|$)|token|secret|password|passwd|passphrase|credential|authorization|api-?_?key|private|webhook`)
	harmless  = regexp.MustCompile(`(?i)^(path|pwd|home|lang|lc_.*|tz|user|logname|shell|term|tmpdir|temp|tmp|hostname)$|(^|_)(dir|path|home|host|hostname|port|addr|address|url|uri|endpoint|region|zone|locale|lang|level|mode|version)$`)
)

// refer records the value of a reference at a field.
func (s *secrets) refer(field, reference, value string) {
	path, file := strings.CutPrefix(reference, "file:")
	name, fallback, _ := strings.Cut(reference, ":-")
	switch {
	case value == "" || !file && value == fallback:
	case file && (sensitive.MatchString(path) || giving(field)):
		s.values = append(s.values, value)
	case !file && sensitive.MatchString(name):
		s.values = append(s.values, value)
	case !file && giving(field) && !harmless.MatchString(name):
		s.values = append(s.values, value)
	}
}

// written records the value of a field after the expansion of references.
func (s *secrets) written(field, value string) {
	if giving(field) && sensitive.MatchString(field[strings.LastIndex(field, ".")+1:]) {
		words := strings.Fields(value)
		s.values = append(s.values, value)
		if len(words) == 2 { // A scheme such as Bearer or Basic comes before it.
			s.values = append(s.values, words[1])
			if user, err := base64.StdEncoding.DecodeString(words[1]); err == nil && strings.EqualFold(words[0], "basic") {
				_, password, _ := strings.Cut(string(user), ":")
				s.values = append(s.values, password)
			}
		}
	}
	if strings.Contains(value, "://") {
		s.values = append(s.values, addressed(value)...)
	}
}

// addressed returns the secrets in an address.
func addressed(address string) (values []string) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Host == "" {
		return nil
	}
	if password, has := u.User.Password(); has {
		values = append(values, password)
	} else if u.User != nil {
		values = append(values, u.User.Username()) // A token may stand in place of the user name.
	}
	for name, list := range u.Query() { // any order: the result is a set.
		if sensitive.MatchString(name) {
			values = append(values, list...)
		}
	}
	return values
}

func giving(field string) bool {
	return slices.ContainsFunc(strings.Split(field, "."), func(part string) bool {
		return slices.Contains(given, strings.TrimRight(part, "[]0123456789"))
	})
}

// Secrets returns the values in the file that must not be revealed.
func (f *File) Secrets() []string {
	if f == nil {
		return nil
	}
	return f.document.secrets.values
}

// References returns what the file inserts by ${…}: names of variables without their defaults, and files as file:PATH.
func (f *File) References() []string {
	if f == nil {
		return nil
	}
	var names []string
	for _, reference := range f.document.referred {
		if !strings.HasPrefix(reference, "file:") {
			reference, _, _ = strings.Cut(reference, ":-")
		}
		names = append(names, reference)
	}
	return names
}

// Secretive reports whether a variable is a secret, by its name or because its value is an address with credentials.
func Secretive(name, value string) bool {
	return sensitive.MatchString(name) || strings.Contains(value, "://") && len(addressed(value)) > 0
}

// secrets returns the credentials of the bus.
func (n NATS) secrets() []string {
	values := []string{n.Password, n.Token}
	if n.nkeyFile() == "" {
		values = append(values, n.NKey)
	}
	for address := range strings.SplitSeq(n.URL, ",") {
		values = append(values, addressed(address)...)
	}
	return values
}
