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
func (m *Model) Ask(ctx context.Context, q *loop.Question) (planning.Fact, error) {
	answer, err := m.Client.Do(ctx, m.request(q), watched(q))
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
	fault := llm.Fault(err)
	fact := planning.Fact{Kind: planning.Failed, Class: classOf(err), Message: fault.Message}
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
			return planning.ClassUnnamed // No model was asked.
		}
		return planning.ClassNotFound
	case llm.BadRequest:
		return planning.ClassBadRequest
	}
	return planning.ClassUnavailable
}
