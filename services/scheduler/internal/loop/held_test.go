package loop

import (
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

func TestWhatIsHeldUnacknowledgedIsSaidToBeInProgress(t *testing.T) {
	inTower(t, func(w *tower, _ func()) {
		given := make(chan error)
		w.held[".one.a.1"] = given
		w.plan("one")
		held := int(w.seq) - w.acked
		w.pass(4 * time.Second) // The consumer waits five seconds.
		if held == 0 || w.told < held {
			t.Errorf("%d deliveries are held, %d were said to be in progress", held, w.told)
		}
		given <- nil
		w.pass(time.Minute)
		told := w.told
		w.pass(time.Minute)
		if w.told != told || w.acked != int(w.seq) {
			t.Errorf("told %d times when all is acknowledged; %d of %d are", w.told-told, w.acked, w.seq)
		}
	})
}

func TestARepeatOfWhatIsHeldLeavesTheCacheAlone(t *testing.T) {
	inTower(t, func(w *tower, _ func()) {
		given := make(chan error)
		w.held[".one.a.1"] = given
		w.plan("one")
		w.tell("one", events.KindSubJobReported, "a", 1, success) // Kept in the inbox until the commands before it are acknowledged.
		held := w.log[len(w.log)-1]
		w.fail["load"] = errAway // The store cannot be read, so a dropped state would not come back.
		acked := w.acked
		w.seq++
		w.feed <- Batch{Deliveries: []Delivery{{Event: held, ConsumerSeq: w.seq, Acker: w}}}
		given <- nil
		if w.saw(".one.b.1") != 1 {
			t.Errorf("the job does not go on from the state in memory: %q", w.published)
		}
		w.pass(time.Minute)
		if got := w.acked - acked; got != int(w.seq)-acked-1 {
			t.Errorf("%d acknowledgements, want one for each of %d events", got, int(w.seq)-acked-1)
		}
	})
}

func TestARepeatForAJobThatHasEndedLatelyIsSettledWithoutALoad(t *testing.T) {
	r := &reaper{fake: newFake()}
	p, _ := reap(t, r)
	j := p.cache.jobs["j"]
	for len(j.state.Facts) > 0 { // Deliver the facts that the job has published, until it is over.
		f := j.state.Facts[0]
		stated, ok := events.Decode(p.Names, events.Message{Subject: p.Names.Event("j", f.Kind, f.Key), Body: f.Data})
		if !ok {
			t.Fatalf("%s is no fact", f.Kind)
		}
		stated.Seq = uint64(len(r.log) + 1)
		r.log = append(r.log, stated)
		r.deliver(t, p, p.acks.last+1, true, stated)
	}
	if len(p.cache.jobs) != 0 {
		t.Fatalf("%d jobs in memory: %+v", len(p.cache.jobs), j)
	}
	acked := r.acked
	r.loads = 0
	r.deliver(t, p, p.acks.last+1, false, r.log[0])
	if r.loads != 0 || r.acked != acked+1 {
		t.Errorf("%d loads, %d acknowledged", r.loads, r.acked-acked)
	}
	r.deliver(t, p, p.acks.last+1, true, r.add(events.KindTimerFired, "", 0, &events.TimerFired{Timer: graph.TurnTimer()}))
	if r.loads == 0 {
		t.Error("an event that the saved state does not have is not folded")
	}
}
