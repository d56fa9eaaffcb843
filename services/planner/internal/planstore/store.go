package planstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/planner/internal/plan"
)

// Main is the default book.
const Main = "main"

// tries is how often a write is tried while others write to the same book, or publish facts about the same job.
const tries = 16

// Cards returns the existing experts.
type Cards interface {
	Cards() (cards []events.Card, changed <-chan struct{})
}

// Store stores books. It is safe for concurrent use, also by several processes.
type Store struct {
	bus     *bus.Bus
	cards   Cards
	options plan.Options
	limits  plan.Limits
	logger  *slog.Logger
}

// New makes a store. New steps of jobs are checked against the cards with the options; books keep plans within the limits.
func New(b *bus.Bus, cards Cards, options plan.Options, limits plan.Limits, logger *slog.Logger) *Store {
	return &Store{bus: b, cards: cards, options: options, limits: limits, logger: logger}
}

// Reply is the result of an operation.
type Reply struct {
	// Text describes the result, with the plan in the form for people and models.
	Text string `json:"text"`
	// Plan is the plan with its marks; nil for list and delete.
	Plan *plan.Board `json:"plan,omitempty"`
	// Plans are all plans of the book, for list.
	Plans []plan.Board `json:"plans,omitempty"`
	// Active is the id of the active plan.
	Active string `json:"active,omitempty"`
	// Removed are the ids of plans that were removed to make room for a new one.
	Removed []string `json:"removed,omitempty"`
	// Request is the plan in the form of a job request, for get: of a stored plan, or of a job with the results of its steps, if it
	// is not too large.
	Request json.RawMessage `json:"request,omitempty"`
	// JobID, Status and PlanVersion describe the job whose graph it is.
	JobID       string        `json:"job_id,omitempty"`
	Status      events.Status `json:"status,omitempty"`
	PlanVersion int           `json:"plan_version,omitempty"`
}

// Do carries out an operation on a book, Main when the name is empty, or on the graph of a job. Errors that the caller can
// do something about are *events.Fault or events.Faults; any other comes from the bus.
func (s *Store) Do(ctx context.Context, book string, op plan.Operation) (Reply, error) {
	if book == "" {
		book = Main
	}
	if !events.ValidToken(book) {
		return Reply{}, &events.Fault{Code: events.CodeInvalid, Field: "book", Message: fmt.Sprintf("%.80q is no name of a book", book), Hint: "use 1 to 64 of A-Z a-z 0-9 _ -"}
	}
	for range tries {
		b, revision, err := s.open(ctx, book)
		if err != nil {
			return Reply{}, err
		}
		before := b.Clone()
		reply, err := s.carry(ctx, b, op)
		if err == nil {
			err = s.bound(ctx, book, b, before, &reply)
		}
		if err != nil {
			return Reply{}, err
		}
		after, changed, err := written(before, b)
		if err != nil || !changed {
			return reply, err
		}
		_, err = s.bus.Plans().Update(ctx, bus.BookKey(book), after, revision)
		switch {
		case err == nil:
			return reply, nil
		case errors.Is(err, bus.ErrTooLarge):
			return Reply{}, &events.Fault{Code: events.CodeTooLarge, Field: "book", Message: "book " + book + " has no room for it", Cause: err.Error(), Hint: "delete plans, or use another book"}
		case !errors.Is(err, bus.ErrConflict) && !errors.Is(err, bus.ErrUnknown):
			return Reply{}, err
		}
	}
	return Reply{}, &events.Fault{Code: events.CodeConflict, Field: "book", Message: "others write to book " + book + " at the same time", Hint: "try again"}
}

// carry executes an operation on a book in memory, or on the job that it concerns.
func (s *Store) carry(ctx context.Context, b *plan.Book, op plan.Operation) (Reply, error) {
	if job, maybe := b.Target(op); job != "" {
		reply, err := s.onJob(ctx, b, job, op)
		var fault *events.Fault
		if !maybe || !errors.As(err, &fault) || fault.Code != events.CodeNotFound || fault.Field != jobField {
			return reply, err
		}
	}
	text, err := b.Do(op)
	if err != nil {
		return Reply{}, err
	}
	reply := Reply{Text: text, Active: b.Active}
	switch op.Command {
	case plan.OpList:
		reply.Plans = b.Boards
	case plan.OpDelete:
	default:
		reply.Plan = b.Board(cmp.Or(op.PlanID, b.Active))
	}
	if op.Command == plan.OpGet && reply.Plan != nil {
		reply.Request, err = reply.Plan.Request()
	}
	return reply, err
}
