package graph

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func given(id, result string, deps ...string) events.SubJob {
	return events.SubJob{ID: id, Goal: "known " + id, Dependencies: deps, ExecutionRes: json.RawMessage(result)}
}

func TestADependencyOnFinishedWorkThatThePlanDoesNotListKeepsIt(t *testing.T) {
	g := start(t, func(r *events.Rules) { r.Retries, r.FailurePolicy = 0, events.Replan })
	g.plan("~plan", sub("a"), sub("b", "a"), sub("c", "b"))
	g.succeed("a", "b")
	g.outcome("c", events.ExecutionError, "cannot")
	g.plan("~plan", sub("e", "b"))
	g.wantNodes(map[string]events.Status{"a": events.Finished, "b": events.Finished, "c": events.Legacy})
	g.wantOpen("e/1")
	g.outcome("e", events.InputDataError, "b is wrong")
	g.outcome("b", events.InputDataError, "a is wrong")
	g.succeed("a", "b", "e")
	g.wantStatus(events.Finished)
}

func TestAKeptStepRunsAgainOnThePredecessorsOfThePresentPlan(t *testing.T) {
	g := start(t, nil)
	g.plan("~plan", sub("a"), sub("b", "a"), sub("c", "b"))
	g.succeed("a", "b")
	g.tell(events.KindPlanEdited, "", 0, "", &events.PlanEdited{PlanVersion: 1, Plan: &events.Plan{SubJobs: []events.SubJob{sub("b"), sub("d", "b")}}})
	g.wantOpen("d/1")
	g.outcome("d", events.InputDataError, "b is wrong")
	g.wantOpen("b/2")
	g.succeed("b", "d")
	g.wantStatus(events.Finished)
}

func TestAGivenResultOutlivesTheRerunOfItsPredecessor(t *testing.T) {
	g := start(t, nil)
	g.plan("~plan", sub("a"), given("b", `"known"`, "a"), sub("c", "a", "b"))
	g.succeed("a")
	g.outcome("c", events.InputDataError, "a is wrong")
	g.wantNodes(map[string]events.Status{"a": events.Ready, "b": events.Finished, "c": events.Created})
	g.succeed("a", "c")
	g.wantStatus(events.Finished)
}

func TestAGivenResultOutlivesStopAndRecover(t *testing.T) {
	g := start(t, nil)
	g.plan("~plan", sub("a"), given("b", `"known"`, "a"), sub("c", "b"))
	g.tell(events.KindStopRequested, "", 0, "", &events.StopRequested{})
	g.tell(events.KindRecoverRequested, "", 0, "", &events.RecoverRequested{})
	g.wantNodes(map[string]events.Status{"b": events.Finished})
	g.succeed("a", "c")
	g.wantStatus(events.Finished)
}

func TestARerunOfAStepWithoutAnExpertNeedsAnEditThatNamesOne(t *testing.T) {
	g := start(t, nil)
	g.plan("~plan", given("a", `1`), sub("b", "a"))
	if e := g.tell(events.KindRerunRequested, "", 0, "", &events.RerunRequested{SubJob: "a"}); e.Verdict != Ignored {
		t.Errorf("verdict %s", e.Verdict)
	}
	g.wantOpen("b/1")
	g.tell(events.KindRerunRequested, "", 0, "", &events.RerunRequested{SubJob: "a", Edit: json.RawMessage(`{"expert":"y"}`)})
	g.wantOpen("a/1")
	g.succeed("a", "b")
	g.wantStatus(events.Finished)
}

func TestAnEditThatNamesAnImpossibleExpertIsIgnored(t *testing.T) {
	g := start(t, nil)
	g.plan("~plan", sub("a"))
	for _, edit := range []string{`{"expert":"a.b"}`, `{"expert":"y","pool":"*"}`, `{"expert":5}`} {
		if e := g.tell(events.KindRerunRequested, "", 0, "", &events.RerunRequested{SubJob: "a", Edit: json.RawMessage(edit)}); e.Verdict != Ignored {
			t.Errorf("%s was %s", edit, e.Verdict)
		}
	}
	g.succeed("a")
	g.wantStatus(events.Finished)
}

func TestAPlanWhoseStepsNobodyCanBeAskedForIsRefused(t *testing.T) {
	g := start(t, nil)
	g.plan("~plan", events.SubJob{ID: "a", Goal: "g"})
	g.pass(time.Minute)
	g.plan("~plan", events.SubJob{ID: "a", Goal: "g", Expert: "x", Pool: "a.b"})
	g.pass(time.Minute)
	g.plan("~plan", sub("a"))
	g.succeed("a")
	g.wantStatus(events.Finished)
}

