package cli

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/bus/release"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// pooled returns what doctor finds wrong with a pool.
func pooled(t *testing.T, b *bus.Bus, pool string) (faults []string) {
	t.Helper()
	d := musttest.Get(diagnose(t.Context(), client.New(b), ""))(t)
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
	musttest.Do(t, q.EnsurePool(t.Context(), "gpu"))
	wants("a pool that is not used")
	musttest.Get(b.Publish(t.Context(), events.Message{Subject: b.Names().WorkFor("gpu", "e", "j", "a", 1), Body: []byte("{}")}, bus.Expect{}))(t)
	wants("no runner has come", "no reader; 1 messages wait")
	worker := musttest.Get(q.Consume(t.Context(), q.PoolConsumer("gpu")))(t)
	musttest.Get(worker.Next(t.Context(), 1))(t)
	worker.Stop()
	for facts := (bus.ConsumerFacts{Waiting: 1}); facts.Waiting > 0; { // The server handles the end in a separate goroutine.
		facts = musttest.Get(q.Info(t.Context(), b.Names().Work, q.PoolConsumer("gpu").Durable))(t)
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
	musttest.Get(b.Experts().Put(t.Context(), "e", musttest.JSON(t, events.Card{ID: "e", Kind: "nats", Pool: "gpu"}), 0))(t)
	wants("a worker that is no runner may be busy")
}

// An expert whose card has expired is named for a while; one that was withdrawn is not.
func TestDoctorNamesExpertsThatAreNoLongerAnnounced(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		b := bustest.Start(t, bustest.Settings{Quiet: true}).Bus("test")
		for _, id := range []string{"here", "dead", "withdrawn"} {
			musttest.Get(b.Experts().Put(t.Context(), id, musttest.JSON(t, events.Card{ID: id}), 30*time.Second))(t)
		}
		musttest.Do(t, b.Experts().Delete(t.Context(), "withdrawn"))
		<-time.After(20 * time.Second)
		musttest.Get(b.Experts().Put(t.Context(), "here", musttest.JSON(t, events.Card{ID: "here"}), 0))(t)
		<-time.After(20 * time.Second)
		cards := client.New(b).Experts()
		expired, err := cards.Expired(t.Context())
		if err != nil || len(expired) != 1 {
			t.Fatalf("expired %v, %v; want dead alone", expired, err)
		}
		const want = "dead: it was not announced in time, its card expired 10s ago; work for it waits, and 30 s after that plans no longer know it"
		if text := expiredText(expired[0]); text != want {
			t.Errorf("%s\nwant %s", text, want)
		}
		<-time.After(time.Minute)
		if expired, err = cards.Expired(t.Context()); err != nil || len(expired) != 0 {
			t.Errorf("expired %v, %v a minute later", expired, err)
		}
		d := &diagnosis{}
		if err := d.services(t.Context(), client.New(b)); err != nil || len(d.Expired) != 0 {
			t.Errorf("%v, %v", d.Expired, err)
		}
	})
}

// Without a scheduler that could say it, doctor finds out itself that the server stores nothing.
func TestDoctorFindsAServerThatStoresNothing(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		server := bustest.Start(t, bustest.Settings{Quiet: true})
		b := server.Bus("test")
		stores := func() bool {
			t.Helper()
			d := musttest.Get(diagnose(t.Context(), client.New(b), ""))(t)
			for _, f := range d.Faults {
				if f.Field == "server" && f.Message == "it stores nothing; its disk may be full" && f.Hint == bus.MuteHint {
					return false
				}
			}
			return true
		}
		if !stores() {
			t.Error("a server that stores is said not to")
		}
		end := server.Mute(b.Names().Timers)
		if stores() {
			t.Error("a server that stores nothing is not found")
		}
		end()
		if !stores() {
			t.Error("a server that stores again is said not to")
		}
	})
}

// A server that stores nothing comes before every other reason; a log that is too full for new jobs does not concern those that were admitted.
func TestWhySaysFirstThatTheServerStoresNothing(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	var closed *events.Fault
	pools := func(context.Context, []byte) ([]byte, *events.Fault) {
		return musttest.JSON(t, verb.PoolList{Admission: closed}), nil
	}
	leave := musttest.Get(b.Services().Serve(string(release.Scheduler), "", nil, map[string]bus.Endpoint{"pools": pools}, nil))(t)
	defer leave()
	g := views{&app{soft: t.Context()}}
	f := events.Fault{Code: events.CodeUnavailable, Message: "no job is admitted now", Cause: "it stores nothing", Hint: "restart it"}
	for _, c := range []struct {
		closed *events.Fault
		want   []graph.Blocker
	}{
		{nil, nil},
		{&f, nil},
		{&events.Fault{Code: f.Code, Field: "disk", Message: f.Message, Cause: f.Cause, Hint: f.Hint}, []graph.Blocker{
			{Code: "disk", Message: "no job is admitted now: it stores nothing", Unblock: "restart it"},
		}},
	} {
		closed = c.closed
		musttest.Equal(t, c.want, g.mute(client.New(b)))
	}
}
