package adapter

import (
	"log/slog"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/queue"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
)

// pool is a pool with n messages of work, and those that were taken.
func pool(t *testing.T, e *servicetest.Env, n int) (*Pool, []queue.Delivery) {
	t.Helper()
	p := musttest.Get(OpenPool(t.Context(), e.Bus, events.DefaultPool, slog.New(slog.DiscardHandler)))(t)
	for run := range n {
		e.Publish(e.Names.WorkFor(events.DefaultPool, "x", "j", "s"+strconv.Itoa(run), 1), []byte("{}"))
	}
	var all []queue.Delivery
	for len(all) < n {
		list := musttest.Get(p.Next(t.Context(), n-len(all)))(t)
		all = append(all, list...)
	}
	return p, all
}

// left returns how much work the queue holds once the server has nothing to do.
func left(t *testing.T, e *servicetest.Env) int {
	t.Helper()
	synctest.Wait()
	facts := musttest.Get(e.Bus.Streams().Info(t.Context(), e.Names.Work))(t)
	return int(facts.Messages)
}

func settle(t *testing.T, list []queue.Delivery) {
	t.Helper()
	for _, d := range list {
		musttest.Do(t, d.Receipt.Ack())
	}
}

func TestAcknowledgementsWaitAMomentAndTheLatestLongest(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, e *servicetest.Env) {
		p, work := pool(t, e, mostAcks+3)
		defer p.Stop()
		settle(t, work[:2])
		if n := left(t, e); n != mostAcks+3 {
			t.Errorf("%d left, nothing should have gone yet", n)
		}
		settle(t, work[2:mostAcks+1])
		if n := left(t, e); n != 3 {
			t.Errorf("%d left, all but the latest acknowledgement should have gone", n)
		}
		<-time.After(ackDelay / 2)
		settle(t, work[mostAcks+1:mostAcks+2])
		<-time.After(ackDelay / 2)
		if n := left(t, e); n != 2 {
			t.Errorf("%d left, the latest acknowledgement should still wait", n)
		}
		<-time.After(ackDelay)
		if n := left(t, e); n != 1 {
			t.Errorf("%d left, what was settled should have gone", n)
		}
		settle(t, work[mostAcks+2:])
		<-time.After(2 * ackDelay)
		if n := left(t, e); n != 0 {
			t.Errorf("%d left", n)
		}
	})
}

func TestThePoolsEndLeavesNothingUnacknowledged(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, e *servicetest.Env) {
		p, work := pool(t, e, 3)
		settle(t, work[:2])
		p.Stop()
		if n := left(t, e); n != 1 {
			t.Errorf("%d left behind the end", n)
		}
		settle(t, work[2:])
		if n := left(t, e); n != 0 {
			t.Errorf("%d left: a run that ends behind the pool is acknowledged at once", n)
		}
	})
}