func TestARetryOfOneOfTwoFailuresLeavesWhatDependsOnTheOtherStopped(t *testing.T) {
	g := start(t, func(r *events.Rules) { r.Retries, r.FailurePolicy = 0, events.Continue })
	g.plan("~plan", sub("a"), sub("b"), sub("c", "a", "b"), sub("d", "a"), sub("e"))
	g.outcome("a", events.ExecutionError, "")
	g.outcome("b", events.ExecutionError, "")
	g.tell(events.KindRetryRequested, "", 0, "", &events.RetryRequested{SubJob: "a"})
	g.wantNodes(map[string]events.Status{"a": events.Ready, "b": events.Failed, "c": events.Stopped, "d": events.Created})
	g.succeed("a", "d", "e")
	g.wantStatus(events.Failed)
	if code := g.job.State.Error.Code; code == events.CodeInternal {
		t.Errorf("code %s", code)
	}
	g.tell(events.KindRetryRequested, "", 0, "", &events.RetryRequested{SubJob: "b"})
	g.succeed("b", "c")
	g.wantStatus(events.Finished)
}

func TestARetryInARunningJobRevivesNothingThatWasStoppedByHand(t *testing.T) {
	g := start(t, func(r *events.Rules) { r.Retries, r.FailurePolicy = 0, events.Continue })
	g.plan("~plan", sub("a"), sub("b"), sub("c"))
	g.tell(events.KindStopRequested, "", 0, "", &events.StopRequested{SubJob: "b", Only: true})
	g.outcome("a", events.ExecutionError, "")
	g.tell(events.KindRetryRequested, "", 0, "", &events.RetryRequested{SubJob: "a"})
	g.wantNodes(map[string]events.Status{"b": events.Stopped})
	g.succeed("a", "c")
	g.wantStatus(events.Stopped)
}

func TestNothingStartsWhileTheRemainderIsPlannedAgain(t *testing.T) {
	g := start(t, func(r *events.Rules) { r.Retries, r.FailurePolicy, r.Concurrency = 0, events.Replan, 2 })
	g.plan("~plan", sub("a"), sub("b"), sub("c"), sub("d"))
	g.outcome("a", events.ExecutionError, "")
	g.wantOpen("b/1")
	g.succeed("b")
	g.wantOpen("~plan/2")
	g.plan("~plan", sub("c"), sub("d"), sub("e", "c", "d"))
	g.wantOpen("c/1", "d/1")
	g.succeed("c", "d", "e")
	g.wantStatus(events.Finished)
}

func TestARequestIdIsGoodForOneRequest(t *testing.T) {
	g := start(t, func(r *events.Rules) { r.Retries = 1 })
	g.plan("~plan", sub("a"))
	ask := func() {
		g.tell(events.KindInputRequested, "a", g.take("a"), "", &events.InputRequested{Request: "q", Kind: events.InputApproval})
	}
	ask()
	g.wantStatus(events.Waiting)
	g.tell(events.KindInputClosed, "", 0, "q", &events.InputClosed{Action: events.Answered, Answer: json.RawMessage(`1`)})
	ask()
	g.wantNodes(map[string]events.Status{"a": events.Waiting})
	if r := g.job.dag.find("a"); r.Request != "" || r.Error.Code != events.CodeDuplicateID {
		t.Errorf("request %q, error %v", r.Request, r.Error)
	}
	g.pass(time.Minute)
	g.succeed("a")
	g.wantStatus(events.Finished)
}

func TestASplitKeepsTheAddressOfTheFinalExpert(t *testing.T) {
	g := start(t, func(r *events.Rules) { r.Finalize = "expert:writer" })
	g.tell(events.KindGraphCreated, "~plan", g.take("~plan"), "", &events.GraphCreated{FinalPool: "slow", FinalPure: true, Plan: &events.Plan{SubJobs: []events.SubJob{sub("a")}}})
	g.outcome("a", events.TooComplicated, "")
	g.plan("a", sub("b"))
	g.succeed("a~2~b")
	if o := g.orders["~final/1"]; o == nil || o.Pool != "slow" {
		t.Errorf("order %+v", o)
	}
	g.succeed("~final")
	g.wantStatus(events.Finished)
}

func TestEveryEventOnTheControlSubjectMovesWhatTheEndExpects(t *testing.T) {
	g := start(t, nil)
	e := g.event("", "", 0, "", nil)
	e.Control, e.Fault = true, &events.Fault{Code: events.CodeMalformed, Message: "garbage"}
	g.log = append(g.log, e)
	if effect := g.job.Step(e); effect.Verdict != Ignored {
		t.Errorf("verdict %s", effect.Verdict)
	}
	if g.job.ControlSeq != e.Seq {
		t.Errorf("the control subject ends at %d, the state says %d", e.Seq, g.job.ControlSeq)
	}
	g.tell(events.KindFailRequested, "", 0, "", &events.FailRequested{SubJob: "none"})
	last := g.seq
	g.tell(events.KindJobPlanning, "", 0, "", &events.JobMoved{})
	if g.job.ControlSeq != last {
		t.Errorf("the control subject ends at %d, the state says %d", last, g.job.ControlSeq)
	}
}

