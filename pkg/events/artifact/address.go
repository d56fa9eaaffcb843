package artifact

import (
	"net/url"
	"strings"
)

// Scheme begins every address.
const Scheme = "artifact:"

// Address returns the address of a file, from the SubJob that made it and the name of the file: artifact:SUBJOB/NAME. It
// contains only characters that a Markdown link may contain.
func Address(subjob, name string) string {
	return Scheme + (&url.URL{Path: subjob + "/" + name}).EscapedPath()
}

// Split parses an address with or without its scheme; ok is false if the text is not an address.
func Split(address string) (subjob, name string, ok bool) {
	plain, err := url.PathUnescape(strings.TrimPrefix(address, Scheme))
	if err != nil {
		return "", "", false
	}
	subjob, name, _ = strings.Cut(plain, "/")
	return subjob, name, subjob != "" && name != ""
}
