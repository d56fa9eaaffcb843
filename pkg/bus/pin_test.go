package bus_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
)

func TestPinnedConsumerHasOneReaderAndAHotStandby(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		server := bustest.Start(t, bustest.Settings{Quiet: true})
		b, other := server.Bus("one"), server.Connect("two")
		c := b.Queues().SchedulerConsumer(0, 1)
		first := reader(t, b, c)
		put(t, b, fact(b, "j1", "0"))
		noErr(t, take(t, first, 1)[0].Ack())
		second := reader(t, other, c)
		for i := range 50 {
			put(t, b, fact(b, "j1", fmt.Sprint(i+1)))
		}
		list := take(t, first, 50)
		for i := range 20 {
			noErr(t, list[i].Ack())
		}
		synctest.Wait() // The server handles answers in a separate goroutine.
		// The first one dies with thirty unsettled.
		died := time.Now()
		first.Stop()
		synctest.Wait()
		put(t, b, fact(b, "j1", "x"))
		fresh := take(t, second, 1)[0]
		if waited := time.Since(died); fresh.Seq() != 52 || waited > 3*time.Second {
			t.Fatalf("standby got %d after %s, want 52 within 3 s", fresh.Seq(), waited)
		}
		if want := list[49].ConsumerSeq() + 1; fresh.ConsumerSeq() != want {
			t.Fatalf("consumer sequence %d, want %d", fresh.ConsumerSeq(), want)
		}
		noErr(t, fresh.Ack())
		// A new message being settled does not settle the old ones: they come again, in any order.
		again := map[uint64]int{}
		for _, d := range take(t, second, 30) {
			again[d.Seq()] = d.Delivered()
			noErr(t, d.Ack())
		}
		for _, d := range list[20:] {
			if again[d.Seq()] != 2 {
				t.Fatalf("redelivered are %v, %d is not among them", again, d.Seq())
			}
		}
		if waited := time.Since(died); waited > 6*time.Second {
			t.Fatalf("redelivery took %s", waited)
		}
		waitFor(t, func() bool {
			facts, err := b.Queues().Info(t.Context(), c.Stream, c.Durable)
			noErr(t, err)
			return facts.AckFloor == 52 && facts.Unsettled == 0 && facts.Pinned
		})
	})
}
