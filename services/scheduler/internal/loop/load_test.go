package loop

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

func TestOtherJobsGoOnWhileAStateIsRead(t *testing.T) {
	inTower(t, func(w *tower, _ func()) {
		w.plan("old")
		w.pass(time.Minute)
		w.loads = make(chan struct{})
		w.feed <- Batch{Fresh: true} // The states in memory are no longer valid.
		w.tell("old", events.KindSubJobReported, "a", 1, success)
		w.plan("new")
		if w.saw(".new.a.1") != 1 || w.saw(".old.b.1") != 0 {
			t.Errorf("said %q: want the new job begun while the old one is read", w.published)
		}
		w.tell("old", events.KindSubJobReported, "b", 1, success) // It arrives while the state is being read.
		close(w.loads)
		synctest.Wait()
		if w.saw("old.job.finished") != 1 {
			t.Errorf("said %q: want the old one finished by what came while it was read", w.published)
		}
		w.pass(time.Minute)
		if w.acked != int(w.seq) {
			t.Errorf("%d of %d acknowledged", w.acked, w.seq)
		}
	})
}

func TestAShortWaitForATurnArmsNoTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMarket(t, 1)
		m.submit("first", "", 0, 1)
		m.submit("second", "", 0, 1)
		m.turn()
		waits := m.log[len(m.log)-1].Seq
		if m.timers["second"] || m.acked[waits] {
			t.Errorf("timers %v, acknowledged %v: want a job that waits brought back by what is not acknowledged", m.timers, m.acked)
		}
		m.work("default")
		m.turn()
		m.work("default")
		m.turn()
		<-time.After(time.Second)
		m.turn()
		if len(m.owed) > 0 || len(m.timers) > 0 || !m.acked[waits] {
			t.Errorf("owed %v, timers %v, acknowledged %v", m.owed, m.timers, m.acked)
		}
	})
}

func TestALongWaitForATurnIsRememberedByATimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMarket(t, 1)
		m.submit("first", "", 0, 1)
		m.submit("second", "", 0, 1)
		m.turn()
		waits := m.log[len(m.log)-1].Seq
		for range 3 {
			<-time.After(turnPatience)
			m.turn()
		}
		if !m.timers["second"] || !m.acked[waits] {
			t.Errorf("timers %v, acknowledged %v: want a timer and then the acknowledgement", m.timers, m.acked)
		}
	})
}
