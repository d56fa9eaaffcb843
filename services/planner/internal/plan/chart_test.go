package plan

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// tape is a log written by a test, with its chart.
type tape struct {
	t     *testing.T
	chart *Chart
	seq   uint64
}

func record(t *testing.T, p *events.Plan) *tape {
	t.Helper()
	r := &tape{t: t, chart: &Chart{}}
	r.add(events.KindJobRequested, "", 0, &events.JobRequested{
		Request: events.Request{Goal: "go on a trip", ID: "j"},
		Rules:   events.Rules{Version: events.RulesVersion, MaxSteps: 100, MaxPlanRounds: 3, LifeCycle: 1, Retries: 0, InputRounds: 1, FailurePolicy: events.Continue, Finalize: "tails"},
	})
	r.add(events.KindGraphCreated, events.PlanID, 1, &events.GraphCreated{Plan: p})
	return r
}

func (r *tape) add(kind events.Kind, subjob string, run int, data any) graph.Effect {
	r.t.Helper()
	return r.say("", kind, subjob, run, data)
}

func (r *tape) say(source string, kind events.Kind, subjob string, run int, data any) graph.Effect {
	r.t.Helper()
	r.seq++
	effect := musttest.Get(r.chart.Step(events.Event{
		Kind: kind, Job: "j", SubJob: subjob, Run: run, Seq: r.seq, Time: time.Unix(int64(r.seq), 0).UTC(), Data: data, Source: source,
	}))(r.t)
	return effect
}

func (r *tape) done(subjob string, run int) {
	r.t.Helper()
	if e := r.add(events.KindSubJobReported, subjob, run, &events.SubJobReported{Outcome: events.Success, Output: json.RawMessage(`"ok"`)}); e.Verdict != graph.Applied {
		r.t.Fatal(e)
	}
}

// mark calls Mark; it returns the message of a fault.
func (r *tape) mark(op Operation) string {
	r.t.Helper()
	facts, err := r.chart.Mark(op)
	return r.tell(facts, err)
}

func (r *tape) tell(facts []Control, err error) string {
	r.t.Helper()
	if err != nil {
		return err.Error()
	}
	for _, f := range facts {
		if e := r.say(Hand, f.Kind, f.SubJob, f.Run, f.Data); e.Verdict == graph.Ignored {
			return "ignored: " + e.Reason
		}
	}
	return ""
}

func (r *tape) shows(want ...string) {
	r.t.Helper()
	board := r.chart.Board()
	_, text, _ := strings.Cut(board.String(), "Steps:\n")
	musttest.Equal(r.t, strings.Join(want, "\n")+"\n", text)
}

func stepOf(id, status string, notes ...string) Operation {
	op := Operation{Command: OpMarkStep, StepID: id, StepStatus: status}
	if len(notes) > 0 {
		op.StepNotes = &notes[0]
	}
	return op
}

func trip() *events.Plan {
	return &events.Plan{Title: "Trip", SubJobs: []events.SubJob{
		{ID: "pack", Goal: "Pack", Expert: "e"},
		{ID: "go", Goal: "Go", Expert: "e", Dependencies: []string{"pack"}},
		{ID: "rest", Goal: "Rest", Expert: "e", Dependencies: []string{"go"}},
	}}
}

// proves O-T14
func TestTheGraphOfAJobIsShownAsThePlanTextByteForByte(t *testing.T) {
	r := record(t, trip())
	r.done("pack", 1)
	r.add(events.KindSubJobStarted, "go", 1, &events.SubJobStarted{})
	r.add(events.KindSubJobProgressed, "go", 1, &events.SubJobProgressed{Message: "by\ntrain"})
	want := "Plan: Trip (ID: j)\n" +
		"==================\n" +
		"\n" +
		"Progress: 1/3 steps completed (33.3%)\n" +
		"Status: 1 completed, 1 in progress, 0 blocked, 1 not started\n" +
		"\n" +
		"Steps:\n" +
		"0. [✓] Pack\n" +
		"1. [→] Go\n" +
		"   Notes: by train\n" +
		"2. [ ] Rest\n"
	board := r.chart.Board()
	musttest.Equal(t, want, board.String())
}

