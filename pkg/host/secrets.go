package host

import (
	"encoding/base64"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// secrets collects what the values of a file give away to those who see them. A value counts
//
//   - when a reference brings it from a variable or a file whose name speaks of a secret, wherever it stands;
//   - when a reference brings it into a place where programs and servers get their secrets (env, headers, metadata, body, extra),
//     unless the name of the variable speaks of a place, such as HOME;
//   - when it is written there under a key that speaks of a secret, such as Authorization;
//   - when it is the user's part, or such a parameter, of an address.
//
// Too common values are sorted out by the user of the list.
type secrets struct{ values []string }

// given are sections whose values go to programs and servers.
var given = []string{"env", "headers", "metadata", "body", "extra"}

// sensitive are words in the names of secrets, and harmless those in the names of places and options.
var (
	sensitive = regexp.MustCompile(`(?i)(^|[^a-z])(key|pat|pin|pass|pwd|auth|dsn|jwt|cert|salt|seed|bearer|cookie|signature|sig)s?([^a-z]|$)|token|secret|password|passwd|passphrase|credential|authorization|api-?_?key|private|webhook`)
	harmless  = regexp.MustCompile(`(?i)^(path|pwd|home|lang|lc_.*|tz|user|logname|shell|term|tmpdir|temp|tmp|hostname)$|(^|_)(dir|path|home|host|hostname|port|addr|address|url|uri|endpoint|region|zone|locale|lang|level|mode|version)$`)
)

// refer takes what a reference at a field stands for.
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

// written takes what stands at a field, once its references are replaced.
func (s *secrets) written(field, value string) {
	if giving(field) && sensitive.MatchString(field[strings.LastIndex(field, ".")+1:]) {
		words := strings.Fields(value)
		s.values = append(s.values, value)
		if len(words) == 2 { // Bearer, Basic and the like go before it.
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

// addressed are the secrets in an address.
func addressed(address string) (values []string) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Host == "" {
		return nil
	}
	if password, has := u.User.Password(); has {
		values = append(values, password)
	} else if u.User != nil {
		values = append(values, u.User.Username()) // A token stands alone.
	}
	for name, list := range u.Query() { // any order: they are a set.
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

// Secrets are the values in the file that nothing should repeat.
func (f *File) Secrets() []string {
	if f == nil {
		return nil
	}
	return f.document.secrets.values
}

// secrets are what enters the bus.
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
