package loop

import (
	"context"
	"errors"

	"github.com/jobgraph/jobgraph/pkg/events/store"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// outbox owns the commands that were sent and are not acknowledged yet. It sends pending commands in batches. Until the acks of a
// batch have arrived, nothing else of its jobs is sent, applied or saved; other jobs continue.
type outbox struct {
	*env
	beside    *beside
	cache     *cache
	isolator  *isolator
	admission *admission
	builder   *workBuilder
	// paces decides by expert whether work is batched.
	paces paces
}

// inFlightBatch has the commands that were sent together.
type inFlightBatch struct {
	jobs    []*job
	pending []pendingAck
	spans   spans
}

// pendingAck is a command whose ack is outstanding.
type pendingAck struct {
	job *job
	cmd *graph.Command
	ack Ack
	err error
}

// maxInFlight is the number of batches in flight above which no events are fetched.
const maxInFlight = 64

// full reports whether so many batches are in flight that no events should be fetched.
func (o *outbox) full() bool { return o.beside.underWay[batches] >= maxInFlight }

// send sends the pending commands of list; none may have a batch in flight. It takes ownership of list.
func (o *outbox) send(ctx context.Context, list []*job) error {
	if len(list) == 0 {
		return nil
	}
	b := &inFlightBatch{}
	s := &sending{outbox: o, batch: b, packer: packer{env: o.env}}
	for _, j := range list {
		if err := s.issue(ctx, j); err != nil {
			return err
		}
	}
	if err := s.packer.flush(); err != nil || len(b.pending) == 0 {
		return err
	}
	b.jobs = list[:0]
	for i := range b.pending {
		if j := b.pending[i].job; j.phase != inFlight && o.cache.move(j, inFlight) {
			b.jobs = append(b.jobs, j)
		}
	}
	o.beside.begin(batches, func() result { // Ends with the last ack, or with the publisher's timeout.
		b.wait(ctx)
		return b
	})
	return nil
}

// wait waits for all acks, beginning with the last: most others have arrived by then.
func (b *inFlightBatch) wait(ctx context.Context) {
	for i := len(b.pending) - 1; i >= 0; i-- {
		if s := &b.pending[i]; s.err == nil && s.ack != nil {
			_, s.err = s.ack.Wait(ctx)
		}
	}
}

// crashed returns the first error that must end the partition.
func (b *inFlightBatch) crashed() error {
	for i := range b.pending {
		if err := b.pending[i].err; crashed(err) {
			return err
		}
	}
	return nil
}

// settle decides what the outcome of a command means for its job.
func (o *outbox) settle(ctx context.Context, s *pendingAck) error {
	j := s.job
	switch {
	case s.err == nil:
		o.count(s.cmd)
		if s.cmd.Kind == graph.EndJob {
			j.reminder.armed = false
		}
	case errors.Is(s.err, store.ErrConflict) && s.cmd.Kind == graph.EndJob:
		// A control event has arrived since, so the end must be decided again.
		o.cache.drop(j)
		return s.err
	case errors.Is(s.err, store.ErrConflict):
		// The message exists already: an earlier process or another scheduler has published it.
	case errors.Is(s.err, store.ErrUnknown):
		o.cache.drop(j)
		return s.err
	case errors.Is(s.err, errNoEnd):
		o.cache.distrust(j)
		return s.err
	case errors.Is(s.err, store.ErrTooLarge) && s.cmd.Kind == graph.RunSubJob:
		if err := o.refuse(ctx, j, s.cmd, s.err); err != nil {
			return err
		}
	default:
		return s.err
	}
	j.state.Sent(s.cmd.CommandID)
	j.retry.failures = 0
	return nil
}

// count updates the metrics with what this scheduler itself has published.
func (o *outbox) count(cmd *graph.Command) {
	switch cmd.Kind {
	case graph.StateFact, graph.CloseInput:
		o.Meter.Count(Published, string(cmd.Fact))
		if cmd.Fact == events.KindGraphReplaced {
			o.Meter.Count(Replanned, replanned(cmd))
		}
	case graph.EndJob:
		o.Meter.Count(Published, string(cmd.Fact))
		if end, ok := cmd.Data.(*events.JobEnded); ok {
			o.Meter.Count(Ended, string(end.Status))
		}
	case graph.CloseRun:
		o.Meter.Count(Published, string(events.KindSubJobClosed))
	}
}