// A plan that was not read must not be skipped: the job would go on without it.
func TestAPlanWhoseBlobWasNotResolvedIsPoison(t *testing.T) {
	for kind, data := range map[events.Kind]any{
		events.KindGraphCreated: &events.GraphCreated{PlanRef: &events.Ref{Digest: "d"}},
		events.KindPlanEdited:   &events.PlanEdited{PlanRef: &events.Ref{Digest: "d"}},
	} {
		g := start(t, nil)
		if effect := g.job.Step(g.event(kind, "~plan", 1, "", data)); effect.Verdict != Poisoned || !strings.Contains(effect.Reason, "blob d was not resolved") {
			t.Errorf("%s: %+v", kind, effect)
		}
	}
}

func TestATransitionToReadyBearsTheRunThatIsIssued(t *testing.T) {
	g := start(t, nil)
	g.plan("~plan", sub("a"))
	g.succeed("a")
	for _, m := range g.moves {
		if m.Transition == "ready" && m.Run != 1 {
			t.Errorf("transition %+v", m)
		}
	}
}

func TestTheJobWaitsWhileItsFinalExpertAsks(t *testing.T) {
	g := start(t, func(r *events.Rules) { r.Finalize = "expert:writer" })
	g.plan("~plan", sub("a"))
	g.succeed("a")
	g.wantStatus(events.Finalizing)
	g.tell(events.KindInputRequested, "~final", g.take("~final"), "", &events.InputRequested{Request: "q", Kind: events.InputApproval})
	g.wantStatus(events.Waiting)
	g.tell(events.KindInputClosed, "", 0, "q", &events.InputClosed{Action: events.Answered})
	g.wantStatus(events.Finalizing)
	g.succeed("~final")
	g.wantStatus(events.Finished)
}

func TestAnEditTakesThePlaceOfAReplanThatHasNotBegun(t *testing.T) {
	g := start(t, func(r *events.Rules) { r.Retries, r.FailurePolicy = 0, events.Replan })
	g.plan("~plan", sub("a"), sub("b"))
	g.outcome("a", events.ExecutionError, "")
	g.tell(events.KindPlanEdited, "", 0, "", &events.PlanEdited{PlanVersion: 1, Plan: &events.Plan{SubJobs: []events.SubJob{sub("c"), sub("b")}}})
	g.wantOpen("b/1", "c/1")
	g.succeed("b", "c")
	g.wantStatus(events.Finished)
}

func TestAnEditWhileAPlannerIsAtWorkIsRefused(t *testing.T) {
	g := start(t, func(r *events.Rules) { r.Retries, r.FailurePolicy = 0, events.Replan })
	g.plan("~plan", sub("a"))
	g.outcome("a", events.ExecutionError, "")
	g.wantOpen("~plan/2")
	if e := g.tell(events.KindPlanEdited, "", 0, "", &events.PlanEdited{PlanVersion: 1, Plan: &events.Plan{SubJobs: []events.SubJob{sub("c")}}}); e.Verdict != Ignored {
		t.Errorf("verdict %s", e.Verdict)
	}
	g.plan("~plan", sub("d"))
	g.succeed("d")
	g.wantStatus(events.Finished)
}

func TestAFailureWhileTheRemainderIsBeingPlannedWaitsForThatPlan(t *testing.T) {
	g := start(t, func(r *events.Rules) { r.Retries, r.FailurePolicy, r.MaxPlanRounds = 0, events.Replan, 2 })
	g.plan("~plan", sub("a"), sub("b"))
	g.tell(events.KindInputRequested, "b", g.take("b"), "", &events.InputRequested{Request: "q", Kind: events.InputApproval})
	g.outcome("a", events.ExecutionError, "")
	g.wantOpen("~plan/2")
	g.tell(events.KindInputClosed, "", 0, "q", &events.InputClosed{Action: events.Cancelled})
	g.wantOpen("~plan/2")
	g.plan("~plan", sub("c"))
	g.succeed("c")
	g.wantStatus(events.Finished)
}

func TestAPlanThatRunsInACircleThroughFinishedWorkIsRefused(t *testing.T) {
	g := start(t, nil)
	g.plan("~plan", sub("a"), sub("b", "a"), sub("c", "b"))
	g.succeed("a", "b")
	edit := &events.PlanEdited{PlanVersion: 1, Plan: &events.Plan{SubJobs: []events.SubJob{sub("a", "b"), sub("d", "a")}}}
	if e := g.tell(events.KindPlanEdited, "", 0, "", edit); e.Verdict != Ignored {
		t.Errorf("verdict %s", e.Verdict)
	}
	g.succeed("c")
	g.wantStatus(events.Finished)
}

