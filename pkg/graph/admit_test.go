package graph

import (
	"slices"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// cold returns the job as folded by a process that has delivered nothing.
func (g *engine) cold() *Job {
	g.t.Helper()
	j := musttest.Get(Fold(func(yield func(events.Event, error) bool) {
		for _, e := range g.log {
			if !yield(e, nil) {
				return
			}
		}
	}))(g.t)
	return j
}

// workOf returns the SubJobs whose work Pending returns.
func workOf(j *Job) (subjobs []string) {
	for _, c := range j.Pending() {
		if c.Kind == RunSubJob {
			subjobs = append(subjobs, c.SubJob)
		}
	}
	return subjobs
}

func TestOnlyWorkThatIsAdmittedIsGiven(t *testing.T) {
	g := start(t, nil)
	j := g.cold()
	j.Admit(nil)
	if got := workOf(j); !slices.Equal(got, []string{events.PlanID}) {
		t.Errorf("given %v, and planning is never bound", got)
	}
	g.plan("~plan", sub("a"), sub("b"), sub("c", "a"))
	j = g.cold()
	if got := workOf(j); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("given %v, and nothing is bound at first", got)
	}
	live := slices.Collect(j.Live)
	if want := []Run{{SubJob: "a", Run: 1}, {SubJob: "b", Run: 1}}; !slices.Equal(live, want) {
		t.Errorf("live %v, want %v", live, want)
	}
	for _, c := range []struct {
		admit []Run
		want  []string
	}{
		{nil, nil},
		{live[1:], []string{"b"}},
		{[]Run{{SubJob: "a", Run: 2}, {SubJob: "z", Run: 1}}, nil},
		{live, []string{"a", "b"}},
	} {
		j.Admit(c.admit)
		if got := workOf(j); !slices.Equal(got, c.want) {
			t.Errorf("given %v, want %v of %v", got, c.want, c.admit)
		}
	}
	j.Sent(CommandID{Kind: RunSubJob, SubJob: "b", Run: 1})
	if live := slices.Collect(j.Live); live[0].Begun || !live[1].Begun {
		t.Errorf("live %v, and the work of b was given out", live)
	}
}

func TestARunThatWasEndedFromOutsideIsLiveUntilItsWorkerMayKnow(t *testing.T) {
	g := start(t, nil)
	g.plan("~plan", sub("a"), sub("b"))
	j := g.cold()
	live := func(what string, want ...Run) {
		t.Helper()
		if live := slices.Collect(j.Live); !slices.Equal(live, want) {
			t.Errorf("live %v, want %v: %s", live, want, what)
		}
	}
	a, b := Run{SubJob: "a", Run: 1, Begun: true}, Run{SubJob: "b", Run: 1}
	j.Step(g.event(events.KindRerunRequested, "", 0, "", &events.RerunRequested{SubJob: "a"}))
	live("it is being closed", a, b)
	j.Step(g.event(events.KindSubJobClosed, "a", 1, "", &events.SubJobClosed{Claimed: true, LeaseUntil: g.now.Add(time.Minute)}))
	live("its lease has not passed", a, b)
	j.Step(g.event(events.KindSubJobReported, "a", 1, "", &events.SubJobReported{Outcome: events.ExecutionError}))
	live("its worker has reported, and the next run is open", Run{SubJob: "a", Run: 2}, b)
}

// A place in a queue held by a run that waits for a slot would be lost to runs that have one.
func TestARunThatIsNotAdmittedTakesNoPlaceInAQueue(t *testing.T) {
	g := start(t, nil)
	g.plan("~plan", sub("a"), sub("b"))
	j := g.cold()
	live := slices.Collect(j.Live)
	full := func(string) bool { return false }
	j.Admit(live)
	if got := j.PendingWithin(full); len(got) != 0 {
		t.Fatalf("given %v, and there is no room", got)
	}
	j.Admit(live[1:])
	if released := j.Release("default", 1); released != 1 {
		t.Errorf("%d released, and b may go", released)
	}
	if got := workOf(j); !slices.Equal(got, []string{"b"}) {
		t.Errorf("given %v, want b", got)
	}
	j.Admit(live)
	room := func(string) bool { return true }
	var got []string
	for _, c := range j.PendingWithin(room) {
		got = append(got, c.SubJob)
	}
	if !slices.Equal(got, []string{"a", "b"}) && !slices.Equal(got, []string{"b", "a"}) {
		t.Errorf("given %v, want both once both are admitted", got)
	}
}
