package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events/store"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/jobgraph/jobgraph/pkg/events"
	jobrun "github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/pkg/run/lease"
	"github.com/jobgraph/jobgraph/pkg/service/queue"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/meter"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// world is everything around the loop, in memory. Its lines say in order what was stored and stated.
type world struct {
	latency time.Duration // How long after it is stored a write is answered.

	mu      sync.Mutex // Guards the fields below.
	lines   []string
	journal []jobrun.Entry
	// away says of a record that the bus is away for it, noBlobs how many payloads cannot be stored before one can.
	away    func(events.JournalRecord) bool
	noBlobs int
	back    time.Time // Until then the bus is away for all.
	// unread is how many readings of the journal fail.
	unread int
}

// goes takes the bus away for a while: nothing is read or stored.
func (w *world) goes(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.back = time.Now().Add(d)
}

func (w *world) gone() bool { return time.Now().Before(w.back) }

var errAway = errors.New("the bus is away")

func (w *world) say(format string, args ...any) {
	w.lines = append(w.lines, fmt.Sprintf(format, args...))
}

// answered is a write whose answer takes a while.
type answered struct {
	seq   uint64
	err   error
	after time.Duration
}

func (a answered) Wait(ctx context.Context) (uint64, error) {
	return a.seq, errors.Join(a.err, lease.Pause(ctx, a.after))
}

// Clock is that of the broker, which was last away until back.
func (w *world) Clock(context.Context) (now, since time.Time, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone() {
		return now, since, errAway
	}
	return time.Now(), w.back, nil
}

func (w *world) Read(ctx context.Context, _, _ string) ([]jobrun.Entry, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone() {
		return nil, errAway
	}
	if w.unread > 0 {
		w.unread--
		return nil, errAway
	}
	return slices.Clone(w.journal), ctx.Err()
}

func (w *world) Append(_, _ string, r events.JournalRecord, last uint64) lease.Pending {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone() || w.away != nil && w.away(r) {
		return answered{err: errAway, after: w.latency}
	}
	seq := uint64(len(w.journal))
	if seq != last {
		return answered{err: store.ErrConflict, after: w.latency}
	}
	w.journal = append(w.journal, jobrun.Entry{JournalRecord: r, Seq: seq + 1, Time: time.Now()})
	w.say("%s %d %s", r.Type, r.Run, r.Lease.Std())
	return answered{seq: seq + 1, after: w.latency}
}

func (w *world) Once(e events.Event) (lease.Pending, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone() {
		return answered{err: errAway, after: w.latency}, nil
	}
	w.say("%s %d", e.Kind, e.Run)
	return answered{seq: 1, after: w.latency}, nil
}

// saved is how jobs stand in a world.
type saved struct{ *world }

func (saved) State(context.Context, string) ([]byte, error) { return nil, nil }

func (s saved) Reported(_ context.Context, _, _ string, run int) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone() {
		return false, errAway
	}
	return slices.Contains(s.lines, fmt.Sprintf("%s %d", events.KindSubJobReported, run)), nil
}

func (w *world) Tell(e events.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.say("%s %d", e.Kind, e.Run)
}

func (w *world) Live(string, string, []byte) {}

func (w *world) Put(context.Context, string, []byte) (events.Ref, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.noBlobs > 0 {
		w.noBlobs--
		return events.Ref{}, errAway
	}
	return events.Ref{Digest: "digest"}, nil
}

func (w *world) Get(context.Context, string, string) ([]byte, error) { return nil, store.ErrNotFound }

func (w *world) Ack() error              { return nil }
func (w *world) Nak(time.Duration) error { return nil }
func (w *world) InProgress() error       { return nil }
func (w *world) Term(string) error       { return nil }

// metrics declares families without a reader.
type metrics struct{}

func (metrics) Counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func (metrics) Gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
}

func (metrics) Histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
}

// does is what the expert of a test does.
type does func(context.Context, *expert.Task) task.Ending

func (d does) Run(ctx context.Context, t *expert.Task) task.Ending { return d(ctx, t) }

// loop makes a runner whose one expert announces an intent with its claim, or none.
func (w *world) loop(intent jobrun.Effect, run does) *Loop {
	x := &expert.Expert{Card: events.Card{ID: "x"}, Intent: intent, Runner: run}
	return New(Settings{
		Names: events.NewNames(""), Owner: "me", Experts: map[string]*expert.Expert{"x": x}, Concurrency: 1,
		Journal: w, Log: w, States: saved{w}, Blobs: w, Meter: meter.New(metrics{}), Logger: slog.New(slog.DiscardHandler),
	})
}

// leaseTime is that of every run.
const leaseTime = 10 * time.Second

// give hands a run to the loop, and returns when the loop has nothing to do for it any more.
func (w *world) give(ctx context.Context, t *testing.T, l *Loop, run int) {
	t.Helper()
	body, err := json.Marshal(events.Work{Kind: events.WorkExecute, Job: "j", SubJob: "a", Run: run, Lease: events.Duration(leaseTime), Goal: "g"})
	if err != nil {
		t.Fatal(err)
	}
	subject := l.Names.WorkFor(events.DefaultPool, "x", "j", "a", run)
	l.handle(ctx, &queue.Delivery{Subject: subject, Body: body, Count: 1, Stored: time.Now(), Receipt: w})
}

// check holds what was stored and stated against what should have been.
func check(t *testing.T, w *world, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, w.lines); d != "" {
		t.Error(d)
	}
}