func TestStepsStandBehindThoseTheyDependOn(t *testing.T) {
	r := record(t, &events.Plan{SubJobs: []events.SubJob{
		{ID: "last", Goal: "last", Expert: "e", Dependencies: []string{"b", "a"}},
		{ID: "b", Goal: "b", Expert: "e"},
		{ID: "a", Goal: "a", Expert: "e", Tag: "swe"},
	}})
	r.shows("0. [ ] b", "1. [ ] [SWE] a", "2. [ ] last")
}

// proves O1
// proves O6
func TestMarksOfStepsOfAJobAreFacts(t *testing.T) {
	r := record(t, trip())
	r.add(events.KindSubJobStarted, "pack", 1, &events.SubJobStarted{})

	if said := r.mark(stepOf("pack", "", "two bags")); said != "" {
		t.Error(said)
	}
	r.shows("0. [→] Pack", "   Notes: two bags", "1. [ ] Go", "2. [ ] Rest")

	if said := r.mark(stepOf("pack", "completed", "done by hand")); said != "" {
		t.Error(said)
	}
	r.shows("0. [✓] Pack", "   Notes: done by hand", "1. [ ] Go", "2. [ ] Rest")
	if e := r.add(events.KindSubJobReported, "pack", 1, &events.SubJobReported{Outcome: events.Success}); !strings.Contains(e.Reason, "is over") {
		t.Errorf("the worker of a step that was marked is still heard: %+v", e)
	}

	if said := r.mark(stepOf("go", "blocked", "no train")); said != "" {
		t.Error(said)
	}
	r.shows("0. [✓] Pack", "   Notes: done by hand", "1. [!] Go", "   Notes: go: declared failed by plan: no train",
		"2. [ ] Rest", "   Notes: "+r.chart.notes(r.chart.steps()[2]))
}

func TestOnlyWhatBeganIsMarkedAsBlockedByAStop(t *testing.T) {
	r := record(t, trip())
	r.add(events.KindSubJobStarted, "pack", 1, &events.SubJobStarted{})
	r.add(events.KindStopRequested, "", 0, &events.StopRequested{})
	var marks []string
	for _, line := range r.chart.Board().Lines {
		marks = append(marks, line.Mark.Sign())
	}
	musttest.Equal(t, []string{"[!]", "[ ]", "[ ]"}, marks)
}

func TestAStepThatIsBlockedIsTriedAgainOrGivenItsResult(t *testing.T) {
	two := &events.Plan{Title: "T", SubJobs: []events.SubJob{
		{ID: "a", Goal: "a", Expert: "e"},
		{ID: "b", Goal: "b", Expert: "e", Dependencies: []string{"a"}},
		{ID: "c", Goal: "c", Expert: "e"},
		{ID: "d", Goal: "d", Expert: "e"},
	}}
	r := record(t, two)
	for _, op := range []Operation{stepOf("a", "blocked"), stepOf("a", "in_progress"), stepOf("a", "blocked"), stepOf("a", "completed", "found it")} {
		if said := r.mark(op); said != "" {
			t.Errorf("%+v: %s", op, said)
		}
	}
	r.shows("0. [✓] a", "   Notes: found it", "1. [ ] b", "2. [ ] c", "3. [ ] d")
	if s := r.chart.Plan().SubJobs[0]; string(s.ExecutionRes) != `"found it"` {
		t.Errorf("%+v", s)
	}
	if said := r.mark(stepOf("c", "blocked")); said != "" {
		t.Error(said)
	}
	for _, test := range []struct {
		op   Operation
		want string
	}{
		{stepOf("a", "blocked"), "what is completed is not blocked"},
		{stepOf("b", "in_progress"), "a step begins by itself"},
		{stepOf("d", "completed"), "c is blocked, and would run again"},
		{stepOf("zz", "completed"), `there is no step "zz"`},
		{stepOf("a", "finished"), `unknown status "finished"`},
		{Operation{Command: OpMarkStep}, "step_index is needed"},
		{Operation{Command: OpMarkStep, StepIndex: new(4)}, "there is no step 4"},
	} {
		if said := r.mark(test.op); !strings.Contains(said, test.want) {
			t.Errorf("%+v: %s", test.op, said)
		}
	}
	before := r.seq
	if said := r.mark(stepOf("a", "completed")); said != "" || r.seq != before {
		t.Error("a mark that is there already is stated again", said)
	}
	if said := record(t, trip()).mark(stepOf("rest", "", "nice")); !strings.Contains(said, "has not begun") {
		t.Error(said)
	}
}

