package schedule

import "embed"

//go:embed schemas/*.json
var schemas embed.FS

// Schema gives the JSON Schema (2020-12) of a kind's payload, or of "schedule", what a schedule says; ok is false for any
// other name.
func Schema(name string) (text []byte, ok bool) {
	text, err := schemas.ReadFile("schemas/" + name + ".json")
	return text, err == nil
}
