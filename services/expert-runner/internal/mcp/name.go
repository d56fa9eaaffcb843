package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxName is how long the name of a tool may be for models.
const maxName = 64

// between stands between the names of server and tool.
const between = "__"

// plain is a name as models take it.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, name)
}

// toolName is the name of a server's tool for models. One that is too long is cut, and told from others by its digest.
func toolName(server, tool string) string {
	name := plain(server) + between + plain(tool)
	if len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(tool))
	mark := "_" + hex.EncodeToString(sum[:4])
	return name[:maxName-len(mark)] + mark
}
