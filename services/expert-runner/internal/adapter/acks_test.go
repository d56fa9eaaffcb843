package adapter

import (
	"log/slog"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/service/queue"
)

// pool is a pool with so much work in it, and what has been taken of that.
func pool(t *testing.T, b *bus.Bus, n int) (*Pool, []queue.Delivery) {
	t.Helper()
	p, err := OpenPool(t.Context(), b, events.DefaultPool, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for run := range n {
		m := events.Message{Subject: b.Names().WorkFor(events.DefaultPool, "x", "j", "s"+strconv.Itoa(run), 1), Body: []byte("{}")}
		if _, err := b.Publish(t.Context(), m, bus.Expect{}); err != nil {
			t.Fatal(err)
		}
	}
	var all []queue.Delivery
	for len(all) < n {
		list, err := p.Next(t.Context(), n-len(all))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, list...)
	}
	return p, all
}

// left is how much work the queue holds once the server has nothing to do.
func left(t *testing.T, b *bus.Bus) int {
	t.Helper()
	synctest.Wait()
	facts, err := b.Streams().Info(t.Context(), b.Names().Work)
	if err != nil {
		t.Fatal(err)
	}
	return int(facts.Messages)
}

func settle(t *testing.T, list []queue.Delivery) {
	t.Helper()
	for _, d := range list {
		if err := d.Receipt.Ack(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAcknowledgementsWaitAMomentAndTheLatestLongest(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		b := bustest.Start(t, bustest.Settings{Quiet: true}).Bus("test")
		p, work := pool(t, b, mostAcks+3)
		defer p.Stop()
		settle(t, work[:2])
		if n := left(t, b); n != mostAcks+3 {
			t.Errorf("%d left, nothing should have gone yet", n)
		}
		settle(t, work[2:mostAcks+1])
		if n := left(t, b); n != 3 {
			t.Errorf("%d left, all but the latest acknowledgement should have gone", n)
		}
		<-time.After(ackDelay / 2)
		settle(t, work[mostAcks+1:mostAcks+2])
		<-time.After(ackDelay / 2)
		if n := left(t, b); n != 2 {
			t.Errorf("%d left, the latest acknowledgement should still wait", n)
		}
		<-time.After(ackDelay)
		if n := left(t, b); n != 1 {
			t.Errorf("%d left, what was settled should have gone", n)
		}
		settle(t, work[mostAcks+2:])
		<-time.After(2 * ackDelay)
		if n := left(t, b); n != 0 {
			t.Errorf("%d left", n)
		}
	})
}

func TestThePoolsEndLeavesNothingUnacknowledged(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		b := bustest.Start(t, bustest.Settings{Quiet: true}).Bus("test")
		p, work := pool(t, b, 3)
		settle(t, work[:2])
		p.Stop()
		if n := left(t, b); n != 1 {
			t.Errorf("%d left behind the end", n)
		}
		settle(t, work[2:])
		if n := left(t, b); n != 0 {
			t.Errorf("%d left: a run that ends behind the pool is acknowledged at once", n)
		}
	})
}