func TestAStepIsDoneAgainWhenItIsMarkedNotStarted(t *testing.T) {
	r := record(t, trip())
	r.done("pack", 1)
	r.done("go", 1)
	if said := r.mark(stepOf("pack", "not_started", "forgot the tickets")); said != "" {
		t.Error(said)
	}
	r.shows("0. [ ] Pack", "   Notes: forgot the tickets", "1. [ ] Go", "2. [ ] Rest")
}

func TestAResultThatWasTakenBackDoesNotComeAgain(t *testing.T) {
	r := record(t, trip())
	for _, op := range []Operation{stepOf("pack", "completed", "done by hand"), stepOf("pack", "not_started")} {
		if said := r.mark(op); said != "" {
			t.Error(said)
		}
	}
	r.shows("0. [ ] Pack", "1. [ ] Go", "2. [ ] Rest")
	facts, err := r.chart.Revise(Operation{Command: OpUpdate, Title: "Other"}, nil, Options{})
	if said := r.tell(facts, err); said != "" {
		t.Error(said)
	}
	r.shows("0. [ ] Pack", "1. [ ] Go", "2. [ ] Rest")
}

func TestAJobThatIsOverTakesNoMarks(t *testing.T) {
	r := record(t, trip())
	r.add(events.KindStopRequested, "", 0, &events.StopRequested{Reason: "enough"})
	if said := r.mark(stepOf("pack", "completed")); !strings.Contains(said, "the job is over") {
		t.Error(said)
	}
}

func TestAStepThatRecursMayComeWithAnUpdate(t *testing.T) {
	r := record(t, trip())
	op := Operation{Command: OpUpdate, Plan: json.RawMessage(`{"subjobs":[{"id":"look","goal":"Look","expert":"e","schedule":{"daily_time":"09:00"}}]}`)}
	facts, err := r.chart.Revise(op, []events.Card{{ID: "e", Name: "E"}}, Options{})
	if err != nil || len(facts) != 1 {
		t.Fatalf("%v, %v", facts, err)
	}
	if s := facts[0].Data.(*events.PlanEdited).Plan.SubJobs[0]; s.Pool != schedule.Pool || s.Expert != "e" {
		t.Errorf("%+v", s)
	}
}

// proves O-T10
// proves O-weakness-issue-1271
func TestAnUpdateOfAJobKeepsWhatStays(t *testing.T) {
	cards := []events.Card{{ID: "e", Name: "E", Tags: []string{"default"}}, {ID: "swe", Name: "SWE", Tags: []string{"swe"}}}
	r := record(t, trip())
	r.done("pack", 1)
	r.add(events.KindSubJobStarted, "go", 1, &events.SubJobStarted{})
	update := func(o Operation) string {
		t.Helper()
		o.Command = OpUpdate
		facts, err := r.chart.Revise(o, cards, Options{})
		return r.tell(facts, err)
	}
	if said := update(Operation{Steps: []string{"Pack", "Go", "[SWE] Write home", "Rest"}, Title: "Long trip"}); said != "" {
		t.Fatal(said)
	}
	r.shows("0. [✓] Pack", "1. [→] Go", "2. [ ] [SWE] Write home", "3. [ ] Rest")
	p := r.chart.Plan()
	if s := p.SubJobs[2]; s.Expert != "swe" || s.ID != "step_1" || strings.Join(p.SubJobs[3].Dependencies, " ") != "pack go step_1" || p.Title != "Long trip" {
		t.Errorf("%+v", p)
	}
	r.done("go", 1) // The running run continued, since nothing about it was changed.

	if said := update(Operation{Plan: json.RawMessage(`{"title":"Home","subjobs":[{"id":"fly","goal":"Fly","expert":"E","dependencies":["go"]}]}`)}); said != "" {
		t.Fatal(said)
	}
	r.shows("0. [✓] Pack", "1. [✓] Go", "2. [ ] Fly")
	for _, test := range []struct {
		op   Operation
		want string
	}{
		{Operation{Steps: []string{"Go", " "}}, "steps[1]: says nothing"},
		{Operation{hasSteps: true}, "steps must be a list of at least one text"},
		{Operation{Steps: []string{"a"}, Plan: json.RawMessage(`{}`)}, "given together with plan"},
		{Operation{Plan: json.RawMessage(`{"subjobs":[{"id":"x","goal":"x","expert":"Nobody"}]}`)}, `no expert is called "Nobody"`},
		{Operation{Plan: json.RawMessage(`{"subjobs":[{"id":"x","goal":"x","expert":"E","dependencies":["rest"]}]}`)}, `which does not exist`},
	} {
		if said := update(test.op); !strings.Contains(said, test.want) {
			t.Errorf("%+v: %s", test.op, said)
		}
	}
}