func TestAComplaintDoesNotSendBackWhatCanNeverStart(t *testing.T) {
	g := start(t, func(r *events.Rules) { r.Retries, r.FailurePolicy = 1, events.Continue })
	b := given("b", `1`, "a")
	b.Expert = "x"
	g.plan("~plan", sub("a"), b, sub("c", "b"))
	g.outcome("a", events.ExecutionError, "")
	g.pass(time.Minute)
	g.outcome("a", events.ExecutionError, "")
	g.outcome("c", events.InputDataError, "b is wrong")
	g.pass(time.Minute)
	g.succeed("c")
	g.wantStatus(events.Failed)
	if code := g.job.State.Error.Code; code == events.CodeInternal {
		t.Errorf("code %s", code)
	}
}

func TestTheFinalExpertStartsAfterARestartInTheMiddleOfARerun(t *testing.T) {
	g := start(t, func(r *events.Rules) { r.Finalize = "expert:writer" })
	g.plan("~plan", sub("a"))
	g.succeed("a")
	g.wantOpen("~final/1")
	g.tell(events.KindRerunRequested, "", 0, "", &events.RerunRequested{SubJob: "a"})
	saved := musttest.JSON(t, g.job)
	g.job = &Job{}
	musttest.Decode(t, saved, g.job)
	g.issued = nil
	g.deliver()
	g.succeed("a")
	g.wantOpen("~final/2")
	g.succeed("~final")
	g.wantStatus(events.Finished)
}

func TestAQuestionIsWithdrawnOnce(t *testing.T) {
	g := start(t, nil)
	g.plan("~plan", sub("a"))
	e := g.event(events.KindInputRequested, "a", g.take("a"), "", &events.InputRequested{Request: "q", Kind: events.InputApproval})
	g.log = append(g.log, e)
	g.job.Step(e)
	stop := g.event(events.KindStopRequested, "", 0, "", &events.StopRequested{})
	g.log = append(g.log, stop)
	g.job.Step(stop)
	g.moves = append(g.moves, g.job.Transitions()...)
	closes := 0
	for _, c := range g.job.Pending() {
		if c.Kind == CloseInput {
			closes++
		}
	}
	if closes != 1 {
		t.Errorf("%d commands to close one question", closes)
	}
	g.deliver()
}

func TestAnAnswerThatCannotBeReadDoesNotLeaveTheQuestionOpenForEver(t *testing.T) {
	g := start(t, nil)
	g.plan("~plan", sub("a"))
	g.tell(events.KindInputRequested, "a", g.take("a"), "", &events.InputRequested{Request: "q", Kind: events.InputApproval})
	e := g.event(events.KindInputClosed, "", 0, "q", nil)
	e.Raw, e.Fault = []byte("yes"), &events.Fault{Code: events.CodeMalformed, Message: "malformed"}
	g.log = append(g.log, e)
	g.job.Step(e)
	g.moves = append(g.moves, g.job.Transitions()...)
	g.deliver()
	g.wantStatus(events.Failed)
	if len(g.job.Inputs) > 0 {
		t.Error("the question is open still")
	}
}

func TestARequestThatWasClosedBeforeItWasAskedIsUsedUp(t *testing.T) {
	g := start(t, func(r *events.Rules) { r.Retries = 1 })
	g.plan("~plan", sub("a"))
	g.tell(events.KindInputClosed, "", 0, "q", &events.InputClosed{Action: events.Answered})
	g.tell(events.KindInputRequested, "a", g.take("a"), "", &events.InputRequested{Request: "q", Kind: events.InputApproval})
	if n := g.job.dag.find("a"); n.Request != "" || n.Error.Code != events.CodeDuplicateID {
		t.Errorf("request %q, error %v", n.Request, n.Error)
	}
	g.pass(time.Minute)
	g.succeed("a")
	g.wantStatus(events.Finished)
}

func TestAnEditMayNameWhatASplitMade(t *testing.T) {
	g := start(t, nil)
	g.plan("~plan", sub("x"), sub("y", "x"))
	g.outcome("x", events.TooComplicated, "")
	g.plan("x", sub("l"), sub("r"))
	g.succeed("x~2~l")
	g.tell(events.KindPlanEdited, "", 0, "", &events.PlanEdited{PlanVersion: 2, Plan: &events.Plan{SubJobs: []events.SubJob{sub("x~2~l"), {ID: "x~2~r", Goal: "do r", Expert: "x"}, sub("z", "x~2~l", "x~2~r")}}})
	g.wantOpen("x~2~r/1")
	g.wantNodes(map[string]events.Status{"y": events.Legacy, "x~2~l": events.Finished})
	g.succeed("x~2~r", "z")
	g.wantStatus(events.Finished)
}

