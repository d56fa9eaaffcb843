package app

import (
	"errors"
	"path/filepath"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/a2a"
)

// addRemote makes what runs a card of kind a2a. What the card leaves open is taken from the agent's own, if that is given.
func (c *catalog) addRemote(s *Settings, f *cardFile) *expert.Expert {
	config := f.A2A
	config.Safe, config.Schema, config.Receiver, config.Secrets = f.Idempotent != nil && *f.Idempotent, f.card.OutputSchema, c.pushed, s.secrets
	if config.Mode == a2a.ModePush && s.unheard {
		c.faults = append(c.faults, f.fault(events.CodeInvalid, "a2a.mode", "HTTP is off, so that no agent can notify this runner", "give the runner an --http-addr that the agent can reach, or use mode: poll"))
		return nil
	}
	runner, err := a2a.New(config, filepath.Dir(f.path))
	var faults events.Faults
	if errors.As(err, &faults) {
		for _, fault := range faults {
			c.faults = append(c.faults, f.fault(fault.Code, "a2a."+fault.Field, fault.Message, fault.Hint))
		}
		return nil
	}
	if err != nil {
		c.faults = append(c.faults, f.fault(events.CodeInvalid, "a2a", err.Error(), ""))
		return nil
	}
	x := &expert.Expert{Card: f.card, Runner: runner}
	if given := runner.Given(); given != nil {
		given.Describe(&x.Card)
	}
	return x
}
