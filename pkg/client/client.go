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

// Client speaks to one Jobgraph. It may be used by any goroutine.
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
