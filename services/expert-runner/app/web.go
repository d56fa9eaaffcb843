package app

import (
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/web"
)

// httpKind is the kind of experts that are services called over HTTP.
type httpKind struct {
	Call web.Config `yaml:",inline"`
}

func (k *httpKind) about() about {
	return about{name: "http", effects: true, once: true, calls: true, foreign: true}
}

func (k *httpKind) faults(*cardSpec) events.Faults { return k.Call.Faults() }

func (k *httpKind) build(_ *catalog, s *Settings, f *cardFile) (*expert.Expert, events.Faults) {
	call := k.Call
	call.Safe, call.Share, call.Secrets = f.idempotent(false), f.Share, s.secrets
	runner, err := web.New(call)
	if err != nil {
		return nil, invalid("url", err)
	}
	return &expert.Expert{Card: f.card, Runner: runner}, nil
}
