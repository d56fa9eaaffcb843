package floor_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/bench/floor"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
)

// world is a server with the floor's streams.
type world struct {
	t      *testing.T
	server *bustest.Server
	js     jetstream.JetStream
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, server: bustest.Start(t, bustest.Settings{Quiet: true})}
	w.js = w.connect()
	if err := floor.Init(t.Context(), w.js); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) connect() jetstream.JetStream {
	w.t.Helper()
	nc, err := nats.Connect("", nats.InProcessServer(w.server))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		w.t.Fatal(err)
	}
	return js
}

// start runs a part over a connection of its own until stop, which waits for it.
func (w *world) start(run func(context.Context, jetstream.JetStream) error) (stop func()) {
	js := w.connect()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := run(ctx, js); err != nil && ctx.Err() == nil { // The job may have ended before a part was up.
			w.t.Error(err)
		}
	}()
	return func() { cancel(); <-done }
}

func (w *world) submit(job string, g floor.Graph) {
	w.t.Helper()
	body, err := json.Marshal(g)
	if err == nil {
		_, err = w.js.Publish(w.t.Context(), "floor.log."+job+".graph", body)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// read gives the subjects of the log, from the first, up to and with the one that ends so.
func (w *world) read(ending string) []string {
	w.t.Helper()
	cons, err := w.js.OrderedConsumer(w.t.Context(), floor.LogStream, jetstream.OrderedConsumerConfig{})
	if err != nil {
		w.t.Fatal(err)
	}
	it, err := cons.Messages()
	if err != nil {
		w.t.Fatal(err)
	}
	defer it.Stop()
	var subjects []string
	for {
		m, err := it.Next()
		if err != nil {
			w.t.Fatal(err)
		}
		subjects = append(subjects, strings.TrimPrefix(m.Subject(), "floor.log."))
		if strings.HasSuffix(m.Subject(), ending) {
			return subjects
		}
	}
}

func chain(n int) floor.Graph {
	g := make(floor.Graph, n)
	for i := 1; i < n; i++ {
		g[i] = []int{i - 1}
	}
	return g
}

// inVirtualTime runs a test in a bubble, where redelivery takes no time.
func inVirtualTime(t *testing.T, f func(t *testing.T)) {
	bustest.Outside(t)
	synctest.Test(t, f)
}

func TestANodeRunsAfterItsPredecessorsAndOnce(t *testing.T) {
	inVirtualTime(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.start(floor.Schedule)()
		defer w.start(floor.Work)()
		w.submit("a", floor.Graph{nil, {0}, {0}, {1, 2}})
		got := w.read("a.finished")
		if len(got) != 6 || got[1] != "a.done.0" || got[4] != "a.done.3" {
			t.Errorf("got %q", got)
		}
	})
}

func TestASchedulerGoesOnWhereALostOneWas(t *testing.T) {
	inVirtualTime(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.start(floor.Work)()
		stop := w.start(floor.Schedule)
		w.submit("a", chain(300))
		w.read("a.done.100")
		stop()
		defer w.start(floor.Schedule)()
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
	inVirtualTime(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.start(floor.Schedule)()
		stop := w.start(floor.Work)
		w.submit("a", chain(300))
		w.read("a.done.100")
		stop()
		defer w.start(floor.Work)()
		w.read("a.finished")
	})
}
