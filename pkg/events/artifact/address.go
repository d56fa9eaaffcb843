package artifact

import (
	"net/url"
	"strings"
)

// Scheme opens every address.
const Scheme = "artifact:"

// Address names a file by the SubJob that has made it and the name it was given: artifact:SUBJOB/NAME. It holds nothing that a link of
// Markdown could not.
func Address(subjob, name string) string {
	return Scheme + (&url.URL{Path: subjob + "/" + name}).EscapedPath()
}

// Split reads an address, with its scheme or without; ok is false for what is none.
func Split(address string) (subjob, name string, ok bool) {
	plain, err := url.PathUnescape(strings.TrimPrefix(address, Scheme))
	if err != nil {
		return "", "", false
	}
	subjob, name, _ = strings.Cut(plain, "/")
	return subjob, name, subjob != "" && name != ""
}
