package loop

import (
	"context"
	"errors"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// quarantine is the error of a job that has to be left alone until somebody repairs something.
type quarantine struct{ fault events.Fault }

// Error is the fault's text.
func (q *quarantine) Error() string { return q.fault.Error() }

// quarantine leaves a job alone, visibly: in its stored state, the metrics and the log. The partition goes on. A control
// event makes it be tried again: `jobgraph dlq retry` publishes one.
func (p *Partition) quarantine(ctx context.Context, j *job, fault events.Fault) {
	p.Meter.Count(Quarantined, string(fault.Code))
	p.Logger.Error("job is quarantined", "job", j.id, "code", string(fault.Code), "error", fault.Error(), "hint", fault.Hint)
	kept := Saved{Revision: j.revision}
	if j.state != nil {
		kept.State, _ = marshal(j.state) // Without one the mark stands alone.
	}
	if j.step.end != nil { // Commands that were begun do not land.
		j.step.end(fault.Error())
		j.step = span{}
	}
	j.forget()
	j.fault = &fault
	j.owing = false
	p.mark(ctx, j, kept)
}

// marshal writes the state, which may be what the panic was about.
func marshal(state *graph.Job) (data []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			data, err = nil, errors.New("state cannot be written")
		}
	}()
	return state.MarshalJSON()
}

// mark writes the quarantine into the store, against whatever stands there.
func (p *Partition) mark(ctx context.Context, j *job, kept Saved) {
	_, err := p.States.Save(ctx, j.id, kept, j.fault)
	for tries := 0; errors.Is(err, ErrConflict) && tries < 3; tries++ {
		var stored Saved
		if stored, err = p.States.Load(ctx, j.id); err == nil {
			kept.Revision = stored.Revision
			_, err = p.States.Save(ctx, j.id, kept, j.fault)
		}
	}
	if err != nil {
		p.Logger.Warn("quarantine was not stored", "job", j.id, "error", err)
	}
	for _, r := range j.unacked {
		p.ledger.cover(r)
	}
	j.unacked = nil
}

// postpone keeps a job whose effects could not be had, and tries again after a while.
func (p *Partition) postpone(j *job, err error) {
	j.owing = true
	wait := min(p.RetryMost, p.RetryFirst<<min(j.failures, 16))
	j.failures++
	j.retryAt = p.now.Add(wait)
	p.Logger.Warn("job is tried again", "job", j.id, "in", wait, "error", err)
}
