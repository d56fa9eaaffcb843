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
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/meter"
)

// Settings are what a Loop is made of. Every field without a default is needed.
type Settings struct {
	// Names reads subjects; Owner is who claims, unique to this process.
	Names events.Names
	Owner string
	// Experts are those that this runner has at first, by id; see Serve.
	Experts map[string]*expert.Expert
	// Concurrency is how many experts work at once. Calls is how many of those that wait for the answers of others do, beside them;
	// 0 counts these like any other.
	Concurrency, Calls int
	// AckWait is how long the broker waits for a sign of life; 5 s when 0.
	AckWait time.Duration
	// StartedAfter is how long a run lasts before subjob.started is told; 50 ms when 0.
	StartedAfter time.Duration
	// Journal, Log, States, Blobs, Files and Knowledge are the bus.
	Journal   lease.Journal
	Log       Log
	States    States
	Blobs     Blobs
	Files     Files
	Knowledge Knowledge
	// Meter counts.
	Meter *meter.Meter
	// Trace begins a span under a traceparent, with attributes by name and value, and gives the traceparent of the span and
	// what ends it; nil without a collector.
	Trace func(parent, name string, attributes ...string) (traceparent string, end func(failure string, attributes ...string))
	// Secrets are taken out of what experts bring back before anybody uses it or cuts it; nil holds none.
	Secrets *redact.Set
	// Logger hears what people should.
	Logger *slog.Logger
	// Hook is called at every boundary between effects; nil in production.
	Hook Hook
}

// Loop executes work.
type Loop struct {
	Settings
	runs *registry
	exec chan struct{} // Holds one token for each expert at work.
	// calls holds one for each that waits for the answers of others; nil when exec does.
	calls chan struct{}
	said  *seldom
	// roster is who works here; change serialises its replacement.
	roster atomic.Pointer[roster]
	change sync.Mutex
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
	l := &Loop{Settings: s, runs: newRegistry(), exec: make(chan struct{}, s.Concurrency), said: newSeldom(time.Minute)}
	if s.Calls > 0 {
		l.calls = make(chan struct{}, s.Calls)
	}
	l.roster.Store(&roster{})
	l.Serve(s.Experts)
	return l
}

// Serve changes who works here. Runs in hand end with the expert that they began with; one that is on no roster any more is
// closed when its last run has ended.
func (l *Loop) Serve(experts map[string]*expert.Expert) {
	l.change.Lock()
	defer l.change.Unlock()
	l.serve(experts)
}

// Run takes work from a source until intake ends, then waits for the runs it began: they may go on until work ends, and
// are killed and handed back then. window bounds the messages in hand while runs are quick; else there are as many as may
// work at once. It returns when nothing is left; an error is the source's.
func (l *Loop) Run(work, intake context.Context, source Source, window int) error {
	t := &taker{loop: l, intake: intake, source: source, hands: newTide(l.Concurrency, window, l.Calls), ended: make(chan error, 1)}
	t.runs = newCrew(t.turn, func(d *Delivery) {
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

// taker takes work, turn by turn. The holder of the turn runs the first delivery that it brings by itself, and gives the turn
// to another: nothing has to be handed over between the arrival of work and its beginning.
type taker struct {
	loop   *Loop
	intake context.Context
	source Source
	hands  *tide
	runs   *crew
	ended  chan error // Has room for the one result there will be.
}

// turn takes one batch and gives its first delivery; nil at the end of intake, and of the source.
func (t *taker) turn() *Delivery {
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

// Cancel tells the runs of a job, or of one SubJob of it, to end now: all of them, or those up to a run.
func (l *Loop) Cancel(job, subjob string, run int, reason string) {
	for _, r := range l.runs.of(job) {
		if (subjob == "" || r.SubJob == subjob) && (run == 0 || r.Run <= run) {
			r.cancel(&cancelled{reason: reason})
		}
	}
}

// Renew makes every run renew its claim now: after a reconnect, one that missed its cancellation finds its run closed.
func (l *Loop) Renew() {
	for _, r := range l.runs.all() {
		r.pulse.now()
	}
}

// Busy is how many runs are in hand.
func (l *Loop) Busy() int { return l.runs.len() }