func (r *tape) node(id string) *graph.SubJobState {
	all := r.chart.Job.View().SubJobs
	return all[slices.IndexFunc(all, func(n *graph.SubJobState) bool { return n.ID == id })]
}

// divided is the log of a job whose x was split, with a condition inside the split and one after it.
func divided(t *testing.T) *tape {
	t.Helper()
	r := record(t, &events.Plan{Title: "T", SubJobs: []events.SubJob{
		{ID: "x", Goal: "X", Expert: "e"},
		{ID: "c", Goal: "C", Expert: "e", Dependencies: []string{"x"}, When: "x.go"},
		{ID: "d", Goal: "D", Expert: "e"},
	}})
	r.add(events.KindSubJobReported, "x", 1, &events.SubJobReported{Outcome: events.TooComplicated})
	r.add(events.KindGraphCreated, "x", 2, &events.GraphCreated{Plan: &events.Plan{SubJobs: []events.SubJob{
		{ID: "p", Goal: "P", Expert: "e"},
		{ID: "q", Goal: "Q", Expert: "e", Dependencies: []string{"p"}, When: "p.go"},
		{ID: "r", Goal: "R", Expert: "e", Dependencies: []string{"p"}},
	}}})
	return r
}

func TestAnUpdateKeepsConditionsThatReadWhatWasSplit(t *testing.T) {
	cards := []events.Card{{ID: "e", Name: "E", Tags: []string{"default"}}}
	goes := &events.SubJobReported{Outcome: events.Success, Output: json.RawMessage(`{"go":true}`)}
	finish := func(r *tape, ids ...string) {
		for _, id := range ids {
			for r.node(id).Status != events.Finished { // A closed run reports late, then comes the next.
				if e := r.add(events.KindSubJobReported, id, r.node(id).Run, goes); e.Verdict != graph.Applied {
					t.Fatalf("%s: %+v", id, e)
				}
			}
		}
	}
	blocked := func(r *tape) {
		if said := r.mark(stepOf("x~2~q", "blocked")); said != "" {
			t.Fatal(said)
		}
	}
	renamed, listed := Operation{Title: "Other"}, Operation{Steps: []string{"P", "Q", "R", "D", "E", "C"}}
	for name, test := range map[string]struct {
		op     Operation
		before func(r *tape)
		left   []string // The steps that are still to be done.
	}{
		"nothing was done":      {renamed, func(*tape) {}, []string{"x~2~p", "x~2~q", "x~2~r", "c", "d"}},
		"in the middle":         {renamed, func(r *tape) { finish(r, "x~2~p", "x~2~q") }, []string{"x~2~r", "c", "d"}},
		"a run is under way":    {renamed, func(r *tape) { finish(r, "x~2~p", "x~2~q", "x~2~r") }, []string{"c", "d"}},
		"one is blocked":        {renamed, func(r *tape) { finish(r, "x~2~p"); blocked(r) }, []string{"x~2~r", "x~2~q", "c", "d"}},
		"a step is put between": {listed, func(r *tape) { finish(r, "x~2~p") }, []string{"x~2~q", "x~2~r", "d", "step_1", "c"}},
	} {
		r := divided(t)
		test.before(r)
		was := r.node("c").Run
		facts, err := r.chart.Revise(test.op, cards, Options{})
		if said := r.tell(facts, err); said != "" {
			t.Errorf("%s: %s", name, said)
			continue
		}
		if n := r.node("c"); n.Run != was || n.Open != (was > 0) {
			t.Errorf("%s: c is at run %d, was at %d", name, n.Run, was)
		}
		finish(r, test.left...)
		for _, n := range r.chart.steps() {
			if n.Status != events.Finished || n.Skipped {
				t.Errorf("%s: %s is %s, skipped: %t", name, n.ID, n.Status, n.Skipped)
			}
		}
	}
	r := divided(t)
	facts, err := r.chart.Revise(Operation{Command: OpUpdate, Steps: []string{"C", "P", "Q", "R"}}, cards, Options{})
	if said := r.tell(facts, err); !strings.Contains(said, `when of c reads "x", which is no direct predecessor`) {
		t.Error(said)
	}
	if said := r.mark(stepOf("d", "completed")); said != "" || r.node("d").Status != events.Finished {
		t.Error(said)
	}
}

