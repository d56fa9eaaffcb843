package loop

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events/store"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	jobrun "github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/pkg/run/lease"
	"github.com/jobgraph/jobgraph/pkg/run/lease/leasetest"
	"github.com/jobgraph/jobgraph/pkg/service/queue"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/meter"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// ports is everything around the loop, in memory. Its lines list in order what was stored and published.
type ports struct {
	leasetest.Journal
	lines   []string // Guarded by the journal's lock, like the next field.
	noBlobs int      // How many payloads cannot be stored before one can.
}

// newPorts makes ports whose writes are answered after a while.
func newPorts(latency time.Duration) *ports {
	w := &ports{}
	w.Latency = latency
	w.Stored = func(r events.JournalRecord) { w.say("%s %d %s", r.Type, r.Run, r.Lease.Std()) }
	return w
}

func (w *ports) say(format string, args ...any) {
	w.lines = append(w.lines, fmt.Sprintf(format, args...))
}

func (w *ports) Once(e events.Event) (lease.Pending, error) {
	w.Lock()
	defer w.Unlock()
	if w.IsAway() {
		return leasetest.Answer{Err: leasetest.ErrAway, After: w.Latency}, nil
	}
	w.say("%s %d", e.Kind, e.Run)
	return leasetest.Answer{Seq: 1, After: w.Latency}, nil
}

// saved has the states of jobs.
type saved struct{ *ports }

func (saved) State(context.Context, string) ([]byte, error) { return nil, nil }

func (s saved) Reported(_ context.Context, of events.Address, _ uint64) (bool, error) {
	s.Lock()
	defer s.Unlock()
	if s.IsAway() {
		return false, leasetest.ErrAway
	}
	return slices.Contains(s.lines, fmt.Sprintf("%s %d", events.KindSubJobReported, of.Run)), nil
}

func (w *ports) Tell(e events.Event) {
	w.Lock()
	defer w.Unlock()
	w.say("%s %d", e.Kind, e.Run)
}

func (w *ports) Live(string, string, string, []byte) {}

func (w *ports) Put(context.Context, string, []byte) (events.Ref, error) {
	w.Lock()
	defer w.Unlock()
	if w.noBlobs > 0 {
		w.noBlobs--
		return events.Ref{}, leasetest.ErrAway
	}
	return events.Ref{Digest: "digest"}, nil
}

func (w *ports) Get(context.Context, string, string) ([]byte, error) { return nil, store.ErrNotFound }

func (w *ports) Ack() error              { return nil }
func (w *ports) Nak(time.Duration) error { return nil }
func (w *ports) InProgress() error       { return nil }
func (w *ports) Term(string) error       { return nil }

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

// does is the work of a test's expert.
type does func(context.Context, *expert.Task) task.Ending

func (d does) Run(ctx context.Context, t *expert.Task) task.Ending { return d(ctx, t) }

// loop makes a runner whose one expert announces an intent with its claim, or none.
func (w *ports) loop(intent jobrun.Effect, run does) *Loop {
	x := &expert.Expert{Card: events.Card{ID: "x"}, Intent: intent, Runner: run}
	return New(Settings{
		Names: events.NewNames(""), Owner: "me", Experts: map[string]*expert.Expert{"x": x}, Concurrency: 1,
		Journal: w, Log: w, States: saved{w}, Blobs: w, Meter: meter.New(metrics{}), Logger: slog.New(slog.DiscardHandler),
	})
}

// leaseTime is the lease of every run.
const leaseTime = 10 * time.Second

// give hands a run to the loop, and returns when the loop has nothing left to do for it.
func (w *ports) give(ctx context.Context, t *testing.T, l *Loop, run int) {
	t.Helper()
	body := musttest.JSON(t, events.Work{Kind: events.WorkExecute, Job: "j", SubJob: "a", Run: run, Lease: events.Duration(leaseTime), Goal: "g"})
	subject := l.Names.WorkFor(events.DefaultPool, "x", "j", "a", run)
	l.handle(ctx, &queue.Delivery{Subject: subject, Body: body, Count: 1, Stored: time.Now(), Receipt: w})
}

// check compares what was stored and published with what should have been.
func check(t *testing.T, w *ports, want ...string) {
	t.Helper()
	musttest.Equal(t, want, w.lines)
}