func TestAnEditMayKeepConditionsThatReadWhatWasSplit(t *testing.T) {
	r, y, z := sub("r", "l"), sub("y", "x"), sub("z")
	r.When, y.When = "l.ok", "x.ok"
	kept := sub("x~2~r", "x~2~l")
	kept.Goal, kept.When = r.Goal, r.When
	for _, test := range []struct {
		version int
		behind  string // What y depends on.
		reads   string
		want    Verdict
	}{
		{replacedSince - 1, "x~2~r", "x.ok", Ignored},
		{replacedSince, "x~2~r", "x.ok", Applied},
		{replacedSince, "x~2~r", "x~2~r.ok", Applied},
		{replacedSince, "z", "x.ok", Ignored},
		{replacedSince, "z", "x~2~r.ok", Ignored},
		{replacedSince, "x~2~r", "old.ok", Ignored},
	} {
		g := start(t, func(r *events.Rules) { r.Version = test.version })
		g.plan("~plan", sub("x"), y, sub("old"))
		g.tell(events.KindPlanEdited, "", 0, "", &events.PlanEdited{PlanVersion: 1, Plan: &events.Plan{SubJobs: []events.SubJob{sub("x"), y}}})
		g.outcome("x", events.TooComplicated, "")
		g.plan("x", sub("l"), r)
		again := sub("y", test.behind)
		again.When = test.reads
		plan := &events.Plan{SubJobs: []events.SubJob{sub("x~2~l"), kept, again, z}}
		plan.SubJobs[0].Goal = "do l"
		if e := g.tell(events.KindPlanEdited, "", 0, "", &events.PlanEdited{PlanVersion: 3, Plan: plan}); e.Verdict != test.want {
			t.Errorf("%+v: %+v", test, e)
		}
		for _, id := range []string{"x~2~l", "x~2~r"} {
			g.report(id, events.SubJobReported{Outcome: events.Success, Output: json.RawMessage(`{"ok":true}`)})
		}
		g.succeed("y")
		if test.want == Applied {
			g.succeed("z")
		}
		g.wantStatus(events.Finished)
	}
}

func TestALateAnswerOfAPlannerLiftsTheFenceOfItsRun(t *testing.T) {
	g := start(t, nil)
	run := g.take("~plan")
	g.tell(events.KindStopRequested, "", 0, "", &events.StopRequested{})
	g.tell(events.KindRecoverRequested, "", 0, "", &events.RecoverRequested{})
	g.wantOpen()
	g.tell(events.KindGraphCreated, "~plan", run, "", &events.GraphCreated{Plan: &events.Plan{SubJobs: []events.SubJob{sub("a")}}})
	g.wantOpen("~plan/2")
	g.plan("~plan", sub("a"))
	g.succeed("a")
	g.wantStatus(events.Finished)
}

func TestAConditionOnAValueThatWasNotKeptIsRefused(t *testing.T) {
	g := start(t, nil)
	g.plan("~plan", sub("a"), sub("b", "a"))
	g.report("a", events.SubJobReported{Outcome: events.Success, Output: json.RawMessage(`{"ok":true}`)})
	c := sub("c", "a")
	c.When = "a.ok"
	if e := g.tell(events.KindPlanEdited, "", 0, "", &events.PlanEdited{PlanVersion: 1, Plan: &events.Plan{SubJobs: []events.SubJob{sub("a"), c}}}); e.Verdict != Ignored {
		t.Errorf("verdict %s", e.Verdict)
	}
	g.succeed("b")
	g.wantStatus(events.Finished)
}

func TestAConditionOnAValueThatWasKeptOutlivesAnEdit(t *testing.T) {
	g := start(t, nil)
	b, c := sub("b", "a"), sub("c", "a")
	b.When, c.When = "a.ok", "not a.ok"
	g.plan("~plan", sub("a"), b)
	g.report("a", events.SubJobReported{Outcome: events.Success, Output: json.RawMessage(`{"ok":true}`)})
	g.tell(events.KindPlanEdited, "", 0, "", &events.PlanEdited{PlanVersion: 1, Plan: &events.Plan{SubJobs: []events.SubJob{sub("a"), b, c}}})
	g.wantNodes(map[string]events.Status{"c": events.Finished})
	g.succeed("b")
	g.wantStatus(events.Finished)
}

func TestAnEndOfAnotherKindIsIgnored(t *testing.T) {
	g := start(t, nil)
	e := g.event(events.KindStopRequested, "", 0, "", &events.StopRequested{})
	g.log = append(g.log, e)
	g.job.Step(e)
	g.moves = append(g.moves, g.job.Transitions()...)
	wrong := g.tell(events.KindJobFinished, "", 0, "", &events.JobEnded{JobMoved: events.JobMoved{Turn: g.job.Turn}})
	if wrong.Verdict != Ignored {
		t.Errorf("verdict %s", wrong.Verdict)
	}
}

