package schedule

import (
	_ "embed"

	"github.com/jobgraph/jobgraph/pkg/events/plainjson"
)

//go:embed schemas.json
var schemas []byte

// Schema returns the JSON Schema (2020-12) of a kind's payload, or of "schedule", the specification of a schedule.
var Schema = plainjson.Members(schemas)
