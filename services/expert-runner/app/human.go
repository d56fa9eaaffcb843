package app

import (
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/person"
)

// humanKind is the kind of experts that are people.
type humanKind struct {
	Asked person.Config `yaml:",inline"`
}

func (k *humanKind) about() about { return about{name: "human", calls: true} }

func (k *humanKind) faults(*cardSpec) events.Faults { return nil }

func (k *humanKind) build(_ *catalog, _ *Settings, f *cardFile) (*expert.Expert, events.Faults) {
	asked := k.Asked
	asked.Form, asked.Intro = f.card.OutputSchema, f.body
	runner, err := person.New(asked)
	if err != nil {
		return nil, invalid("output_schema", err)
	}
	return &expert.Expert{Card: f.card, Runner: runner, Light: true}, nil
}
