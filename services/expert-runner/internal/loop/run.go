package loop

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/brief"
	jobrun "github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/pkg/run/lease"
	"github.com/jobgraph/jobgraph/pkg/service/queue"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/meter"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// Delays before a message that this runner cannot execute now is delivered again.
const (
	retryUnknown = time.Second
	retryFailed  = time.Second
)

// quickRun is the duration up to which a run is quick and raises the limit of messages in progress.
const quickRun = 20 * time.Millisecond

// run is one delivery of one run, until its acknowledgement.
type run struct {
	*task.Order
	loop       *Loop
	id         string
	expert     *expert.Expert
	gate       chan struct{} // The expert's own; nil if only the runner's limit counts.
	meter      *meter.Expert
	delivery   *queue.Delivery
	base       context.Context // Ends with the process; a run is the life of one delivery.
	ctx        context.Context // Ends with the run; others end it by cancel.
	cancel     context.CancelCauseFunc
	heartbeat  heartbeat
	hold       *lease.Lease                // nil for pure experts, and before the claim.
	claimed    atomic.Pointer[lease.Lease] // The same as hold, for listing the runs.
	taken      time.Time                   // When the delivery was accepted.
	leaseWatch leaseWatch
	started    time.Time
	// announced is true once the journal has the expert's first effect, with the claim or after it.
	announced bool
	quick     bool // The expert finished in less than quickRun.
	span      span

	payloads payloads
	rest     *brief.Rest // What the brief leaves out; nil for nothing.
	effects  effects
	watched  watched
	// decision is what is unknown or decided about effects; nil for runs with nothing to settle or ask. It is set before the
	// expert runs.
	decision *task.Decision
}

// handle processes one delivery. It reports whether the expert was quick.
func (l *Loop) handle(work context.Context, d *queue.Delivery) (quick bool) {
	o, err := task.Read(l.Names, d.Subject, d.Body)
	if err != nil {
		l.malformed(work, o, d, err)
		return false
	}
	x := l.use(o.Expert)
	if x == nil {
		l.unknown(o, d)
		return false
	}
	defer x.done()
	if x.Runner == nil {
		l.unknown(o, d)
		return false
	}
	r := &run{Order: o, loop: l, id: o.ID(), expert: x.Expert, gate: x.gate, meter: x.meter, delivery: d, taken: time.Now()}
	r.base, r.leaseWatch.run, r.effects.run, r.watched.run = work, r, r, r
	r.payloads = payloads{l, o.Job}
	r.ctx, r.cancel = context.WithCancelCause(work)
	defer r.cancel(nil)
	if !l.runs.add(r) {
		// The broker redelivered because in-progress came too late; the other goroutine will settle the work.
		l.settled(d, d.Receipt.Nak(o.Lease.Std()))
		return false
	}
	defer l.runs.remove(r)
	defer r.heartbeat.stop()
	r.work()
	return r.quick
}

// unknown gives back work for an expert that this runner does not have. All runners of a pool must serve all its experts; until one
// does, the message is delivered once a second.
func (l *Loop) unknown(o *task.Order, d *queue.Delivery) {
	l.Meter.Diverted("unknown_expert")
	if l.said.let(o.Expert) {
		l.Logger.Warn("returning work for an expert that this runner does not have", "expert", o.Expert, "pool", o.Pool,
			"hint", "all runners of a pool must serve all its experts: give this one its card, or the expert its own pool")
	}
	l.settled(d, d.Receipt.Nak(retryUnknown))
}

// work executes the run. The order of its effects is: claim, execute, journal, report, acknowledge.
func (r *run) work() {
	r.meter.Waited(time.Since(r.delivery.Stored))
	if r.loop.Trace != nil {
		r.delivery.Trace, r.span.close = startSpan(r)
	}
	ending, go_ := r.admit()
	if !go_ {
		return
	}
	if r.loop.at(AfterClaim, r) != nil {
		return
	}
	if r.decision != nil {
		ending = r.effects.resolve()
	}
	if ending == nil {
		e, entered := r.enter()
		if !entered {
			r.abandon(context.Cause(r.ctx))
			return
		}
		ending = &e
	}
	if r.loop.at(AfterExecute, r) != nil {
		return
	}
	e, abandoned := judge(r.ctx, *ending)
	if abandoned != nil {
		r.heartbeat.stop()
		r.abandon(abandoned)
		return
	}
	r.end(e)
}

