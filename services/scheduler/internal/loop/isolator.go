package loop

import (
	"context"
	"errors"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/events/store"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// quarantine is the error of a job that must not be touched until it is repaired.
type quarantine struct{ fault events.Fault }

// Error is the fault's text.
func (q *quarantine) Error() string { return q.fault.Error() }

func isQuarantine(err error) bool {
	if err == nil {
		return false
	}
	var q *quarantine
	return errors.As(err, &q)
}

// isolator keeps a fault of one job away from the others.
type isolator struct {
	*env
	cache *cache
	acks  *ackTracker
}

// contain turns a panic about one job into its quarantine.
func (i *isolator) contain(ctx context.Context, j *job, f func() error) error {
	return i.judge(ctx, j, recovered(j.id, f))
}

// judge quarantines a job whose error demands it, and returns any other error.
func (i *isolator) judge(ctx context.Context, j *job, err error) error {
	if err == nil {
		return nil
	}
	var q *quarantine
	if errors.As(err, &q) {
		i.quarantine(ctx, j, q.fault)
		return nil
	}
	return err
}

// recovered returns f's error, or a quarantine if f panics.
func recovered(job string, f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &quarantine{events.Fault{
				Code: events.CodeInternal, Message: "the scheduler panicked about this job",
				Cause: fmt.Sprint(r), Hint: "please report it with `jobgraph export " + job + "`",
			}}
		}
	}()
	return f()
}

// quarantine stops touching a job and makes this visible in its saved state, the metrics and the log. The partition continues. A
// control event makes it try again: `jobgraph dlq retry` publishes one.
func (i *isolator) quarantine(ctx context.Context, j *job, fault events.Fault) {
	i.Meter.Count(Quarantined, string(fault.Code))
	i.Logger.Error("job is quarantined", "job", j.id, "code", string(fault.Code), "error", fault.Error(), "hint", fault.Hint)
	kept := Saved{Revision: j.save.revision}
	if j.state != nil {
		kept.State, _ = marshal(j.state) // Without a state only the mark is stored.
	}
	i.cache.quarantine(j)
	j.retry.clear()
	i.mark(ctx, j, kept, &fault)
}

// marshal encodes the state, which may itself be what causes a panic.
func marshal(state *graph.Job) (data []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			data, err = nil, errors.New("state cannot be written")
		}
	}()
	return state.MarshalJSON()
}

// mark writes the quarantine into the store, over whatever is stored there.
func (i *isolator) mark(ctx context.Context, j *job, kept Saved, fault *events.Fault) {
	_, err := i.States.Save(ctx, j.id, kept, fault)
	for tries := 0; errors.Is(err, store.ErrConflict) && tries < 3; tries++ {
		var stored Saved
		if stored, err = i.States.Load(ctx, j.id); err == nil {
			kept.Revision = stored.Revision
			_, err = i.States.Save(ctx, j.id, kept, fault)
		}
	}
	if err != nil {
		i.Logger.Warn("cannot store the quarantine of a job", "job", j.id, "error", err)
	}
	i.acks.markAll(&j.acks)
}
