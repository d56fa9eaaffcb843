package a2a

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
)

// context returns the id by which the agent knows the session of the run, or "". It is journaled: a run that continues after a
// crash says the same. An attempt after a failure reads it again.
func (r *run) context(ctx context.Context) (string, error) {
	if r.task.Contexts == nil {
		return "", nil
	}
	e := expert.Effect{Key: r.key(0, "context"), Name: effectName, Safe: true}
	raw, err := r.task.Hand.Do(ctx, e, func(ctx context.Context) (json.RawMessage, error) {
		id, err := r.task.Contexts.Context(ctx)
		return json.RawMessage(quoted(id)), err
	})
	if err != nil {
		return "", err
	}
	var id string
	if err := json.Unmarshal(raw, &id); err != nil {
		return "", fmt.Errorf("read the context of the session: %w", err)
	}
	return id, nil
}

// remember keeps the id by which the agent knows the session, once it gave or accepted one. An agent that refuses a message with
// one begins a new conversation with the next attempt. The work does not depend on it, so an error is only logged.
func (r *run) remember(ctx context.Context, m *message) {
	if r.task.Contexts == nil || r.record == nil {
		return
	}
	id := r.record.Context
	switch {
	case r.record.Refused != nil && m.Task == "" && m.Context != "":
		id = ""
	case r.record.Refused != nil || id == "" || id == m.Context:
		return
	}
	if err := r.task.Contexts.SetContext(ctx, id); err != nil {
		r.task.Log.Warn("cannot keep the id by which the agent knows the session", "error", err)
	}
}
