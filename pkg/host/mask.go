package host

import (
	"net/url"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/redact"
)

// Mask returns what may be shown of a secret: whether there is one.
func Mask(secret string) string {
	if secret == "" {
		return ""
	}
	return redact.Mask
}

// MaskURL hides the user part of each address in a comma-separated list, including a lone user name, which is a token in
// NATS. An address that cannot be parsed is masked completely.
func MaskURL(list string) string {
	addresses := strings.Split(list, ",")
	for i, address := range addresses {
		addresses[i] = maskAddress(strings.TrimSpace(address))
	}
	return strings.Join(addresses, ",")
}

func maskAddress(address string) string {
	if !strings.Contains(address, "@") {
		return address
	}
	scheme, rest, found := strings.Cut(address, "://")
	if !found {
		scheme, rest = "", address
	}
	at := strings.LastIndex(rest, "@")
	if _, err := url.Parse("any://" + rest[at+1:]); err != nil {
		return redact.Mask
	}
	if scheme != "" {
		scheme += "://"
	}
	return scheme + redact.Mask + "@" + rest[at+1:]
}
