package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxName is the longest tool name that models accept.
const maxName = 64

// between separates the names of server and tool.
const between = "__"

// plain replaces characters that models do not accept in names.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, name)
}

// toolName returns the name of a server's tool for models. A name that is too long is cut and made unique by its digest.
func toolName(server, tool string) string {
	name := plain(server) + between + plain(tool)
	if len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(tool))
	mark := "_" + hex.EncodeToString(sum[:4])
	return name[:maxName-len(mark)] + mark
}
