package schedule

import "embed"

//go:embed schemas/*.json
var schemas embed.FS

// Schema returns the JSON Schema (2020-12) of a kind's payload, or of "schedule", the specification of a schedule; ok is
// false for any other name.
func Schema(name string) (text []byte, ok bool) {
	text, err := schemas.ReadFile("schemas/" + name + ".json")
	return text, err == nil
}
