package caller

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/services/planner/internal/loop"
	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

// Model implements loop.Model with an llm.Client.
type Model struct {
	// Client answers requests.
	Client llm.Client
	// Default is the model used if a request names none; empty for the client's default. Shown is its name in messages to
	// people.
	Default, Shown string
}

// planner is the role whose model applies to roles that a request's "models" does not list.
const planner = "planner"

// Name implements loop.Model.
func (m *Model) Name(r *events.Request) string {
	if name := r.Models[planner]; name != "" {
		return name
	}
	return m.Shown
}

// Ask implements loop.Model.
func (m *Model) Ask(ctx context.Context, q *loop.Question) (planning.Fact, error) {
	sink, done := watched(q)
	answer, err := m.Client.Do(ctx, m.request(q), sink)
	if ctx.Err() == nil {
		done()
	}
	if err == nil {
		return planning.Fact{Kind: planning.Answered, Text: answer.Text, Model: answer.Model, Spent: spent(&answer)}, nil
	}
	if ctx.Err() != nil {
		return planning.Fact{}, ctx.Err()
	}
	var failed *llm.Error
	if errors.As(err, &failed) && failed.Passing() && failed.RetryAfter >= worthWaiting {
		return planning.Fact{}, &loop.Later{After: min(failed.RetryAfter, longestWait), Why: err}
	}
	fact := planning.Fact{Kind: planning.Failed, Class: classOf(err), Message: err.Error()}
	switch fact.Class {
	case planning.ClassAuth, planning.ClassQuota, planning.ClassNotFound, planning.ClassUnnamed: // The fault of the planning says the same as the class.
		if failed != nil {
			fact.Message = failed.Detail()
		}
	}
	if failed != nil && failed.Partial != nil {
		fact.Text, fact.Model, fact.Spent = failed.Partial.Text, failed.Partial.Model, spent(failed.Partial)
	}
	return fact, nil
}

// Limits of waits in the broker: the client has already waited for anything shorter; a longer wait is cut, and the call is
// tried again.
const (
	worthWaiting = time.Second
	longestWait  = 10 * time.Minute
)

// watched forwards text and reasoning to watchers while they arrive: in pieces as the model writes them, and as items that people
// can read. All parts of a call have the key of the call as their name. done is true once the call has ended.
func watched(q *loop.Question) (sink func(llm.Delta), done func()) {
	if q.Live == nil {
		return nil, func() {}
	}
	pieces := llm.Pieces(q.Key, q.Key+"/thought", func(p llm.Piece) {
		if body, err := json.Marshal(p); err == nil {
			q.Live(body)
		}
	})
	if q.Show == nil {
		return pieces, func() {}
	}
	text := newReadable(q.Key, q.Call.Name != "" || len(q.Call.Schema) > 0, q.Show)
	return func(d llm.Delta) { pieces(d); text.take(d) }, text.done
}

// request converts a call to a model request.
func (m *Model) request(q *loop.Question) llm.Request {
	r, c := q.Request, q.Call
	request := llm.Request{Model: r.Models[c.Role], IdempotencyKey: q.IdempotencyKey, Stream: q.Live != nil}
	if request.Model == "" {
		request.Model = r.Models[planner]
	}
	if request.Model == "" {
		request.Model = m.Default
	}
	for _, message := range c.Messages {
		switch message.Role {
		case "system":
			request.Messages = append(request.Messages, llm.System(message.Text))
		case "assistant":
			request.Messages = append(request.Messages, llm.Assistant(message.Text))
		default:
			request.Messages = append(request.Messages, llm.User(message.Text))
		}
	}
	if len(c.Schema) > 0 {
		request.Schema = &llm.Schema{Name: c.Name, Schema: c.Schema}
	}
	return request
}

func spent(a *llm.Response) events.Spent {
	s := events.Spent{Tokens: int64(a.Usage.Total())}
	if a.CostUSD != nil {
		s.CostUSD = *a.CostUSD
	}
	return s
}

// classOf converts an error to a planning class.
func classOf(err error) planning.Class {
	switch llm.ClassOf(err) {
	case llm.ContextTooLong:
		return planning.ClassTooLong
	case llm.LengthCut:
		return planning.ClassCut
	case llm.StreamCut:
		return planning.ClassBroken
	case llm.Filtered:
		return planning.ClassFilter
	case llm.Refused:
		return planning.ClassRefusal
	case llm.Malformed, llm.Empty:
		return planning.ClassMalformed
	case llm.Auth:
		return planning.ClassAuth
	case llm.Quota:
		return planning.ClassQuota
	case llm.NotFound:
		if failed, ok := errors.AsType[*llm.Error](err); ok && failed.Attempts == 0 {
			return planning.ClassUnnamed // No model was called.
		}
		return planning.ClassNotFound
	case llm.BadRequest:
		return planning.ClassBadRequest
	}
	return planning.ClassUnavailable
}
