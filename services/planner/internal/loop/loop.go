package loop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events/store"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run/lease"
	"github.com/jobgraph/jobgraph/pkg/service/queue"
	"github.com/jobgraph/jobgraph/services/planner/internal/plan"
	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

// Settings are the parts of a Loop. Every field without a default is required.
type Settings struct {
	// Names parses and builds subjects.
	Names events.Names
	// Concurrency is how many plans are computed at once.
	Concurrency int
	// ExpertWait is how long a plan with unknown experts waits for them; 0 does not wait.
	ExpertWait time.Duration
	// Options are the options of plan checks; the limit on steps comes with the work.
	Options plan.Options
	// Owner is the name in claims, unique to this process.
	Owner string
	// Source delivers work; Log, Journal, Blobs and Catalog are the parts of the bus.
	Source  Source
	Log     Log
	Journal lease.Journal
	Blobs   Blobs
	Catalog Catalog
	// Pooled has the experts that are asked report on subjects that name their pool.
	Pooled bool
	// Journaled reports with ok whether the runners may write to journals only on the subjects of their pools; it is called only if
	// Pooled is true.
	Journaled func() (since time.Time, ok bool)
	// Dispatcher issues work to the experts that are asked before planning.
	Dispatcher Dispatcher
	// History reads earlier turns of a session; may be nil.
	History History
	// Knowledge searches bases of knowledge; may be nil.
	Knowledge Knowledge
	// Cache stores plans for identical requests; may be nil.
	Cache Cache
	// Profiles hold the rules of planning. Model is the model, or nil. Read finds JSON in a model's text.
	Profiles Profiles
	Model    Model
	Read     planning.Reader
	// Items returns the sink of the live items of a run; nil if there is none.
	Items func(job, subjob string, run int) Items
	// Meter counts outcomes.
	Meter Meter
	// Trace begins a span under a traceparent, with attributes by name and value. It returns the span's traceparent and a
	// function that ends it; nil without a collector.
	Trace func(parent, name string, attributes ...string) (traceparent string, end func(failure string, attributes ...string))
	// Logger gets one line for each thing that an operator should know.
	Logger *slog.Logger
	// Hook is called at every boundary between effects; nil in production.
	Hook Hook
}

// Loop takes planning work and publishes its outcomes.
type Loop struct {
	Settings
	busy chan struct{} // Holds one token per run that computes.
	runs runs
}

// window limits how many deliveries are taken and not settled. One that waits for an expert costs little and blocks no other.
const window = 256

// New returns a loop.
func New(s Settings) *Loop {
	return &Loop{Settings: s, busy: make(chan struct{}, max(1, s.Concurrency))}
}

// Run takes messages until the context intake ends, then finishes what it has taken. When the context work ends, it gives the rest
// back. Errors: those of the source and the hook.
func (l *Loop) Run(work, intake context.Context) error {
	work, end := context.WithCancelCause(work)
	defer end(nil)
	intake, stop := context.WithCancel(intake)
	defer stop()
	hands := make(chan struct{}, window)
	var all sync.WaitGroup
	err := l.take(intake, hands, func(d queue.Delivery) {
		all.Go(func() { // Ends with the delivery, at the latest when work ends.
			defer func() { <-hands }()
			if err := l.handle(work, intake, &d); err != nil {
				end(err)
				stop()
			}
		})
	})
	all.Wait()
	var dead crash
	if errors.As(context.Cause(work), &dead) {
		l.Source.Stop()
		return dead.error
	}
	l.Source.Drain(work)
	return err
}

