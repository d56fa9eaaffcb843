package adapter

import (
	"encoding/json"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// takes asks until what is known is fresh.
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
	bustest.Virtual(t, func(t *testing.T) {
		b := bustest.Start(t, bustest.Settings{Quiet: true}).Bus("test")
		announce := func(id, pool string, batches bool) {
			body, err := json.Marshal(events.Card{ID: id, Pool: pool, Batches: batches})
			if err == nil {
				_, err = b.Experts().Put(t.Context(), id, body, 0)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		k := NewTakers(b, slog.New(slog.DiscardHandler))
		defer k.Close()
		if takes(k, events.DefaultPool) {
			t.Error("a pool without a card takes batches")
		}
		announce("new", "", true)
		if !takes(k, events.DefaultPool) {
			t.Error("the pool of one expert that takes batches takes none")
		}
		<-time.After(takersMost)
		if k.Takes(events.DefaultPool) {
			t.Error("what is known is used although it is old")
		}
		announce("old", events.DefaultPool, false)
		if takes(k, events.DefaultPool) {
			t.Error("batches go to a pool of which one expert does not take them")
		}
		announce("old", "", true)
		if !takes(k, events.DefaultPool) {
			t.Error("all experts of the pool take batches, and none go there")
		}
		announce("apart", "nobody", true)
		if takes(k, "nobody") {
			t.Error("batches go to a pool without a reader")
		}
		if err := b.Queues().BoundPool(t.Context(), events.DefaultPool, 3, true); err != nil {
			t.Fatal(err)
		}
		if takes(k, events.DefaultPool) {
			t.Error("batches go to a pool whose runs are bounded")
		}
	})
}

// A runner that leaves goes on reading until schedulers have heard of it.
func TestWhatIsKnownOfCardsIsForgottenBeforeARunnerThatLeavesIsGone(t *testing.T) {
	if takersMost >= bus.BatchLinger {
		t.Errorf("used for %s, and a runner lingers for %s", takersMost, bus.BatchLinger)
	}
}
