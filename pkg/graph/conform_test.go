package graph

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// A step is tried again twice before the job is planned again, and the plan three times at most: then the job fails, with the
// work that was done kept.
//
// proves O-weakness-issue-1323
// proves O-weakness-1
func TestAStepThatKeepsFailingIsPlannedAroundAFewTimesAndThenTheJobFails(t *testing.T) {
	g := start(t, func(r *events.Rules) { r.Retries, r.FailurePolicy, r.MaxPlanRounds = 2, events.Replan, 4 })
	g.plan("~plan", sub("a"), sub("b", "a"))
	g.succeed("a")
	tries, replans := 0, 0
	for g.job.Status != events.Failed && tries < 100 {
		for range 3 {
			g.outcome("b", events.ExecutionError, "cannot")
			tries++
			g.pass(time.Hour)
		}
		if g.job.Status == events.Failed {
			break
		}
		replans++
		g.wantOpen("~plan/" + string(rune('1'+replans)))
		g.plan("~plan", sub("a"), events.SubJob{ID: "b", Goal: "another way " + string(rune('0'+replans)), Expert: "e", Dependencies: []string{"a"}})
	}
	g.wantStatus(events.Failed)
	if tries != 12 || replans != 3 {
		t.Errorf("%d tries and %d plans anew, want 12 and 3", tries, replans)
	}
	if g.status("a") != events.Finished {
		t.Errorf("what was done is %s", g.status("a"))
	}
}

// The cost of planning is part of the job's cost, including runs that yielded no plan, and counts against its budget.
// proves O-weakness-issue-414
// proves O-weakness-issue-1074
// proves C-weakness-9
func TestTheCostOfPlanningIsTold(t *testing.T) {
	spent := func(tokens int64) events.Spent { return events.Spent{Tokens: tokens, CostUSD: float64(tokens) / 1000} }
	g := start(t, nil)
	g.tell(events.KindGraphCreated, "~plan", g.take("~plan"), "", &events.GraphCreated{Plan: &events.Plan{SubJobs: []events.SubJob{sub("a")}}, Spent: spent(700)})
	g.report("a", events.SubJobReported{Outcome: events.Success, Spent: spent(50)})
	g.wantStatus(events.Finished)
	if c := g.job.Cost; c.Tokens != 750 || c.CostUSD != 0.75 {
		t.Errorf("%+v", c)
	}
	g = start(t, nil)
	g.tell(events.KindPlanRejected, "~plan", g.take("~plan"), "", &events.PlanRejected{Faults: events.Faults{{Code: events.CodeMalformed, Message: "no plan"}}, Spent: spent(900)})
	g.wantStatus(events.Failed)
	if c := g.job.Cost; c.Tokens != 900 {
		t.Errorf("%+v", c)
	}
	g = start(t, func(r *events.Rules) { r.Tokens = 600 })
	g.tell(events.KindGraphCreated, "~plan", g.take("~plan"), "", &events.GraphCreated{Plan: &events.Plan{SubJobs: []events.SubJob{sub("a")}}, Spent: spent(700)})
	g.wantStatus(events.Failed)
	if f := g.job.State.Error; f.Code != events.CodeBudget || len(g.open()) != 0 {
		t.Errorf("%+v, %v is open", f, g.open())
	}
}

// proves C-weakness-4-late
func TestAnAttemptThatFailsBehindAStopIsNotMadeAgain(t *testing.T) {
	for _, delay := range []time.Duration{0, time.Second} {
		g := start(t, func(r *events.Rules) { r.RetryDelay = events.Duration(delay) })
		g.plan("~plan", sub("a"), sub("b", "a"))
		g.tell(events.KindSubJobStarted, "a", 1, "", &events.SubJobStarted{})
		delete(g.orders, "a/1")
		g.tell(events.KindStopRequested, "", 0, "", &events.StopRequested{Reason: "enough"})
		g.tell(events.KindSubJobReported, "a", 1, "", &events.SubJobReported{Outcome: events.ExecutionError, Lesson: "it was cut off"})
		if n := g.job.dag.find("a"); n.Attempts != 0 || n.Late == 0 {
			t.Errorf("%d attempts are used up, late report %d", n.Attempts, n.Late)
		}
		g.pass(time.Hour)
		g.wantStatus(events.Stopped)
		g.wantNodes(map[string]events.Status{"a": events.Stopped, "b": events.Stopped})
		g.wantOpen()
		g.tell(events.KindRecoverRequested, "", 0, "", &events.RecoverRequested{})
		g.succeed("a", "b")
		g.wantStatus(events.Finished)
	}
}

// proves F-weakness-issue-2553
func TestALateResultDoesNotTakeThePlaceOfATimeout(t *testing.T) {
	for name, retries := range map[string]int{"none is left": 0, "another one is made": 1} {
		t.Run(name, func(t *testing.T) {
			g := start(t, func(r *events.Rules) { r.Retries = retries })
			s := sub("a")
			minute := events.Duration(time.Minute)
			s.Timeout = &minute
			g.plan("~plan", s, sub("b", "a"))
			g.tell(events.KindSubJobStarted, "a", 1, "", &events.SubJobStarted{})
			delete(g.orders, "a/1")
			g.pass(66 * time.Second)
			g.tell(events.KindSubJobReported, "a", 1, "", &events.SubJobReported{Outcome: events.Success, Output: json.RawMessage(`"late"`)})
			if g.job.dag.find("a").Late == 0 {
				t.Error("the late report was not kept")
			}
			if retries == 0 {
				g.wantStatus(events.Failed)
				g.wantNodes(map[string]events.Status{"a": events.Failed, "b": events.Stopped})
				if code := g.job.State.Error.Code; code != events.CodeTimeout {
					t.Errorf("code %s", code)
				}
				return
			}
			g.pass(time.Minute)
			g.wantOpen("a/2")
			g.report("a", events.SubJobReported{Outcome: events.Success, Output: json.RawMessage(`"in time"`)})
			if in := g.orders["b/1"].Inputs; len(in) != 1 || in[0].Run != 2 {
				t.Errorf("b works with %+v", in)
			}
		})
	}
}