func TestAPlanThatIsKeptCanBeRun(t *testing.T) {
	b := &Book{}
	must(t, b, `{"command":"create","plan_id":"p","title":"T","steps":["[SWE] one","two"]}`)
	must(t, b, `{"command":"mark_step","step_index":0,"step_status":"completed","step_notes":"7"}`)
	raw, err := b.Boards[0].Request()
	if err != nil {
		t.Fatal(err)
	}
	cards := []events.Card{{ID: "swe", Name: "SWE", Tags: []string{"swe", "default"}}}
	r := Check(raw, cards, Options{})
	if len(r.Faults) > 0 || r.Dialect != Native || string(r.Plan.SubJobs[0].ExecutionRes) != `"7"` || r.Plan.SubJobs[0].Tag != "SWE" || r.Plan.SubJobs[1].Dependencies[0] != "step_1" {
		t.Errorf("%s: %+v", raw, r)
	}
	given := `{"subtask_1":{"goal":"g","context":"c","completion_criteria":"d","dependencies":[],"assigned_expert":"SWE","thinking":"t"}}`
	must(t, b, `{"command":"create","plan_id":"q","plan":`+given+`}`)
	raw, err = b.Boards[1].Request()
	if err != nil || string(raw) != given || b.Boards[1].Title != "q" || b.Boards[1].Lines[0].Text != "g" {
		t.Errorf("%s %v %+v", raw, err, b.Boards[1])
	}
	refused(t, b, `{"command":"update","plan_id":"q","steps":["x"]}`, "conflict", `plan "q" is a graph`, "")
	refused(t, b, `{"command":"create","plan_id":"job:j","title":"T","steps":["x"]}`, "invalid", "stands for the graph of a job", "")
	_, err = do(b, `{"command":"create","plan_id":"r","plan":{"subjobs":[]}}`)
	var faults events.Faults
	if !errors.As(err, &faults) || !strings.Contains(err.Error(), "the plan has no steps") {
		t.Error(err)
	}
}

func TestAnOperationFindsItsTarget(t *testing.T) {
	b := &Book{Boards: []Board{{ID: "p"}}, Active: "job:j"}
	for _, test := range []struct {
		op    Operation
		job   string
		maybe bool
	}{
		{Operation{Command: OpGet}, "j", false},
		{Operation{Command: OpMarkStep}, "j", false},
		{Operation{Command: OpUpdate}, "", false},
		{Operation{Command: OpGet, PlanID: "p"}, "", false},
		{Operation{Command: OpGet, PlanID: "job:p"}, "p", false},
		{Operation{Command: OpDelete, PlanID: "x"}, "x", true},
		{Operation{Command: OpGet, PlanID: "no job"}, "", false},
		{Operation{Command: OpCreate, PlanID: "x"}, "", false},
		{Operation{Command: OpList}, "", false},
	} {
		if job, maybe := b.Target(test.op); job != test.job || maybe != test.maybe {
			t.Errorf("%+v: %q %v", test.op, job, maybe)
		}
	}
}
