package events

import (
	_ "embed"

	"github.com/jobgraph/jobgraph/pkg/events/plainjson"
)

//go:embed schemas.json
var schemas []byte

// Schema returns the JSON Schema (2020-12) of a kind's payload, of "request", "plan", "work", "card", "journal" or "fault".
var Schema = plainjson.Members(schemas)
