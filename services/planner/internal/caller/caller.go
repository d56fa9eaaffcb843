package caller

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/services/planner/internal/loop"
	"github.com/jobgraph/jobgraph/services/planner/internal/session"
)

// Model implements loop.Model over a client.
type Model struct {
	// Client answers requests.
	Client llm.Client
	// Default is the configured name of the model that is meant where a request names none; empty for the client's own
	// default. Shown is what people call it, for messages.
	Default, Shown string
}

// planner is the role whose model is named in a request's "models"; other roles fall back to it.
const planner = "planner"

// Name implements loop.Model.
func (m *Model) Name(r *events.Request) string {
	if name := r.Models[planner]; name != "" {
		return name
	}
	return m.Shown
}

// Ask implements loop.Model.
func (m *Model) Ask(ctx context.Context, q *loop.Question) (session.Fact, error) {
	answer, err := m.Client.Do(ctx, m.request(q), watched(q))
	if err == nil {
		return session.Fact{Kind: session.Answered, Text: answer.Text, Model: answer.Model, Spent: spent(&answer)}, nil
	}
	if ctx.Err() != nil {
		return session.Fact{}, ctx.Err()
	}
	var failed *llm.Error
	if errors.As(err, &failed) && failed.Passing() && failed.RetryAfter >= worthWaiting {
		return session.Fact{}, &loop.Later{After: min(failed.RetryAfter, longestWait), Why: err}
	}
	fault := llm.Fault(err)
	fact := session.Fact{Kind: session.Failed, Class: classOf(err), Message: fault.Message}
	if fault.Cause != "" {
		fact.Message += ": " + fault.Cause
	}
	if failed != nil && failed.Partial != nil {
		fact.Text, fact.Model, fact.Spent = failed.Partial.Text, failed.Partial.Model, spent(failed.Partial)
	}
	return fact, nil
}

// Bounds of waiting in the broker: what is shorter the client has waited for itself, what is longer is asked for again.
const (
	worthWaiting = time.Second
	longestWait  = 10 * time.Minute
)

// watched tells those who watch what is said and thought, each under a name that stays: the key of its call.
func watched(q *loop.Question) func(llm.Delta) {
	if q.Live == nil {
		return nil
	}
	return llm.Pieces(q.Key, q.Key+"/thought", func(p llm.Piece) {
		if body, err := json.Marshal(p); err == nil {
			q.Live(body)
		}
	})
}

// request is the call as a model gets it.
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

// classOf gives a failure in the session's words.
func classOf(err error) session.Class {
	switch llm.ClassOf(err) {
	case llm.ContextTooLong:
		return session.ClassTooLong
	case llm.LengthCut:
		return session.ClassCut
	case llm.StreamCut:
		return session.ClassBroken
	case llm.Filtered:
		return session.ClassFilter
	case llm.Refused:
		return session.ClassRefusal
	case llm.Malformed, llm.Empty:
		return session.ClassMalformed
	case llm.Auth:
		return session.ClassAuth
	case llm.Quota:
		return session.ClassQuota
	case llm.NotFound:
		if failed, ok := errors.AsType[*llm.Error](err); ok && failed.Attempts == 0 {
			return session.ClassUnnamed // Nobody was asked.
		}
		return session.ClassNotFound
	case llm.BadRequest:
		return session.ClassBadRequest
	}
	return session.ClassUnavailable
}
