package loop

import (
	"testing"
	"time"
)

// newTestWorkSet makes a work set at a fixed time.
func newTestWorkSet(t *testing.T) *workSet {
	w := newFake().partition(t).work
	w.now = time.Unix(1000, 0)
	return w
}

func TestAJobIsOnceInTheDirtySet(t *testing.T) {
	w := newTestWorkSet(t)
	a, b := &job{id: "a"}, &job{id: "b"}
	for _, j := range []*job{a, b, a} {
		w.touch(j)
	}
	var seen []string
	w.endBatch(func(j *job) { seen = append(seen, j.id) })
	if len(seen) != 2 || len(w.dirty) != 0 || a.dirty || b.used != w.now {
		t.Errorf("looked at %q, %d left", seen, len(w.dirty))
	}
}

func TestTheRetrySetIsSweptInTimeAndLeavesAloneWhatIsNotDue(t *testing.T) {
	w := newTestWorkSet(t)
	unsaved, later, done := &job{save: jobSave{changes: 1}}, &job{}, &job{}
	w.later(unsaved)
	w.postpone(later, errAway)
	later.retry.at = w.now.Add(time.Hour)
	w.later(later)
	w.later(done)
	w.sweep()
	if len(w.dirty) != 0 {
		t.Error("swept before its time")
	}
	w.now = w.sweepAt
	w.sweep()
	if len(w.dirty) != 1 || w.dirty[0] != unsaved || w.backlog() != 1 || len(w.retry) != 2 {
		t.Errorf("%d looked at, backlog %d, %d in the retry set", len(w.dirty), w.backlog(), len(w.retry))
	}
	w.retryNow(later, errAway)
	w.now = w.sweepAt
	w.sweep()
	if len(w.dirty) != 2 || w.backlog() != 2 {
		t.Errorf("%d looked at, backlog %d", len(w.dirty), w.backlog())
	}
}

func TestARetryThatIsDueSoonerBringsTheSweepForward(t *testing.T) {
	for _, test := range []struct {
		phase  phase
		sooner bool
	}{{cold, true}, {ready, true}, {inFlight, false}, {loading, false}} {
		w := newTestWorkSet(t)
		j := &job{phase: test.phase}
		w.postpone(j, errAway)
		j.retry.at = w.now.Add(time.Millisecond)
		w.later(j)
		if got := w.sweepAt.Equal(j.retry.at); got != test.sooner {
			t.Errorf("%s: sooner %v", test.phase, got)
		}
	}
}

func TestTheWaitForARetryDoublesUpToItsBound(t *testing.T) {
	w := newTestWorkSet(t)
	j := &job{}
	for i := range 100 {
		w.postpone(j, errAway)
		if got, want := j.retry.at.Sub(w.now), min(w.RetryFirst<<min(i, 16), w.RetryMost); got != want {
			t.Fatalf("failure %d waits for %v, want %v", i, got, want)
		}
	}
}
