package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// ErrNotAdmitted means that the job does not exist yet: its request waits in the queue. It also matches ErrNotFound.
var ErrNotAdmitted = errors.New("not admitted yet")

// Waiting reports whether the request of a job waits for admission, and how many are before it in the queue. A request
// without an id cannot be found, since it gets one only at admission. Errors: those of the bus.
func (c *Client) Waiting(ctx context.Context, job string) (ahead int, waits bool, err error) {
	for m, err := range c.bus.Log().Requests(ctx) {
		if errors.Is(err, bus.ErrNotFound) || errors.Is(err, bus.ErrNotPermitted) {
			return 0, false, nil // A client without permission to read the queue sees none.
		}
		if err != nil {
			return 0, false, err
		}
		if bus.RequestedID(m.Body) == job {
			return ahead, true, nil
		}
		ahead++
	}
	return 0, false, nil
}

// absent returns the error for a job that is not in the log.
func (c *Client) absent(ctx context.Context, job string) error {
	ahead, waits, err := c.Waiting(ctx, job)
	if err != nil || !waits {
		return notFound(job) // The queue only adds detail to the error.
	}
	f := &events.Fault{
		Code: events.CodeNotFound, Field: "job",
		Message: fmt.Sprintf("job %s is not admitted yet: its request waits in the queue, behind %d others", job, ahead),
		Hint:    "wait, or `jobgraph stop " + job + "`; `jobgraph doctor` says whether a scheduler is there",
	}
	soon, cancel := context.WithTimeout(ctx, admissionBound)
	defer cancel()
	if closed, err := SupplyOf(c).Admission(soon); err == nil && closed != nil { // This too only adds detail.
		f.Message += "; " + closed.Message + ": " + closed.Cause
		f.Hint = closed.Hint + "; or `jobgraph stop " + job + "`"
	}
	return fmt.Errorf("%w: %w: %w", ErrNotFound, ErrNotAdmitted, f)
}

// admissionBound limits the wait for the answer why no job is admitted.
const admissionBound = time.Second
