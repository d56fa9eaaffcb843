package baseline_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/jobgraph/jobgraph/cmd/internal/bench/baseline"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// server is a server with the streams of the baseline.
type server struct {
	t   *testing.T
	bus *bustest.Server
	js  jetstream.JetStream
}

func newServer(t *testing.T) *server {
	t.Helper()
	w := &server{t: t, bus: bustest.Start(t, bustest.Settings{Quiet: true})}
	w.js = w.connect()
	musttest.Do(t, baseline.Init(t.Context(), w.js))
	return w
}

func (w *server) connect() jetstream.JetStream {
	w.t.Helper()
	nc := musttest.Get(nats.Connect("", nats.InProcessServer(w.bus)))(w.t)
	w.t.Cleanup(nc.Close)
	return musttest.Get(jetstream.New(nc))(w.t)
}

// start runs a part on its own connection until stop, which waits for its end.
func (w *server) start(run func(context.Context, jetstream.JetStream) error) (stop func()) {
	js := w.connect()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := run(ctx, js); err != nil && ctx.Err() == nil { // The job may have ended before a part was running.
			w.t.Error(err)
		}
	}()
	return func() { cancel(); <-done }
}

func (w *server) submit(job string, g baseline.Graph) {
	w.t.Helper()
	body, err := json.Marshal(g)
	if err == nil {
		_, err = w.js.Publish(w.t.Context(), "floor.log."+job+".graph", body)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// read returns the subjects of the log up to and including the first with this ending.
func (w *server) read(ending string) []string {
	w.t.Helper()
	cons := musttest.Get(w.js.OrderedConsumer(w.t.Context(), baseline.LogStream, jetstream.OrderedConsumerConfig{}))(w.t)
	it := musttest.Get(cons.Messages())(w.t)
	defer it.Stop()
	var subjects []string
	for {
		m := musttest.Get(it.Next())(w.t)
		subjects = append(subjects, strings.TrimPrefix(m.Subject(), "floor.log."))
		if strings.HasSuffix(m.Subject(), ending) {
			return subjects
		}
	}
}

func chain(n int) baseline.Graph {
	g := make(baseline.Graph, n)
	for i := 1; i < n; i++ {
		g[i] = []int{i - 1}
	}
	return g
}

func TestANodeRunsAfterItsPredecessorsAndOnce(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		w := newServer(t)
		defer w.start(baseline.Schedule)()
		defer w.start(baseline.Work)()
		w.submit("a", baseline.Graph{nil, {0}, {0}, {1, 2}})
		got := w.read("a.finished")
		if len(got) != 6 || got[1] != "a.done.0" || got[4] != "a.done.3" {
			t.Errorf("got %q", got)
		}
	})
}

func TestASchedulerGoesOnWhereALostOneWas(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		w := newServer(t)
		defer w.start(baseline.Work)()
		stop := w.start(baseline.Schedule)
		w.submit("a", chain(300))
		w.read("a.done.100")
		stop()
		defer w.start(baseline.Schedule)()
		done := map[string]bool{}
		for _, subject := range w.read("a.finished") {
			done[subject] = done[subject] || strings.Contains(subject, ".done.")
		}
		delete(done, "a.graph")
		delete(done, "a.finished")
		if len(done) != 300 {
			t.Errorf("%d nodes are done", len(done))
		}
	})
}

func TestAWorkerGoesOnWhereALostOneWas(t *testing.T) {
	for name, work := range map[string]func(context.Context, jetstream.JetStream) error{"work": baseline.Work, "claim and work": baseline.ClaimAndWork} {
		t.Run(name, func(t *testing.T) {
			bustest.Virtual(t, func(t *testing.T) {
				w := newServer(t)
				defer w.start(baseline.Schedule)()
				stop := w.start(work)
				w.submit("a", chain(300))
				w.read("a.done.100")
				stop()
				defer w.start(work)()
				w.read("a.finished")
			})
		})
	}
}

func TestAClaimIsStoredForEachNodeBeforeItRuns(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		w := newServer(t)
		defer w.start(baseline.Schedule)()
		defer w.start(baseline.ClaimAndWork)()
		w.submit("a", chain(3))
		w.read("a.finished")
		for _, node := range []string{"0", "1", "2"} {
			claim := musttest.Get(w.last(baseline.JournalStream, "floor.journal.a."+node))(t)
			done, err := w.last(baseline.LogStream, "floor.log.a.done."+node)
			if err != nil || done.Before(claim) {
				t.Errorf("node %s: claimed at %v, done at %v: %v", node, claim, done, err)
			}
		}
	})
}

// last returns the time of the last message on a subject.
func (w *server) last(stream, subject string) (time.Time, error) {
	s, err := w.js.Stream(w.t.Context(), stream)
	if err != nil {
		return time.Time{}, err
	}
	m, err := s.GetLastMsgForSubject(w.t.Context(), subject)
	if err != nil {
		return time.Time{}, err
	}
	return m.Time, nil
}
