package loop

import (
	"context"
	"errors"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// outbox owns what was sent to the bus and is not acknowledged by it. It sends what states owe, in batches of commands; until the
// acks of a batch are here nothing else is said, applied or saved of its jobs, and the other jobs go on.
type outbox struct {
	*env
	cache     *cache
	isolator  *isolator
	admission *admission
	builder   *workBuilder
	packer    packer
	// paces are those of experts, by which their work goes into batches or by itself.
	paces  paces
	closer closer
	// acked brings the batches whose commands are answered, of which underWay are to come.
	acked    chan *inFlightBatch
	underWay int
}

// inFlightBatch is the commands that were sent at once.
type inFlightBatch struct {
	jobs    []*job
	pending []pendingAck
}

// pendingAck is a command under way.
type pendingAck struct {
	job *job
	cmd *graph.Command
	ack Ack
	err error
}

// maxInFlight bounds the batches that are under way before anything is fetched.
const maxInFlight = 64

func newOutbox(c *cache, i *isolator, a *admission, b *workBuilder) *outbox {
	return &outbox{
		env: b.env, closer: closer{b.env}, cache: c, isolator: i, admission: a, builder: b,
		packer: packer{names: b.Names, open: map[address]*bundle{}, publish: b.publish}, paces: paces{}, acked: make(chan *inFlightBatch, 2*maxInFlight),
	}
}

// full reports whether so much is in flight that nothing more ought to be fetched.
func (o *outbox) full() bool { return o.underWay >= maxInFlight }

// send sends the commands of jobs of which none is in flight. It takes ownership of list.
func (o *outbox) send(ctx context.Context, list []*job) error {
	pending, err := o.issue(ctx, list)
	if err != nil || len(pending) == 0 {
		return err
	}
	b := &inFlightBatch{pending: pending, jobs: list[:0]}
	for i := range pending {
		if j := pending[i].job; j.phase != inFlight && o.cache.move(j, inFlight) {
			b.jobs = append(b.jobs, j)
		}
	}
	o.underWay++
	go func() { // Ends with the last answer, which comes, or does not within the publisher's patience.
		b.wait(ctx)
		o.acked <- b // Taken by the loop, or by awaitAll.
	}()
	return nil
}

// wait takes the answers, the last one first: most are there when it is.
func (b *inFlightBatch) wait(ctx context.Context) {
	for i := len(b.pending) - 1; i >= 0; i-- {
		if s := &b.pending[i]; s.err == nil && s.ack != nil {
			_, s.err = s.ack.Wait(ctx)
		}
	}
}

// crashed gives the first answer that ends the partition.
func (b *inFlightBatch) crashed() error {
	for i := range b.pending {
		if err := b.pending[i].err; crashed(err) {
			return err
		}
	}
	return nil
}

// issue begins everything that the jobs owe now. Runs are closed before anything else of their job is said.
func (o *outbox) issue(ctx context.Context, list []*job) (sent []pendingAck, err error) {
	for _, j := range list {
		err := o.isolator.contain(ctx, j, func() error {
			commands := o.admission.pending(j)
			if o.Trace != nil && len(commands) > 0 {
				o.beginStep(ctx, j, commands)
			}
			closes := 0
			for closes < len(commands) && commands[closes].Kind == graph.CloseRun {
				closes++
			}
			begun := len(sent)
			if closes > 0 {
				sent = append(sent, o.closer.closeRuns(ctx, j, commands[:closes])...)
			}
			for i := closes; i < len(commands); i++ {
				s := pendingAck{job: j, cmd: &commands[i]}
				s.ack, s.err = o.command(ctx, j, s.cmd)
				if crashed(s.err) || isQuarantine(s.err) {
					sent = sent[:begun]
					return s.err
				}
				sent = append(sent, s)
			}
			return nil
		})
		if err != nil {
			return sent, err
		}
	}
	return sent, o.packer.flush()
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
	case errors.Is(s.err, ErrConflict) && s.cmd.Kind == graph.EndJob:
		// A control event came since: what ends, or whether anything does, is to be decided again.
		o.cache.drop(j)
		return s.err
	case errors.Is(s.err, ErrConflict):
		// It is there already: an earlier life, or another scheduler, has said the same.
	case errors.Is(s.err, ErrUnknown):
		o.cache.drop(j)
		return s.err
	case errors.Is(s.err, errNoEnd):
		o.cache.distrust(j)
		return s.err
	case errors.Is(s.err, ErrTooLarge) && s.cmd.Kind == graph.RunSubJob:
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

// count feeds the metrics with what this scheduler, and no other, has stated.
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
