package artifact

import (
	"path"
	"strings"
)

// MediaType returns the media type of a file with an extension for which the tables of machines differ, so that a type does not depend on
// where the file was made; "" for all other files. Source: RFC 7763.
func MediaType(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown":
		return "text/markdown; charset=utf-8"
	}
	return ""
}
