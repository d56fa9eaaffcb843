package graph

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// ordered returns the order of the work in a job, as text.
func ordered(j *Job) string {
	var ids []string
	for i, n := range j.Steps {
		if i != len(ids) {
			return "counted wrong"
		}
		ids = append(ids, n.ID)
	}
	return strings.Join(ids, " ")
}

func TestTheOrderOfTheWorkFollowsThePlanAndItsDependencies(t *testing.T) {
	g := start(t, nil)
	step := func(id string, deps ...string) events.SubJob {
		return events.SubJob{ID: id, Goal: id, Expert: "x", Pool: "p", Dependencies: deps}
	}
	if got := ordered(g.job); got != "" {
		t.Errorf("before there is a plan: %s", got)
	}
	g.tell(events.KindGraphCreated, events.PlanID, 1, "", &events.GraphCreated{Plan: &events.Plan{SubJobs: []events.SubJob{step("a"), step("d", "c"), step("b", "a"), step("c", "b"), step("e")}}})
	if got := ordered(g.job); got != "a b c d e" {
		t.Errorf("got %s", got)
	}
	g.tell(events.KindSubJobReported, "a", 1, "", &events.SubJobReported{Outcome: events.TooComplicated})
	g.tell(events.KindGraphCreated, "a", 2, "", &events.GraphCreated{Plan: &events.Plan{SubJobs: []events.SubJob{step("x"), step("y", "x"), step("z", "x")}}})
	want := "e a~2~x a~2~y a~2~z b c d"
	if got := ordered(g.job); got != want {
		t.Errorf("after a split: %s", got)
	}
	loaded := &Job{}
	musttest.Decode(t, musttest.JSON(t, g.job), loaded)
	if got := ordered(loaded); got != want {
		t.Errorf("of a saved state: %s", got)
	}
	var s Standing
	g.job.Stand("b", 1, &s)
	if s.N != 5 || s.Of != 7 || s.ID != "b" || len(s.Before) != 1 || s.Before[0].ID != "a~2~y" || s.Before[0].N != 3 || s.MoreBefore != 1 || len(s.After) != 1 || s.After[0].ID != "c" || s.MoreAfter != 0 {
		t.Errorf("%+v", s)
	}
	for _, none := range []string{"a", events.PlanID, events.FinalID, "nothing"} {
		if g.job.Stand(none, 1, &s); s.N != 0 || s.Of != 7 || len(s.Before)+len(s.After) != 0 {
			t.Errorf("%s: %+v", none, s)
		}
	}
}

func TestEveryStepOfAnyGraphHasOnePlaceBehindItsPredecessors(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		plan := &events.Plan{}
		n := rapid.IntRange(1, 30).Draw(rt, "steps")
		order := rapid.Permutation(slices.Collect(func(yield func(int) bool) {
			for i := range n {
				yield(i)
			}
		})).Draw(rt, "order")
		for at, i := range order {
			s := events.SubJob{ID: "s" + strconv.Itoa(i), Goal: "g", Expert: "x", Pool: "p"}
			for _, before := range order[:at] {
				if rapid.IntRange(0, 4).Draw(rt, "edge") == 0 {
					s.Dependencies = append(s.Dependencies, "s"+strconv.Itoa(before))
				}
			}
			plan.SubJobs = append(plan.SubJobs, s)
		}
		slices.SortFunc(plan.SubJobs, func(a, b events.SubJob) int { return strings.Compare(a.ID, b.ID) })
		job := musttest.Get(New(events.Event{Seq: 1, Kind: events.KindJobRequested, Job: "j", Data: &events.JobRequested{Request: events.Request{Goal: "g"}, Rules: rules()}}))(rt)
		if e := job.Step(events.Event{Seq: 2, Kind: events.KindGraphCreated, Job: "j", SubJob: events.PlanID, Run: 1, Data: &events.GraphCreated{Plan: plan}}); e.Verdict != Applied {
			rt.Fatal(e)
		}
		seen := map[string]int{}
		for i, s := range job.Steps {
			seen[s.ID] = i + 1
		}
		var s Standing
		for _, step := range plan.SubJobs {
			if job.Stand(step.ID, n, &s); s.N == 0 || s.N != seen[step.ID] || len(s.Before) != len(step.Dependencies) {
				rt.Fatalf("%s: %+v", step.ID, s)
			}
			for _, dep := range step.Dependencies {
				if seen[dep] >= seen[step.ID] {
					rt.Fatalf("%s comes before %s", step.ID, dep)
				}
			}
		}
	})
}
