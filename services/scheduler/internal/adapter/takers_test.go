package adapter

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
)

// takes asks until the information is fresh.
func takes(t *Takers, pool string) bool {
	t.Takes(pool)
	synctest.Wait()
	<-time.After(takersEvery + 10*time.Millisecond)
	t.Takes(pool)
	synctest.Wait()
	<-time.After(10 * time.Millisecond)
	return t.Takes(pool)
}

func TestAPoolTakesBatchesWhenAllOfItsCardsSaySo(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, e *servicetest.Env) {
		b := e.Bus
		k := NewTakers(b, slog.New(slog.DiscardHandler))
		defer k.Close()
		if takes(k, events.DefaultPool) {
			t.Error("a pool without a card takes batches")
		}
		e.Announce(events.Card{ID: "new", Pool: "", Batches: true})
		if !takes(k, events.DefaultPool) {
			t.Error("the pool of one expert that takes batches takes none")
		}
		<-time.After(takersMost)
		if k.Takes(events.DefaultPool) {
			t.Error("what is known is used although it is old")
		}
		e.Announce(events.Card{ID: "old", Pool: events.DefaultPool, Batches: false})
		if takes(k, events.DefaultPool) {
			t.Error("batches go to a pool of which one expert does not take them")
		}
		e.Announce(events.Card{ID: "old", Pool: "", Batches: true})
		if !takes(k, events.DefaultPool) {
			t.Error("all experts of the pool take batches, and none go there")
		}
		e.Announce(events.Card{ID: "apart", Pool: "nobody", Batches: true})
		if takes(k, "nobody") {
			t.Error("batches go to a pool without a reader")
		}
		musttest.Do(t, b.Queues().BoundPool(t.Context(), events.DefaultPool, 3, true))
		if takes(k, events.DefaultPool) {
			t.Error("batches go to a pool whose runs are bounded")
		}
	})
}

// A runner that leaves continues to read until schedulers have heard of it.
func TestWhatIsKnownOfCardsIsForgottenBeforeARunnerThatLeavesIsGone(t *testing.T) {
	if takersMost >= bus.BatchLinger {
		t.Errorf("used for %s, and a runner lingers for %s", takersMost, bus.BatchLinger)
	}
}
