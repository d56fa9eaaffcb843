package graph

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// proves V-T14
// proves V18
func TestWhatIsStatedOfAStepCountsOnceAndOnlyInItsTurn(t *testing.T) {
	g := start(t, nil)
	g.plan("~plan", sub("a"), sub("b", "a"), sub("c"))
	g.wantOpen("a/1", "c/1")
	ignored := func(what string, e Effect) {
		t.Helper()
		if e.Verdict != Ignored || e.Reason == "" {
			t.Errorf("%s: %+v", what, e)
		}
	}
	begun := func(subjob string, run int) Effect {
		return g.tell(events.KindSubJobStarted, subjob, run, "", &events.SubJobStarted{})
	}
	ended := func(subjob string, o events.Outcome) Effect {
		return g.tell(events.KindSubJobReported, subjob, 1, "", &events.SubJobReported{Outcome: o})
	}
	ignored("start of an unknown step", begun("z", 1))
	ignored("start of a step that nobody issued", begun("b", 1))
	ignored("start of a run that was never issued", begun("a", 2))
	begun("a", 1)
	first := g.job.dag.find("a").Started
	g.pass(time.Minute)
	begun("a", 1)
	if again := g.job.dag.find("a").Started; g.status("a") != events.Running || !again.Equal(first) {
		t.Errorf("a second start moved the first from %s to %s, %s", first, again, g.status("a"))
	}
	g.succeed("a")
	ignored("failure of a finished step", ended("a", events.ExecutionError))
	ignored("second success of a finished step", ended("a", events.Success))
	g.wantNodes(map[string]events.Status{"a": events.Finished, "b": events.Ready, "c": events.Ready})

	g.tell(events.KindStopRequested, "", 0, "", &events.StopRequested{Reason: "enough"})
	g.wantStatus(events.Stopped)
	g.wantNodes(map[string]events.Status{"a": events.Finished, "b": events.Stopped, "c": events.Stopped})
	ignored("stop of a stopped job", g.tell(events.KindStopRequested, "", 0, "", &events.StopRequested{Reason: "again"}))
	ended("c", events.Success)
	g.wantNodes(map[string]events.Status{"a": events.Finished, "b": events.Stopped, "c": events.Stopped})
}

func TestAnInquiryBeforePlanningIsThePlannersAndNobodyElses(t *testing.T) {
	g := start(t, nil)
	why := g.job.Why(events.PlanID)
	if len(why) == 0 || !strings.Contains(why[0].Message, "waits for a planner, or one is at it") {
		t.Errorf("%+v", why)
	}
	e := g.tell(events.KindSubJobReported, "~plan~1~investigate-1-1", 1, "", &events.SubJobReported{Outcome: events.Success, Spent: events.Spent{Tokens: 9}})
	if e.Verdict != Ignored || !strings.Contains(e.Reason, "asked before planning") || g.job.State.Cost.Tokens != 0 {
		t.Errorf("%+v, %d tokens", e, g.job.State.Cost.Tokens)
	}
	g.wantOpen("~plan/1")
}

// However often a planner's fact is delivered, it leads to one state, and to one end if there is one. Progress and the start of a
// run change nothing that others can see.
// proves V-T17
func TestEachFactOfPlanningLeadsToOneStateAndAtMostOneEnd(t *testing.T) {
	a := events.Plan{SubJobs: []events.SubJob{sub("a")}}
	fault := events.Faults{{Code: events.CodeRejected, Message: "no"}}
	for name, c := range map[string]struct {
		kind   events.Kind
		data   any
		status events.Status
		ends   int
	}{
		"progress":     {events.KindSubJobProgressed, &events.SubJobProgressed{Message: "draft"}, events.Planning, 0},
		"a start":      {events.KindSubJobStarted, &events.SubJobStarted{}, events.Planning, 0},
		"a graph":      {events.KindGraphCreated, &events.GraphCreated{Plan: &a}, events.Running, 0},
		"an answer":    {events.KindJobAnswered, &events.JobAnswered{Answer: json.RawMessage(`"hello"`)}, events.Finished, 1},
		"a rejection":  {events.KindPlanRejected, &events.PlanRejected{Faults: fault}, events.Failed, 1},
		"a question":   {events.KindInputRequested, &events.InputRequested{Request: "q", Kind: events.InputReview}, events.Waiting, 0},
		"a failed run": {events.KindSubJobReported, &events.SubJobReported{Outcome: events.ExecutionError}, events.Planning, 0},
	} {
		g := start(t, nil)
		g.tell(c.kind, "~plan", 1, "", c.data)
		g.tell(c.kind, "~plan", 1, "", c.data)
		if g.job.Status != c.status || len(g.ends) != c.ends {
			t.Errorf("%s: %s with %d ends, want %s with %d", name, g.job.Status, len(g.ends), c.status, c.ends)
		}
		if c.ends == 0 {
			continue
		}
		late := g.tell(events.KindGraphCreated, "~plan", 1, "", &events.GraphCreated{Plan: &a})
		if late.Verdict != Ignored || g.job.Status != c.status || len(g.ends) != c.ends {
			t.Errorf("%s: a graph behind the end is %+v, %s with %d ends", name, late, g.job.Status, len(g.ends))
		}
	}
}
