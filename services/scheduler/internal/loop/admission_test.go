package loop

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// newTestAdmission makes an admission with a window of n runs and readable queues: at first one run is admitted.
func newTestAdmission(t *testing.T, window int) *admission {
	a := newFake().partition(t).admission
	a.Window, a.now = window, time.Unix(1000, 0)
	return a
}

func TestTheGateClosesWhenTheWindowIsFull(t *testing.T) {
	a := newTestAdmission(t, 2)
	j := &job{id: "j"}
	got := []bool{a.admits(j, "p"), a.admits(j, "p"), a.admits(j, "p"), a.admits(j, "q")}
	if diff := cmp.Diff([]bool{true, true, false, true}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAJobThatLeavesMakesRoom(t *testing.T) {
	a := newTestAdmission(t, 2)
	first, second := &job{id: "first"}, &job{id: "second"}
	a.admits(first, "p")
	a.admits(first, "p")
	first.limits.leave()
	first.limits.leave() // Calling it twice does no harm.
	if !a.admits(second, "p") || a.limit("p").queued != 1 {
		t.Errorf("%d runs count for the pool", a.limit("p").queued)
	}
}

func TestATurnOfAJobThatIsNotInMemoryIsCountedUntilItsStateIsKnown(t *testing.T) {
	a := newTestAdmission(t, 1)
	j := &job{id: "j"}
	limit := a.limit("p")
	a.promise(j, limit)
	if !limit.full() || len(j.limits.turns) != 1 {
		t.Errorf("full %v, %d turns", limit.full(), len(j.limits.turns))
	}
	j.limits.leave()
	if limit.full() {
		t.Error("it counts although its state was dropped")
	}
}

func TestAReadingThatFailsLeavesTheWindowToThePace(t *testing.T) {
	a := newTestAdmission(t, 1000)
	limit := a.limit("p")
	limit.window = newWindow(a.env, true)
	limit.read(a.now, limit.ask(), Depth{}, errors.New("not permitted"))
	if limit.measured || limit.most != blindLeast || limit.reading != notReading {
		t.Errorf("measured %v, window %d", limit.measured, limit.most)
	}
}

func TestAReminderIsNeededOnlyWhereNothingElseBringsTheJobBack(t *testing.T) {
	f := newFake()
	p := f.partition(t)
	requested, created := f.begin()
	f.deliver(t, p, 1, true, requested)
	f.deliver(t, p, 2, true, created)
	state := p.cache.jobs["j"].state
	for name, test := range map[string]struct {
		set  func(j *job)
		want bool
	}{
		"its work does not wait":        {func(j *job) { j.limits.turns = nil }, false},
		"nothing brings it back":        {func(*job) {}, true},
		"it waits for a slot":           {func(j *job) { j.limits.turns, j.slots.claim = nil, slotless }, true},
		"it is tried again":             {func(j *job) { j.retry.at = p.now }, false},
		"its deliveries come again":     {func(j *job) { j.acks.open = []*unacked{{}} }, false},
		"they were kept for too long":   {func(j *job) { j.acks = jobAcks{open: []*unacked{{}}, kept: p.now.Add(-turnPatience)} }, true},
		"its timer comes":               {func(j *job) { j.reminder = jobReminder{armed: true, at: p.now.Add(1)} }, false},
		"its timer ought to have come":  {func(j *job) { j.reminder = jobReminder{armed: true, at: p.now} }, true},
		"there is no state to speak of": {func(j *job) { j.state = nil }, false},
	} {
		j := &job{phase: ready, state: state, limits: jobLimits{turns: []*queueLimit{nil}}}
		test.set(j)
		if got := p.reminders.needed(j); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
