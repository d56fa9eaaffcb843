package cli

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/bus/release"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// pooled returns what doctor finds wrong with a pool.
func pooled(t *testing.T, b *bus.Bus, pool string) (faults []string) {
	t.Helper()
	d, err := diagnose(t.Context(), client.New(b), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range d.Faults {
		if f.Field == "pool "+pool {
			faults = append(faults, f.Message)
		}
	}
	return faults
}

// What a killed runner had in hand hides its death only while another one that serves the pool answers. Workers that are no runners
// answer nothing.
func TestDoctorMissesTheReadersOfEveryPool(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	q := b.Queues()
	wants := func(when string, want ...string) {
		t.Helper()
		if d := cmp.Diff(want, pooled(t, b, "gpu")); d != "" {
			t.Errorf("%s (-want +got):\n%s", when, d)
		}
	}
	if err := q.EnsurePool(t.Context(), "gpu"); err != nil {
		t.Fatal(err)
	}
	wants("a pool that is not used")
	if _, err := b.Publish(t.Context(), events.Message{Subject: b.Names().WorkFor("gpu", "e", "j", "a", 1), Body: []byte("{}")}, bus.Expect{}); err != nil {
		t.Fatal(err)
	}
	wants("no runner has come", "no reader; 1 messages wait")
	worker, err := q.Consume(t.Context(), q.PoolConsumer("gpu"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := worker.Next(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	worker.Stop()
	for facts := (bus.ConsumerFacts{Waiting: 1}); facts.Waiting > 0; { // The server handles the end in a separate goroutine.
		if facts, err = q.Info(t.Context(), b.Names().Work, q.PoolConsumer("gpu").Durable); err != nil {
			t.Fatal(err)
		}
	}
	wants("the runner is dead", "no reader answers; 0 messages wait, 1 were taken and not finished")
	itself := func(context.Context, []byte) ([]byte, *events.Fault) {
		return musttest.JSON(t, verb.RunnerList{Runners: []verb.RunnerLine{{Runner: "r", Pools: []string{"gpu"}}}}), nil
	}
	leave, err := b.Services().ServeEach(string(release.Runner), "", nil, map[string]bus.Endpoint{"runners": itself}, nil)
	if err == nil {
		err = b.Flush(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	wants("a runner is busy")
	leave()
	if _, err := b.Experts().Put(t.Context(), "e", musttest.JSON(t, events.Card{ID: "e", Kind: "nats", Pool: "gpu"}), 0); err != nil {
		t.Fatal(err)
	}
	wants("a worker that is no runner may be busy")
}
