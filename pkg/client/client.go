package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// source is the CloudEvents source of a client's events.
const source = "jobgraph/client"

// Errors that callers branch on. Errors of package bus are returned as well.
var (
	// ErrNotFound means that there is no such job, SubJob or request.
	ErrNotFound = bus.ErrNotFound
	// ErrConflict means that another writer was first, or that the job is not in the expected state.
	ErrConflict = bus.ErrConflict
	// ErrQuarantined means that the job is in quarantine: the scheduler does not handle it until the cause is repaired.
	ErrQuarantined = errors.New("the job is in quarantine")
)

// Client gives access to one Jobgraph. It is safe for concurrent use. Its many methods are the operations on jobs;
// everything else is in parts.
type Client struct {
	bus   *bus.Bus
	owned bool
}

// New returns a client on a bus that the caller closes.
func New(b *bus.Bus) *Client { return &Client{bus: b} }

// Connect connects to the bus; Close closes the connection. Errors: those of bus.Connect.
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

// Bus returns the connection.
func (c *Client) Bus() *bus.Bus { return c.bus }

// Names returns the names of subjects and streams under this bus's prefix.
func (c *Client) Names() events.Names { return c.bus.Names() }

// Schedules returns the operations on schedules.
func (c *Client) Schedules() Schedules { return Schedules{c} }

// Sessions returns the operations on sessions that belong to no user; see Sessions.As.
func (c *Client) Sessions() Sessions { return Sessions{client: c} }

// Knowledge returns the operations on documents that experts may read.
func (c *Client) Knowledge() Knowledge { return Knowledge{c} }

// DeadLetters returns the operations on what no service could handle.
func (c *Client) DeadLetters() DeadLetters { return DeadLetters{c} }

// Archive returns the export and import of jobs.
func (c *Client) Archive() Archive { return Archive{c} }

// Quarantine returns the operations on quarantined jobs.
func (c *Client) Quarantine() Quarantine { return Quarantine{c} }

// Logs reads jobs from their logs.
func (c *Client) Logs() Logs { return Logs{c} }

// Journals returns the operations that read the records of runs.
func (c *Client) Journals() Journals { return Journals{c} }

// Experts returns the operations on the cards of experts.
func (c *Client) Experts() Experts { return Experts{c} }

// notFound returns the error for a job that does not exist.
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
