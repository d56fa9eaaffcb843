package bus_test

import (
	"errors"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// lookups counts the requests for the state of consumers of work from now on.
func lookups(t *testing.T, server *bustest.Server) func() int {
	t.Helper()
	ear, err := nats.Connect("", nats.InProcessServer(server))
	noErr(t, err)
	t.Cleanup(ear.Close)
	heard, err := ear.SubscribeSync("$JS.API.CONSUMER.INFO.JOBS_WORK.>")
	noErr(t, err)
	noErr(t, ear.Flush())
	return func() int {
		noErr(t, ear.Flush())
		n, _, err := heard.Pending()
		noErr(t, err)
		return n
	}
}

func TestThereIsNoWorkBeforeItsPoolHasAConsumerWhereSignaturesCount(t *testing.T) {
	server := bustest.Start(t, bustest.Settings{})
	plain := server.Bus("plain")
	b, asked := withRoles(t, server), lookups(t, server)
	const most = 100
	publish := func(b *bus.Bus, pool string) {
		t.Helper()
		acks := make([]bus.Ack, most)
		for i := range acks {
			acks[i] = b.PublishAsync(work(b, pool, "j", i+1), bus.ExpectNone())
		}
		last := uint64(0)
		for i, ack := range acks {
			seq, err := ack.Wait(t.Context())
			if err != nil || seq <= last {
				t.Fatalf("work %d of pool %s is stored at %d, after %d: %v", i+1, pool, seq, last, err)
			}
			last = seq
		}
	}
	publish(b, "new")
	if n := asked(); n != 1 {
		t.Errorf("the first work of a pool took %d lookups, want 1", n)
	}
	publish(b, "newer")
	publish(b, events.DefaultPool)
	publish(plain, "plain")
	if n := asked(); n != 3 {
		t.Errorf("the work of three pools took %d lookups, want 3", n)
	}
	pools, err := plain.Queues().Pools(t.Context())
	_, open := pools["plain"]
	if err != nil || pools["new"].Pending != most || pools["newer"].Pending != most || open {
		t.Errorf("pools are %+v, %v", pools, err)
	}
	noErr(t, plain.Queues().BoundPool(t.Context(), "new", 7, true)) // A runner of the pool sets what it needs.
	put(t, b, work(b, "new", "k", 1))
	facts, err := plain.Queues().Info(t.Context(), "JOBS_WORK", "pool-new")
	if err != nil || facts.Limit != 7 {
		t.Errorf("the consumer of a runner was changed: %+v, %v", facts, err)
	}
}

func TestPoolsAreLookedUpAgainAfterAReconnect(t *testing.T) {
	server := bustest.Start(t, bustest.Settings{})
	server.Bus("plain")
	b := withRoles(t, server)
	put(t, b, work(b, "new", "j", 1))
	back := make(chan struct{}, 1)
	defer b.OnReconnect(func() { back <- struct{}{} })()
	server.Stop()
	server.Start()
	<-back
	asked := lookups(t, server)
	put(t, b, work(b, "new", "j", 2))
	put(t, b, work(b, "new", "j", 3))
	if n := asked(); n != 1 {
		t.Errorf("the pool was looked up %d times, want 1", n)
	}
}

// Work of a pool whose consumer cannot be made is not published, and the next work of the pool tries it again.
func TestWorkOfAPoolThatCanHaveNoConsumerIsNotPublished(t *testing.T) {
	server := bustest.Start(t, bustest.Settings{MaxConsumers: 4})
	plain := server.Bus("plain")
	b := withRoles(t, server)
	put(t, b, work(b, "fits", "j", 1))
	for range 2 {
		_, err := b.Publish(t.Context(), work(b, "new", "j", 1), bus.Expect{})
		wantErr(t, err, bus.ErrRefused)
	}
	if m, err := plain.Streams().LastOn(t.Context(), "JOBS_WORK", "jobs.work.new.>"); err == nil {
		t.Errorf("work was published: %+v", m)
	}
	noErr(t, sdk(t, server).DeleteConsumer(t.Context(), "JOBS_WORK", "pool-fits"))
	put(t, b, work(b, "new", "j", 1))
}

func TestWorkThatWaitsForAConsumerEndsWithItsBus(t *testing.T) {
	server := bustest.Start(t, bustest.Settings{})
	server.Bus("plain")
	b := withRoles(t, server)
	ack := b.PublishAsync(work(b, "new", "j", 1), bus.Expect{})
	b.Close()
	if _, err := ack.Wait(t.Context()); err != nil && !errors.Is(err, bus.ErrClosed) && !errors.Is(err, bus.ErrUnknown) {
		t.Error("its publish ended with", err)
	}
	_, err := b.PublishAsync(work(b, "newer", "j", 1), bus.Expect{}).Wait(t.Context())
	wantErr(t, err, bus.ErrClosed)
}