func TestALeaseBeyondReasonDoesNotHoldARetryForEver(t *testing.T) {
	g := start(t, nil)
	g.plan("~plan", sub("a"))
	g.take("a")
	g.lease = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	g.tell(events.KindStopRequested, "", 0, "", &events.StopRequested{})
	if f := g.job.dag.find("a").FenceAt; f.Sub(g.now) > 48*time.Hour {
		t.Errorf("fenced until %s", f)
	}
}

func TestALateReportCountsAgainstTheBudget(t *testing.T) {
	g := start(t, func(r *events.Rules) { r.Tokens = 10 })
	g.plan("~plan", sub("a"), sub("b"), sub("c", "a", "b"), sub("d", "a"))
	g.succeed("a", "b")
	g.tell(events.KindSubJobStarted, "d", 1, "", &events.SubJobStarted{})
	delete(g.orders, "d/1")
	g.outcome("c", events.InputDataError, "")
	g.tell(events.KindSubJobReported, "d", 1, "", &events.SubJobReported{Outcome: events.Success, Spent: events.Spent{Tokens: 11}})
	g.wantStatus(events.Failed)
	if g.job.State.Error.Code != events.CodeBudget {
		t.Error(g.job.State.Error)
	}
}

func TestCostsBeyondAllNumbersStayNumbersAndTheJobEnds(t *testing.T) {
	g := start(t, nil)
	g.plan("~plan", sub("a"), sub("b"))
	for _, id := range []string{"a", "b"} {
		g.report(id, events.SubJobReported{Outcome: events.Success, Spent: events.Spent{Tokens: math.MaxInt64 - 1, CostUSD: 1.7e308}})
	}
	g.wantStatus(events.Finished)
	if want := (events.Spent{Tokens: math.MaxInt64, CostUSD: math.MaxFloat64}); g.job.State.Cost != want {
		t.Errorf("spent %+v, want %+v", g.job.State.Cost, want)
	}
	if _, err := g.job.MarshalJSON(); err != nil {
		t.Errorf("the state cannot be saved: %v", err)
	}
}

func TestAStopOfOneStepOnlyClosesItsOwnRunAndLeavesTheRest(t *testing.T) {
	g := start(t, nil)
	g.plan("~plan", sub("a"), sub("b", "a"), sub("c", "b"), sub("x", "a"))
	g.succeed("a")
	g.tell(events.KindSubJobStarted, "b", 1, "", &events.SubJobStarted{})
	g.tell(events.KindStopRequested, "", 0, "", &events.StopRequested{SubJob: "b", Only: true, Run: 1})
	g.wantNodes(map[string]events.Status{"b": events.Stopped, "c": events.Stopped})
	g.wantOpen("x/1")
	g.succeed("x")
	g.wantStatus(events.Stopped)
	g.tell(events.KindRecoverRequested, "", 0, "", &events.RecoverRequested{})
	g.wantOpen("b/2")
	g.succeed("b", "c")
	g.wantStatus(events.Finished)
}

func TestAComplaintAboutASplitStepRunsItsTailsAgain(t *testing.T) {
	g := start(t, nil)
	g.plan("~plan", sub("x"), sub("y", "x"))
	g.outcome("x", events.TooComplicated, "")
	g.plan("x", sub("h"), sub("l", "h"), sub("r", "h"))
	g.succeed("x~2~h", "x~2~l", "x~2~r")
	g.outcome("y", events.InputDataError, "no")
	g.wantOpen("x~2~l/2", "x~2~r/2")
	g.succeed("x~2~l", "x~2~r", "y")
	g.wantStatus(events.Finished)
}

func TestAStepBehindASkippedOneIsDecidedAgainWhenItsInputsChange(t *testing.T) {
	g := start(t, nil)
	b := sub("b", "a")
	b.When = "a.ok"
	g.plan("~plan", sub("a"), b, sub("c", "b"), sub("d", "a", "c"))
	g.report("a", events.SubJobReported{Outcome: events.Success, Output: json.RawMessage(`{"ok":false}`)})
	g.wantOpen("d/1")
	g.outcome("d", events.InputDataError, "no")
	g.wantOpen("a/2")
	g.report("a", events.SubJobReported{Outcome: events.Success, Output: json.RawMessage(`{"ok":true}`)})
	g.wantOpen("b/1")
	g.succeed("b", "c", "d")
	g.wantStatus(events.Finished)
}

