package app

import (
	"context"
	"encoding/json"
	"net/url"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/pkg/verb"
	"github.com/jobgraph/jobgraph/services/planner/internal/loop"
)

// listModels answers jobs.api.models: the models of the configuration; none if an embedding program supplied the model.
func listModels(asked loop.Model) func(context.Context, []byte) ([]byte, *events.Fault) {
	return func(context.Context, []byte) ([]byte, *events.Fault) {
		out := verb.ConfiguredModels{Models: []verb.ConfiguredModel{}}
		if m, ok := asked.(*models); ok {
			standard := ""
			if current := m.current.Load(); current != nil {
				standard = current.Default
			}
			for _, s := range m.engine.Standings() {
				line := standing(&s)
				line.Default = s.Name == standard
				out.Models = append(out.Models, line)
			}
		}
		body, err := json.Marshal(out)
		if err != nil {
			return nil, &events.Fault{Code: events.CodeInternal, Message: "the models cannot be written as JSON", Cause: err.Error()}
		}
		return body, nil
	}
}

// standing describes a model without its key and headers.
func standing(s *llm.Standing) verb.ConfiguredModel {
	c := &s.Config
	line := verb.ConfiguredModel{Name: s.Name, Model: c.Model, Fallback: c.Fallback}
	if u, err := url.Parse(c.BaseURL); err == nil {
		line.Host = u.Host
	}
	if p := c.Price; p != nil {
		line.Price = &verb.ModelPrice{Prompt: p.Prompt, Cached: p.Cached, CacheWrite: p.CacheWrite, Completion: p.Completion}
	}
	if l := c.Limits; l != (llm.RateLimits{}) {
		line.Limits = &verb.ModelLimits{Concurrency: l.Concurrency, RequestsPerMinute: l.RequestsPerMinute, TokensPerMinute: l.TokensPerMinute}
	}
	if s.Slots != nil || s.Requests != nil || s.Tokens != nil || !s.Closed.IsZero() {
		line.Room = &verb.ModelRoom{Slots: s.Slots, Requests: s.Requests, Tokens: s.Tokens, Closed: s.Closed}
	}
	return line
}