// take starts each delivery once it has a token from hands.
func (l *Loop) take(ctx context.Context, hands chan struct{}, begin func(queue.Delivery)) error {
	for {
		select {
		case hands <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		d, err := l.Source.Next(ctx)
		if err == nil {
			begin(d)
			continue
		}
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("take planning work: %w", err)
	}
}

// handle answers one delivery and settles it. It returns an error only for a crash of the hook.
func (l *Loop) handle(work, intake context.Context, d *queue.Delivery) error {
	started := time.Now()
	if err := l.Hook.at(AtTaken); err != nil {
		return err
	}
	span := l.span(d)
	w, fault, ok := l.order(d)
	if !ok {
		l.Logger.Warn("message is not planning work", "subject", d.Subject)
		l.Meter.Decided(Outcome{})
		l.settled(d, d.Receipt.Term(noRun))
		span.end(noRun, "")
		return nil
	}
	e, outcome, err := l.answer(work, intake, d, w, fault)
	if err == nil {
		e.Trace = d.Trace
		outcome, err = l.state(work, e, outcome)
	}
	var dead crash
	switch {
	case errors.As(err, &dead):
		return dead
	case err != nil:
		span.end(l.giveBack(w, d, err), "")
		return nil
	}
	l.settled(d, d.Receipt.Ack())
	span.end("", outcome.stated())
	outcome.Took = time.Since(started)
	l.Meter.Decided(outcome)
	l.tell(work, w, outcome)
	return l.Hook.at(AtAcked)
}

// noRun is the reason why a message is not work.
const noRun = "its subject names no run"

// settled logs that an acknowledgement could not be sent. The broker delivers again, which is harmless.
func (l *Loop) settled(d *queue.Delivery, err error) {
	if err != nil {
		l.Logger.Debug("cannot settle delivery", "subject", d.Subject, "error", err)
	}
}

// giveBack settles work that has no outcome here, and returns what its span records.
func (l *Loop) giveBack(w *events.Work, d *queue.Delivery, err error) (failure string) {
	var busy *busyError
	var later *Later
	wait := backOff(d.Count)
	switch {
	case errors.Is(err, errOver):
		l.log(w).Debug("planning work dropped", "reason", err)
		l.settled(d, d.Receipt.Ack())
		return ""
	case errors.Is(err, errLost):
		l.log(w).Warn("planning abandoned", "reason", err) // Another planner has the delivery by now.
		return err.Error()
	case errors.As(err, &busy):
		wait = busy.wait
	case errors.As(err, &later):
		l.log(w).Info("planning waits for the model", "after", later.After, "error", later.Why)
		wait = later.After
	default:
		l.log(w).Warn("retrying planning", "error", err)
	}
	l.settled(d, d.Receipt.Nak(wait))
	return "given back"
}

// state publishes a fact. If the fact exists already, that counts as success.
func (l *Loop) state(ctx context.Context, e events.Event, o Outcome) (Outcome, error) {
	if err := l.Hook.at(AtPublish); err != nil {
		return o, err
	}
	stored, err := l.Log.Once(e)
	if err == nil {
		_, err = stored.Wait(ctx)
	}
	if errors.Is(err, store.ErrConflict) {
		o.Repeated, err = true, nil
	}
	if err != nil {
		return o, fmt.Errorf("state %s: %w", e.Kind, err)
	}
	return o, l.Hook.at(AtPublished)
}

// backOff grows from half a second to half a minute.
func backOff(count int) time.Duration {
	return min(30*time.Second, 500*time.Millisecond<<min(max(count, 1)-1, 6))
}

func (l *Loop) log(w *events.Work) *slog.Logger {
	return l.Logger.With("job", w.Job, "subjob", w.SubJob, "run", w.Run)
}

func (l *Loop) tell(ctx context.Context, w *events.Work, o Outcome) {
	if !l.Logger.Enabled(ctx, slog.LevelInfo) {
		return
	}
	log := l.log(w)
	switch {
	case o.Repeated:
		log.Debug("planning was finished before")
	case o.Kind == events.KindPlanRejected:
		log.Info("plan rejected", "faults", len(o.Faults), "first", o.Faults[0].Error())
	default:
		log.Info("planning finished", "kind", string(o.Kind), "steps", o.Steps, "took", o.Took)
	}
}
