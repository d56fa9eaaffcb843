package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// effect is the key and the name of the single effect of an http expert.
const effect = "http"

// Expert makes one call per task. It is safe for concurrent use.
type Expert struct {
	config  Config
	address *address
	client  *http.Client
}

// New checks the configuration and makes the expert; errors are events.Faults.
func New(c Config) (*Expert, error) {
	if err := c.Faults().OrNil(); err != nil {
		return nil, err
	}
	a, err := parseAddress(c.URL)
	if err != nil {
		return nil, err
	}
	c.Method, c.Safe = c.method(), c.Safe || reads(c.method())
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Limit == 0 {
		c.Limit = DefaultLimit
	}
	return &Expert{config: c, address: a, client: newClient()}, nil
}

// Run implements expert.Runner.
func (x *Expert) Run(ctx context.Context, t *expert.Task) task.Ending {
	work, sent, err := x.config.write(t)
	if err != nil {
		return task.Failure(events.CodeInternal, "the work cannot be sent", err.Error(), "")
	}
	target, filled, err := x.address.fill(work)
	if err != nil {
		return unusable(err)
	}
	body, err := x.config.body(work, sent)
	if err != nil {
		return unusable(err)
	}
	args, err := json.Marshal(map[string]any{"method": x.config.Method, "host": target.Host, "places": filled})
	if err != nil {
		return task.Failure(events.CodeInternal, "the call cannot be journaled", err.Error(), "")
	}
	e := expert.Effect{Key: effect, Name: effect, Safe: x.config.Safe, Args: args}
	kept, err := t.Hand.Do(ctx, e, func(ctx context.Context) (json.RawMessage, error) {
		return x.call(ctx, target, body, t)
	})
	switch {
	case err != nil && !x.config.Safe && errors.Is(err, expert.ErrUnknown):
		return task.Doubt(t.Work, "The call of "+target.Host+" broke off: "+err.Error()+".", expert.Effect{Key: effect, Name: effect, Args: args})
	case err != nil:
		return task.Failure(events.CodeUnavailable, "the call of "+target.Host+" brought no answer", err.Error(), "see that the server runs, and that url and answer_timeout on the card are right")
	}
	return x.ending(kept)
}

// unusable is the ending for work that cannot be sent in its form.
func unusable(err error) task.Ending {
	var fault *events.Fault
	if !errors.As(err, &fault) {
		return task.Failure(events.CodeInternal, "the call cannot be made", err.Error(), "")
	}
	return task.Ending{Report: &events.SubJobReported{Outcome: events.InputDataError, Error: fault, Lesson: fault.Error()}}
}
