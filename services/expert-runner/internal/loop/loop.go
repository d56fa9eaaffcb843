package loop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/redact"
	"github.com/jobgraph/jobgraph/pkg/run/lease"
	"github.com/jobgraph/jobgraph/pkg/service/queue"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/meter"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// Settings configure a Loop. Every field without a default is required.
type Settings struct {
	// Names reads subjects; Owner is the name in claims, unique to this process.
	Names events.Names
	Owner string
	// Experts are the initial experts of this runner by id; see Serve.
	Experts map[string]*expert.Expert
	// Concurrency is how many experts execute at once. Calls is how many experts that wait for answers from elsewhere may execute
	// in addition; 0 counts these like any other.
	Concurrency, Calls int
	// AckWait is the consumer's ack wait; 5 s if 0.
	AckWait time.Duration
	// StartedAfter is how long a run lasts before subjob.started is published; 50 ms if 0.
	StartedAfter time.Duration
	// Journal, Log, States, Blobs and Files access the bus, and so do Knowledge and Memory, which may be nil: then there are no
	// documents, and nothing is remembered.
	Journal   lease.Journal
	Log       Log
	States    States
	Blobs     Blobs
	Files     Files
	Knowledge Knowledge
	Memory    Memory
	// Contexts keeps the ids by which remote agents know sessions; nil without.
	Contexts Contexts
	// Live returns the sink of the live items of a run; nil if there is none.
	Live func(o *task.Order) Items
	// Meter counts what the loop does, for metrics.
	Meter *meter.Meter
	// Trace begins a span under a traceparent, with attributes by name and value, and returns the traceparent of the span and a
	// function that ends it; nil without a collector.
	Trace func(parent, name string, attributes ...string) (traceparent string, end func(failure string, attributes ...string))
	// Secrets are removed from what experts return before it is used or cut; nil means none.
	Secrets *redact.Set
	// Logger gets one line for each thing that an operator should know.
	Logger *slog.Logger
	// Hook is called at every boundary between effects; nil in production.
	Hook Hook
}

// Loop takes work from sources, executes it with the experts that it offers, and reports.
type Loop struct {
	Settings
	runs *registry
	exec chan struct{} // Holds one token for each expert at work.
	// calls holds a token for each run that waits for others; nil if exec counts these too.
	calls  chan struct{}
	said   *rateLimitedLog
	briefs briefCache
	// offered are the current experts; change serialises their replacement.
	offered atomic.Pointer[offered]
	change  sync.Mutex
}

// Defaults of Settings.
const (
	defaultAckWait      = 5 * time.Second
	defaultStartedAfter = 50 * time.Millisecond
)

// New makes a loop.
func New(s Settings) *Loop {
	if s.AckWait == 0 {
		s.AckWait = defaultAckWait
	}
	if s.StartedAfter == 0 {
		s.StartedAfter = defaultStartedAfter
	}
	l := &Loop{Settings: s, runs: newRegistry(), exec: make(chan struct{}, s.Concurrency), said: newRateLimitedLog(time.Minute)}
	if s.Calls > 0 {
		l.calls = make(chan struct{}, s.Calls)
	}
	l.offered.Store(&offered{})
	l.Serve(s.Experts)
	return l
}

// Serve replaces the experts. Runs that have begun keep their expert; one that is no longer offered is closed when its last run has
// ended.
func (l *Loop) Serve(experts map[string]*expert.Expert) {
	l.change.Lock()
	defer l.change.Unlock()
	l.serve(experts)
}

// Run takes work from a source until intake ends, then waits for the runs it started: they may continue until work ends, and are
// then killed and given back. window limits the messages in progress while runs are quick; otherwise the concurrency does. It
// returns when all runs have ended; an error is the source's.
func (l *Loop) Run(work, intake context.Context, source Source, window int) error {
	t := &taker{loop: l, intake: intake, source: source, hands: newAdaptiveLimit(l.Concurrency, window, l.Calls), ended: make(chan error, 1)}
	t.runs = newWorkerPool(t.turn, func(d *queue.Delivery) {
		quick, call := false, l.calling(d.Subject)
		if call {
			t.hands.call()
		}
		defer func() { t.hands.done(call, quick) }()
		quick = l.handle(work, d)
	})
	t.runs.run(nil)
	err := <-t.ended
	source.Stop()
	t.runs.rest()
	return err
}

// taker takes work in turns. The goroutine that has the turn runs the first delivery of its batch itself and passes the turn on,
// so that no handover delays the work.
type taker struct {
	loop   *Loop
	intake context.Context
	source Source
	hands  *adaptiveLimit
	runs   *workerPool
	ended  chan error // Has room for the one result.
}

// turn takes one batch and returns its first delivery; nil at the end of intake, or of the source.
func (t *taker) turn() *queue.Delivery {
	free, err := t.hands.take(t.intake, maxBatch)
	if err != nil {
		t.ended <- nil
		return nil
	}
	batch, err := t.source.Next(t.intake, free)
	t.hands.give(free - len(batch))
	if err != nil && t.intake.Err() == nil && !errors.Is(err, context.Canceled) {
		t.ended <- fmt.Errorf("take work: %w", err)
		return nil
	}
	for i := 1; i < len(batch); i++ {
		t.runs.run(&batch[i])
	}
	if t.intake.Err() != nil {
		t.ended <- nil
	} else {
		t.runs.run(nil)
	}
	if len(batch) == 0 {
		return nil
	}
	return &batch[0]
}

// maxBatch bounds the messages taken at once.
const maxBatch = 256

// Cancel cancels the runs of a job, or of one SubJob: all of them, or those up to a run.
func (l *Loop) Cancel(job, subjob string, run int, reason string) {
	for _, r := range l.runs.of(job) {
		if (subjob == "" || r.SubJob == subjob) && (run == 0 || r.Run <= run) {
			r.cancel(&cancelled{reason: reason})
		}
	}
}

// Renew makes every run renew its claim now: after a reconnect, a run that missed its cancellation finds itself closed.
func (l *Loop) Renew() {
	for _, r := range l.runs.all() {
		r.heartbeat.now()
	}
}

// Busy is the number of runs in progress.
func (l *Loop) Busy() int { return l.runs.len() }