// enter waits for the semaphores of the expert and of the runner, then executes. It returns false if the run ended before it could
// begin.
func (r *run) enter() (task.Ending, bool) {
	if r.gate != nil {
		if !r.pass(r.gate) {
			return task.Ending{}, r.turnedAway()
		}
		defer func() { <-r.gate }()
	}
	places := r.loop.places(r.expert)
	if !r.pass(places) {
		return task.Ending{}, r.turnedAway()
	}
	defer func() { <-places }()
	if r.announce() != nil {
		return task.Ending{}, r.stopped()
	}
	return r.execute(), true
}

func (r *run) pass(gate chan struct{}) bool {
	select {
	case gate <- struct{}{}:
		return true
	default:
	}
	select {
	case gate <- struct{}{}:
		return true
	case <-r.ctx.Done():
		return false
	}
}

// announce journals the expert's first effect, unless the claim contains it.
func (r *run) announce() error {
	first := r.expert.Intent
	if r.hold == nil || r.announced || first.Name == "" {
		return nil
	}
	if err := r.effects.intend(r.ctx, first); err != nil {
		return err
	}
	r.announced = true
	return r.loop.at(BetweenEffect, r)
}

// turnedAway journals that the effect in the claim has not begun, so that no person is asked about it. It returns stopped.
func (r *run) turnedAway() bool {
	first := r.expert.Intent
	if r.announced && !first.Safe && !isCrash(context.Cause(r.ctx)) {
		r.hold.Conclude(context.WithoutCancel(r.ctx), jobrun.NotBegun(r.Run, r.loop.Owner, first))
	}
	return r.stopped()
}

// stopped reports whether the run was cancelled while it waited: then it is reported like any other.
func (r *run) stopped() bool {
	var stop *cancelled
	return errors.As(context.Cause(r.ctx), &stop)
}

// execute runs the expert under its limits.
func (r *run) execute() task.Ending {
	r.meter.Began()
	defer r.meter.Ended()
	r.started = time.Now()
	defer func() { r.quick = time.Since(r.started) < quickRun }()
	ctx := r.ctx
	if at, code := expert.Limit(&r.Work, &r.expert.Card, time.Now()); !at.IsZero() {
		limited, stop := context.WithDeadlineCause(ctx, at, &overdue{code: code})
		defer stop()
		ctx = limited
		unhook := context.AfterFunc(limited, func() { r.cancel(context.Cause(limited)) })
		defer func() {
			unhook()
			if limited.Err() != nil {
				r.cancel(context.Cause(limited)) // The expert may return before or while the hook runs.
			}
		}()
	}
	t := &expert.Task{
		Work: &r.Work, Rest: r.rest, Owner: r.loop.Owner, Trace: r.delivery.Trace, Log: slog.New(&runLog{run: r}), Hand: &r.effects, Payload: r.payloads.fetch, Keep: r.payloads.store,
		Claim: &r.leaseWatch, Shelf: r.shelf, Memory: r.memory(), Items: r.watched.show, Logged: r.watched.logged,
	}
	if r.Session != "" && r.loop.Contexts != nil {
		t.Contexts = contexts{r}
	}
	return r.expert.Runner.Run(ctx, t)
}

func (r *run) log() *slog.Logger {
	return r.loop.Logger.With("job", r.Job, "subjob", r.SubJob, "run", r.Run, "attempt", r.Attempt, "expert", r.Expert)
}

// abandon leaves a run to another delivery and releases the claim, so that the next owner need not wait for the lease.
func (r *run) abandon(why error) {
	if isCrash(why) {
		return
	}
	r.watched.end(false)
	r.log().Warn("run abandoned", "error", why)
	if r.span.close != nil {
		r.span.close("abandoned: " + why.Error())
	}
	r.loop.Meter.Diverted("abandoned")
	if isFenced(why) {
		return // The other runner has the delivery.
	}
	if r.hold != nil {
		r.hold.Release(r.ctx)
	}
	r.loop.settled(r.delivery, r.delivery.Receipt.Nak(retryFailed))
}

// settled logs an acknowledgement that could not be sent: the message comes again, which every path handles.
func (l *Loop) settled(d *queue.Delivery, err error) {
	if err != nil {
		l.Logger.Debug("cannot settle delivery", "subject", d.Subject, "error", err)
	}
}

// state publishes an event of the run without waiting.
func (r *run) state(kind events.Kind, data any) {
	r.loop.Meter.Published(kind)
	r.loop.Log.Tell(events.Event{
		Kind: kind, Job: r.Job, SubJob: r.SubJob, Run: r.Run, Pool: r.Facts, Source: source, Data: data, Trace: r.delivery.Trace,
		ID: jobrun.EventID(r.Job, kind, r.SubJob, r.Run),
	})
}