func TestARetryTimerOfTheTimeBeforeARecoverIsStale(t *testing.T) {
	g := start(t, nil)
	g.plan("~plan", sub("a"))
	g.outcome("a", events.ExecutionError, "")
	g.tell(events.KindStopRequested, "", 0, "", &events.StopRequested{})
	g.tell(events.KindRecoverRequested, "", 0, "", &events.RecoverRequested{})
	g.wantOpen("a/2")
	g.pass(time.Minute)
	g.wantOpen("a/2")
	g.outcome("a", events.ExecutionError, "")
	g.pass(time.Minute)
	g.wantOpen("a/3")
	g.succeed("a")
	g.wantStatus(events.Finished)
}

func TestTheFinalExpertWritesAgainAfterARerun(t *testing.T) {
	g := start(t, func(r *events.Rules) { r.Finalize = "expert:writer" })
	g.plan("~plan", sub("a"), sub("b", "a"))
	g.succeed("a", "b", "~final")
	g.wantStatus(events.Finished)
	g.tell(events.KindRerunRequested, "", 0, "", &events.RerunRequested{SubJob: "b"})
	g.succeed("b")
	g.wantOpen("~final/2")
	g.tell(events.KindRerunRequested, "", 0, "", &events.RerunRequested{SubJob: "a"})
	g.wantOpen("a/2")
	g.succeed("a", "b", "~final")
	g.wantStatus(events.Finished)
}

func TestPlacesAreGivenBackByStopAndTakenAgainAfterRecover(t *testing.T) {
	g := start(t, func(r *events.Rules) { r.Concurrency = 1 })
	g.plan("~plan", sub("a"), sub("b"), sub("c"))
	g.wantOpen("a/1")
	g.tell(events.KindStopRequested, "", 0, "", &events.StopRequested{})
	g.tell(events.KindRecoverRequested, "", 0, "", &events.RecoverRequested{})
	if open := g.open(); len(open) != 1 {
		t.Errorf("open %v", open)
	}
	g.succeed(g.open()[0][:1])
	g.succeed(g.open()[0][:1])
	g.succeed(g.open()[0][:1])
	g.wantStatus(events.Finished)
}

func TestAnAnswerDuringAReplanIsUsedByTheKeptStep(t *testing.T) {
	g := start(t, func(r *events.Rules) { r.Retries, r.FailurePolicy = 0, events.Replan })
	g.plan("~plan", sub("a"), sub("b"))
	g.tell(events.KindInputRequested, "b", g.take("b"), "", &events.InputRequested{Request: "q", Kind: events.InputApproval})
	g.outcome("a", events.ExecutionError, "")
	g.wantOpen("~plan/2")
	g.tell(events.KindInputClosed, "", 0, "q", &events.InputClosed{Action: events.Answered, Answer: json.RawMessage(`1`)})
	g.wantOpen("~plan/2")
	g.plan("~plan", sub("b"), sub("c"))
	g.wantOpen("b/2", "c/1")
	if o := g.orders["b/2"]; len(o.Answers) != 1 {
		t.Errorf("order %+v", o)
	}
	g.succeed("b", "c")
	g.wantStatus(events.Finished)
}

func TestAPlanEditWhileAStepIsBeingSplitLeavesTheSplitInForce(t *testing.T) {
	g := start(t, nil)
	g.plan("~plan", sub("x"), sub("y"))
	g.outcome("x", events.TooComplicated, "")
	g.tell(events.KindPlanEdited, "", 0, "", &events.PlanEdited{PlanVersion: 1, Plan: &events.Plan{SubJobs: []events.SubJob{sub("x"), sub("z")}}})
	g.wantOpen("x/2", "z/1")
	g.plan("x", sub("l"))
	g.succeed("x~2~l", "z")
	g.wantStatus(events.Finished)
}

func TestAPlanEditThatDropsAStepBeingSplitMakesItsSplitStale(t *testing.T) {
	g := start(t, nil)
	g.plan("~plan", sub("x"))
	g.outcome("x", events.TooComplicated, "")
	run := g.take("x")
	g.tell(events.KindPlanEdited, "", 0, "", &events.PlanEdited{PlanVersion: 1, Plan: &events.Plan{SubJobs: []events.SubJob{sub("z")}}})
	if e := g.tell(events.KindGraphCreated, "x", run, "", &events.GraphCreated{Plan: &events.Plan{SubJobs: []events.SubJob{sub("l")}}}); e.Verdict == Applied && g.job.dag.find("x~2~l") != nil {
		t.Error("a stale split was spliced")
	}
	g.succeed("z")
	g.wantStatus(events.Finished)
}

func TestAWaitForAMomentThatIsNotNamedEndsAtOnce(t *testing.T) {
	g := start(t, nil)
	g.plan("~plan", sub("a"))
	g.tell(events.KindInputRequested, "a", g.take("a"), "", &events.InputRequested{Request: "q1", Kind: events.InputTimer})
	g.pass(time.Millisecond)
	g.wantOpen("a/2")
	g.succeed("a")
	g.wantStatus(events.Finished)
}

