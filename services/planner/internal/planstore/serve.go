package planstore

import (
	"context"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/verb/asker"
	"github.com/jobgraph/jobgraph/services/planner/internal/plan"
)

// Endpoints returns the handlers of the verbs plan.<command>. A request is the operation as JSON; "book" names its book, "by" the
// user who asks. Where signatures count, that must be a user of the key that signed the request.
func (s *Store) Endpoints() map[string]bus.Endpoint {
	endpoints := map[string]bus.Endpoint{}
	for _, command := range plan.Operations() {
		name := "plan." + command
		asked := asker.Checked(name, s.bus.Services(), func(ctx context.Context, request []byte) (Reply, error) {
			return s.serve(ctx, command, request)
		})
		endpoints[name] = func(ctx context.Context, request []byte) ([]byte, *events.Fault) {
			return s.reply(asked(ctx, request))
		}
	}
	return endpoints
}

func (s *Store) serve(ctx context.Context, command string, request []byte) (Reply, error) {
	book, op, faults := plan.ReadRequest(command, request)
	if len(faults) > 0 {
		return Reply{}, faults
	}
	return s.Do(ctx, book, op)
}

// reply writes an answer, or an error as faults: several of them as a rejection after the first.
func (s *Store) reply(answer Reply, err error) ([]byte, *events.Fault) {
	body, fault, err := bus.Answer("", answer, err)
	if err == nil {
		return body, fault
	}
	s.logger.Warn("plan operation failed", "error", err)
	return nil, &events.Fault{Code: events.CodeUnavailable, Message: "the bus did not do what was asked", Cause: err.Error(), Hint: "look with get whether it was done, then try again"}
}
