package events

import "embed"

//go:embed schemas/*.json
var schemas embed.FS

// Schema returns the JSON Schema (2020-12) of a kind's payload, of "request", "plan", "work", "card", "journal" or "fault".
func Schema(name string) (text []byte, ok bool) {
	text, err := schemas.ReadFile("schemas/" + name + ".json")
	return text, err == nil
}
