package app

import (
	"errors"
	"path/filepath"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/a2a"
)

// kindA2A names the kind of experts that are remote agents speaking A2A.
const kindA2A = "a2a"

// a2aKind is a remote agent. Its keys are under a2a.
type a2aKind struct {
	a2a.Config `yaml:",inline"`
}

func (k *a2aKind) about() about {
	return about{name: kindA2A, effects: true, once: true, calls: true, foreign: true, remembers: true}
}

func (k *a2aKind) faults(*cardSpec) events.Faults { return below("a2a", k.Faults()) }

// build fills in what the card omits from the agent's own card, if that is given.
func (k *a2aKind) build(c *catalog, s *Settings, f *cardFile) (*expert.Expert, events.Faults) {
	config := k.Config
	config.Safe, config.Schema, config.Receiver, config.Secrets = f.idempotent(false), f.card.OutputSchema, c.pushed, s.secrets
	config.Share = f.Share
	if config.Mode == a2a.ModePush && s.unheard {
		return nil, events.Faults{{
			Code: events.CodeInvalid, Field: "a2a.mode", Message: "HTTP is off, so that no agent can notify this runner",
			Hint: "give the runner an --http-addr that the agent can reach, or use mode: poll",
		}}
	}
	runner, err := a2a.New(config, filepath.Dir(f.path))
	var faults events.Faults
	if errors.As(err, &faults) {
		return nil, below("a2a", faults)
	}
	if err != nil {
		return nil, invalid("a2a", err)
	}
	x := &expert.Expert{Card: f.card, Runner: runner}
	if given := runner.Given(); given != nil {
		given.Describe(&x.Card)
	}
	return x, nil
}

// below adds a prefix to the keys of faults.
func below(key string, faults events.Faults) events.Faults {
	for i := range faults {
		faults[i].Field = key + "." + faults[i].Field
	}
	return faults
}