func TestAFenceTimerOfAnEarlierRunLiftsNoLaterFence(t *testing.T) {
	g := start(t, nil)
	g.plan("~plan", sub("a"))
	cutOff := func(run int) {
		g.tell(events.KindSubJobStarted, "a", run, "", &events.SubJobStarted{})
		delete(g.orders, fmt.Sprintf("a/%d", run))
		g.tell(events.KindStopRequested, "", 0, "", &events.StopRequested{})
		g.tell(events.KindRecoverRequested, "", 0, "", &events.RecoverRequested{})
		g.wantOpen()
	}
	cutOff(1)
	g.pass(20 * time.Second)
	g.tell(events.KindSubJobReported, "a", 1, "", &events.SubJobReported{Outcome: events.Success})
	g.wantOpen("a/2")
	cutOff(2)
	g.pass(20 * time.Second) // The timer of run 1 becomes due.
	g.wantOpen()
	g.pass(20 * time.Second)
	g.wantOpen("a/3")
	g.succeed("a")
	g.wantStatus(events.Finished)
}

// A scheduler of the release before leaves the policy of a profile out of account: in its company jobs have its rules.
func TestTheFailurePolicyOfAProfileCountsByTheRulesThatKnowIt(t *testing.T) {
	for version, want := range map[int]events.Status{policySince - 1: events.Stopped, policySince: events.Finished} {
		g := start(t, func(r *events.Rules) { r.Retries, r.Version = 0, version })
		plan := &events.Plan{SubJobs: []events.SubJob{sub("a"), sub("b"), sub("c", "b")}}
		g.tell(events.KindGraphCreated, "~plan", g.take("~plan"), "", &events.GraphCreated{Plan: plan, FailurePolicy: events.Continue})
		g.outcome("a", events.ExecutionError, "")
		if want == events.Finished {
			g.succeed("b", "c")
		}
		g.wantNodes(map[string]events.Status{"a": events.Failed, "b": want, "c": want})
		g.wantStatus(events.Failed)
	}
}

// A job was stopped and deleted while a worker was at work on it, and another job has its id now: the report of that worker comes late.
// An imported log names no request, or one by its number on another bus, which a copy of a log can only have made smaller.
func TestFactsOfAnEarlierJobWithTheSameIDDoNotCount(t *testing.T) {
	const request = 40
	for name, c := range map[string]struct {
		born    uint64
		version int
		want    Verdict
	}{
		"of an earlier job":                 {request - 1, bornSince, Ignored},
		"of this one":                       {request, bornSince, Applied},
		"of nobody knows which":             {0, bornSince, Applied},
		"from a log that was copied":        {request + 1, bornSince, Applied},
		"of an earlier job, by older rules": {request - 1, bornSince - 1, Applied},
	} {
		g := startAfter(t, request-1, func(r *events.Rules) { r.Version = c.version })
		g.plan("~plan", sub("a"))
		e := g.event(events.KindSubJobReported, "a", g.take("a"), "", &events.SubJobReported{Outcome: events.Success, Output: json.RawMessage("1")})
		e.Born = c.born
		g.log = append(g.log, e)
		if effect := g.job.Step(e); effect.Verdict != c.want {
			t.Errorf("a report %s: %+v", name, effect)
		}
		if c.want == Ignored {
			g.wantNodes(map[string]events.Status{"a": events.Ready})
			g.tell(events.KindSubJobReported, "a", 1, "", &events.SubJobReported{Outcome: events.Success})
		}
		g.deliver()
		g.wantStatus(events.Finished)
	}
}

// A job without a person may have no one who looks at it: what its experts ask without a time of their own does not wait for ever.
func TestAQuestionWithoutATimeOfItsOwnIsOpenAsLongAsItsJobSays(t *testing.T) {
	g := start(t, func(r *events.Rules) { r.Answer, r.FailurePolicy = events.Duration(time.Hour), events.Continue })
	g.plan("~plan", sub("a"), sub("b"), sub("c"))
	ask := func(id string, q events.InputRequested) {
		q.Request, q.Kind = "q-"+id, events.InputForm
		g.tell(events.KindInputRequested, id, g.take(id), "", &q)
	}
	ask("a", events.InputRequested{})
	ask("b", events.InputRequested{Default: json.RawMessage("1")})
	ask("c", events.InputRequested{ExpiresIn: events.Duration(3 * time.Hour)})
	g.pass(59 * time.Minute)
	g.wantNodes(map[string]events.Status{"a": events.Waiting, "b": events.Waiting, "c": events.Waiting})
	g.pass(2 * time.Minute)
	g.wantOpen("b/2") // It goes on with the default.
	if n := g.job.dag.find("a"); n.Status != events.Failed || n.Error.Code != events.CodeTimeout {
		t.Errorf("nobody has answered: %s, %+v", n.Status, n.Error)
	}
}
