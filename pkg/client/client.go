package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// source is the CloudEvents source of what a client states.
const source = "jobgraph/client"

// Errors that callers branch on; those of package bus come through as well.
var (
	// ErrNotFound means that there is no such job, SubJob or request.
	ErrNotFound = bus.ErrNotFound
	// ErrConflict means that somebody else was first, or that the job no longer is as expected.
	ErrConflict = bus.ErrConflict
	// ErrQuarantined means that the scheduler leaves the job alone until somebody repairs something: its state does not move.
	ErrQuarantined = errors.New("the job is in quarantine")
)

// Client speaks to one Jobgraph. It may be used by any goroutine. Its methods are many because each verb about jobs is one; what is not about
// a job is in parts.
type Client struct {
	bus   *bus.Bus
	owned bool
}

// New works over a bus of the caller, who closes it.
func New(b *bus.Bus) *Client { return &Client{bus: b} }

// Connect reaches the bus by itself; Close ends that. Errors: those of bus.Connect.
func Connect(ctx context.Context, o bus.Options) (*Client, error) {
	if o.Name == "" {
		o.Name = "jobgraph-client"
	}
	b, err := bus.Connect(ctx, o)
	if err != nil {
		return nil, err
	}
	return &Client{bus: b, owned: true}, nil
}

// Close ends a connection that Connect made.
func (c *Client) Close() {
	if c.owned {
		c.bus.Close()
	}
}

// Bus is the connection itself.
func (c *Client) Bus() *bus.Bus { return c.bus }

// Names are the names on this bus.
func (c *Client) Names() events.Names { return c.bus.Names() }

// Schedules are what recurs.
func (c *Client) Schedules() Schedules { return Schedules{c} }

// Sessions are the conversations.
func (c *Client) Sessions() Sessions { return Sessions{c} }

// Knowledge is what the experts of sessions may look things up in.
func (c *Client) Knowledge() Knowledge { return Knowledge{c} }

// DeadLetters are the messages that no service could handle.
func (c *Client) DeadLetters() DeadLetters { return DeadLetters{c} }

// Archive moves whole jobs.
func (c *Client) Archive() Archive { return Archive{c} }

// Quarantine is about jobs that the scheduler leaves alone.
func (c *Client) Quarantine() Quarantine { return Quarantine{c} }

// Logs reads jobs out of their logs.
func (c *Client) Logs() Logs { return Logs{c} }

// Journals are the records of runs.
func (c *Client) Journals() Journals { return Journals{c} }

// Experts are the cards that are known.
func (c *Client) Experts() Experts { return Experts{c} }

// notFound says that a job does not exist.
func notFound(job string) error {
	return fmt.Errorf("%w: %w", ErrNotFound, &events.Fault{
		Code: events.CodeNotFound, Field: "job", Message: fmt.Sprintf("there is no job %.80q", job), Hint: "jobgraph list shows the jobs there are",
	})
}

func checkID(job string) error {
	if !events.ValidToken(job) {
		return fmt.Errorf("%w: %w", ErrNotFound, &events.Fault{
			Code: events.CodeInvalid, Field: "job", Message: fmt.Sprintf("%.80q is no job id", job), Hint: "an id has 1 to 64 of A-Z a-z 0-9 _ -",
		})
	}
	return nil
}
