package a2a

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
)

// context returns the id by which the agent knows the session of the run, or "". It is journaled, so a run that continues after a
// crash uses the same one. An attempt after a failure reads it again.
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

// remember stores the id by which the agent knows the session, once it gave or accepted one. If an agent refuses a message with an
// id, the next attempt begins a new conversation. The work does not depend on it, so an error is only logged.
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
