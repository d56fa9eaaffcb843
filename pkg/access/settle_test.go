package access_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/access"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// TestNoRunnerSettlesTheWorkOfAnotherPool has a runner settle, in every form that a server takes, work of other pools in the name of its own
// consumer: work that waits, work that is in hand, and work of a pool that no runner has read yet. The last is lost if its publisher has not
// made sure of a consumer.
func TestNoRunnerSettlesTheWorkOfAnotherPool(t *testing.T) {
	s := play(t, access.Tenant{Name: "jobgraph", Identities: cast()})
	tenant := &s.tenants[0]
	scheduler, careless, nc := s.signed(tenant, "scheduler"), s.bus(tenant, "scheduler"), s.raw(tenant, "runner-a")
	n := scheduler.Names()
	publish := func(by *bus.Bus, pool string) uint64 {
		t.Helper()
		return say(t, by, n.WorkFor(pool, "x", "j", "a", 1), "{}")
	}
	inHand := publish(scheduler, "b")
	musttest.Get(s.raw(tenant, "runner-bc").Request("$JS.API.CONSUMER.MSG.NEXT."+n.Work+".pool-b", []byte("1"), bound))(t)
	victims := map[string]uint64{"in hand": inHand, "waiting": publish(scheduler, "c"), "unread": publish(scheduler, "new"), "careless": publish(careless, "newer")}
	publish(scheduler, "a")
	own, err := nc.Request("$JS.API.CONSUMER.MSG.NEXT."+n.Work+".pool-a", []byte("1"), bound) // Now the consumer has passed all of them.
	if err != nil {
		t.Fatal(err)
	}
	for _, seq := range victims { // any order: each is attacked in every way.
		for _, of := range []string{"$JS.ACK." + n.Work + ".pool-a", "$JS.ACK._.hash." + n.Work + ".pool-a"} {
			for _, what := range []string{"-NAK", "+WPI", "+NXT", "", "+ACK", "+TERM"} {
				for _, rest := range []string{"", ".x"} {
					musttest.Do(t, nc.Publish(fmt.Sprintf("%s.1.%d.1.%d.0%s", of, seq, time.Now().UnixNano(), rest), []byte(what)))
				}
			}
		}
	}
	if _, err := nc.Request(own.Reply, []byte("+ACK"), bound); err != nil || refused(t, nc) { // The server takes them in this order.
		t.Fatal(err, nc.LastError())
	}
	for what, seq := range victims { // any order: each is checked by itself.
		_, err := scheduler.Streams().At(t.Context(), n.Work, seq)
		if lost := err != nil; lost != (what == "careless") {
			t.Errorf("work that is %s, lost: %t (%v)", what, lost, err)
		}
	}
	facts, err := scheduler.Queues().Info(t.Context(), n.Work, "pool-b")
	if err != nil || facts.Unsettled != 1 || facts.Redelivered != 0 {
		t.Errorf("the work in hand was touched: %+v, %v", facts, err)
	}
	runner := s.bus(tenant, "admin")
	musttest.Do(t, runner.Queues().EnsurePool(t.Context(), "new"))
	sub := musttest.Get(runner.Queues().Consume(t.Context(), runner.Queues().PoolConsumer("new")))(t)
	defer sub.Stop()
	if list, err := sub.Next(t.Context(), 1); err != nil || list[0].Seq() != victims["unread"] {
		t.Errorf("the first runner of a pool gets %v (%v)", list, err)
	}
}
