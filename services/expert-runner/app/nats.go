package app

import (
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
)

// natsKind is a worker in another process that reads its pool itself. It has no keys of its own.
type natsKind struct{}

func (k *natsKind) about() about { return about{name: "nats"} }

func (k *natsKind) faults(c *cardSpec) events.Faults {
	var faults events.Faults
	if len(c.Command) > 0 {
		faults = append(faults, events.Fault{
			Code: events.CodeInvalid, Field: "command", Message: "an expert of kind nats runs elsewhere", Hint: "leave it out, or use kind: command",
		})
	}
	if c.Pool == "" || c.Pool == events.DefaultPool {
		faults = append(faults, events.Fault{
			Code: events.CodeMissing, Field: "pool", Message: "an expert of kind nats needs a pool of its own", Hint: "pool: " + events.Slug(c.Name),
		})
	}
	return faults
}

func (k *natsKind) build(_ *catalog, _ *Settings, f *cardFile) (*expert.Expert, events.Faults) {
	return &expert.Expert{Card: f.card}, nil
}
