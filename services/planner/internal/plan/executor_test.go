package plan

import (
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// works starts a step of the tape and returns an operation of its executor.
func (r *tape) works(id string, run int, op Operation) Operation {
	r.t.Helper()
	if n := r.chart.at(&Executor{SubJob: id}); n != nil && n.Status == events.Ready {
		r.add(events.KindSubJobStarted, id, run, &events.SubJobStarted{})
	}
	job := "j"
	op.within, op.executor = &job, &Executor{SubJob: id, Run: run, Key: "k"}
	return op
}

func (r *tape) refine(op Operation) string {
	r.t.Helper()
	facts, err := r.chart.Refine(op, []events.Card{{ID: "e", Name: "E"}, {ID: "coder", Name: "Coder"}}, Options{DefaultExpert: "e"})
	return r.tell(facts, err)
}

func (r *tape) ends(op Operation) string {
	r.t.Helper()
	facts, err := r.chart.EndEarly(op)
	return r.tell(facts, err)
}

// An executor changes the rest of the plan. Steps that are done or at work stay, listed or not; a step whose text stays keeps its
// place in the graph, and a new one follows all before it.
// proves O-weakness-issue-1271
// proves O-weakness-issue-986
// proves O19
func TestAnExecutorRefinesWhatHasNotBegun(t *testing.T) {
	r := record(t, &events.Plan{Title: "Trip", SubJobs: []events.SubJob{
		{ID: "pack", Goal: "Pack", Expert: "e"},
		{ID: "call", Goal: "Call", Expert: "e"},
		{ID: "go", Goal: "Go", Expert: "e", Dependencies: []string{"pack"}},
		{ID: "rest", Goal: "Rest", Expert: "e", Dependencies: []string{"go", "call"}},
	}})
	r.done("pack", 1)
	r.add(events.KindSubJobStarted, "call", 1, &events.SubJobStarted{})
	op := r.works("go", 1, Operation{Command: OpUpdate, Steps: []string{"[CODER] Pay", "Rest"}})
	if board, place := r.chart.BoardFor(op); board.Lines[2].Mark != InProgress || !strings.Contains(place, "step 2") {
		t.Errorf("%+v %q", board, place)
	}
	if said := r.refine(op); said != "" {
		t.Fatal(said)
	}
	r.shows("0. [✓] Pack", "1. [→] Call", "2. [→] Go", "3. [ ] [CODER] Pay", "4. [ ] Rest")
	p := r.chart.Plan()
	var list []string
	for _, s := range p.SubJobs {
		list = append(list, s.ID+"("+strings.Join(s.Dependencies, " ")+")")
	}
	if got := strings.Join(list, " "); got != "pack() call() go(pack) step_1(pack call go) rest(go call step_1)" {
		t.Error(got)
	}
	if n := r.chart.at(op.executor); n.Run != 1 || n.Status != events.Running {
		t.Errorf("the executor's own step is %s at run %d", n.Status, n.Run)
	}
	version := r.chart.Job.PlanVersion
	if said := r.refine(op); said != "" || r.chart.Job.PlanVersion != version {
		t.Errorf("the same call again: %s, version %d after %d", said, r.chart.Job.PlanVersion, version)
	}
	if said := r.refine(r.works("go", 1, Operation{Steps: []string{"Rest", "Pack", "Go"}})); said != "" {
		t.Fatal(said)
	}
	r.shows("0. [✓] Pack", "1. [→] Call", "2. [→] Go", "3. [ ] Rest")
	if said := r.refine(r.works("go", 1, Operation{Steps: []string{"[NOBODY] Fly"}, Title: "Flight"})); said != "" || !strings.HasPrefix(r.chart.Plan().Title, "Flight") {
		t.Error(said)
	}
	for _, c := range []struct{ want, said string }{
		{"steps", r.refine(r.works("go", 1, Operation{}))},
		{"says nothing", r.refine(r.works("go", 1, Operation{Steps: []string{" "}}))},
		{"an executor gives steps", r.refine(r.works("go", 1, Operation{Plan: []byte(`{"subjobs":[]}`)}))},
	} {
		if !strings.Contains(c.said, c.want) {
			t.Errorf("%q lacks %q", c.said, c.want)
		}
	}
}

// When the goal is reached, the job ends with the executor's step: steps that have not begun are skipped, with the reason, and the
// result is the executor's.
// proves O-weakness-issue-963
// proves O-weakness-issue-458
// proves O19
func TestAnExecutorEndsTheJobWhenItsGoalIsReached(t *testing.T) {
	r := record(t, trip())
	r.done("pack", 1)
	reason := `we are "there" \ already`
	op := r.works("go", 1, Operation{Command: OpFinish, StepNotes: &reason})
	for range 2 { // A repeated call changes nothing more.
		if said := r.ends(op); said != "" {
			t.Fatal(said)
		}
	}
	if r.chart.Job.PlanVersion != 2 || r.chart.Job.Status.Terminal() {
		t.Errorf("version %d, %s", r.chart.Job.PlanVersion, r.chart.Job.Status)
	}
	r.done("go", 1)
	state := r.chart.Job.View()
	if state.Status != events.Finished || len(state.Tails) != 1 || state.Tails[0] != "go" {
		t.Errorf("%s with %v", state.Status, state.Tails)
	}
	r.shows("0. [✓] Pack", "1. [✓] Go", "2. [✓] Rest", "   Notes: skipped: we are 'there' / already")
	if said := r.ends(op); !strings.Contains(said, "is FINISHED") {
		t.Error(said)
	}
	fresh := record(t, trip())
	if said := fresh.ends(fresh.works("pack", 1, Operation{Command: OpFinish})); !strings.Contains(said, "is needed") {
		t.Error(said)
	}
	if said := fresh.ends(Operation{Command: OpFinish, StepNotes: &reason}); said != "" { // A person ends the plan while a step is at work.
		t.Error(said)
	}
	if fresh.done("pack", 1); fresh.chart.Job.Status != events.Finished {
		t.Error(fresh.chart.Job.Status)
	}
	long := strings.Repeat("界", 2000)
	far := record(t, trip())
	if said := far.ends(far.works("pack", 1, Operation{Command: OpFinish, StepNotes: &long})); said != "" {
		t.Error(said)
	}
}

// An executor adds notes to its own step, and marks only steps that have not begun.
// proves O2
func TestAnExecutorMarksOnlyWhatHasNotBegun(t *testing.T) {
	r := record(t, trip())
	r.done("pack", 1)
	mark := func(id, status string, notes ...string) string {
		r.t.Helper()
		facts, err := r.chart.MarkFrom(r.works("go", 1, stepOf(id, status, notes...)))
		return r.tell(facts, err)
	}
	if said := mark("go", "completed", "half of the way"); said != "" {
		t.Error(said)
	}
	r.shows("0. [✓] Pack", "1. [→] Go", "   Notes: half of the way", "2. [ ] Rest")
	if said := mark("pack", "completed"); said != "" {
		t.Error(said)
	}
	for said, want := range map[string]string{
		mark("go", "blocked"):       "your own step",
		mark("go", "not_started"):   "your own step",
		mark("pack", "not_started"): "what has begun",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("%q lacks %q", said, want)
		}
	}
	if said := mark("rest", "completed", "slept in the train"); said != "" {
		t.Error(said)
	}
	r.shows("0. [✓] Pack", "1. [→] Go", "   Notes: half of the way", "2. [✓] Rest", "   Notes: slept in the train")
}

func TestARunThatIsOverChangesThePlanNoMore(t *testing.T) {
	r := record(t, trip())
	op := r.works("pack", 1, Operation{Command: OpUpdate, Steps: []string{"Rest"}})
	if err := r.chart.Entitled(op); err != nil {
		t.Error(err)
	}
	for _, x := range []Executor{{SubJob: "pack", Run: 2}, {SubJob: "rest", Run: 1}, {SubJob: "none", Run: 1}} {
		op.executor = &x
		if err := r.chart.Entitled(op); err == nil || !strings.Contains(err.Error(), "is over") {
			t.Errorf("%+v: %v", x, err)
		}
	}
	op.executor = &Executor{SubJob: "pack", Run: 1}
	if r.done("pack", 1); r.chart.Entitled(op) == nil {
		t.Error("after its report")
	}
}

// A step added to a running job has the retry limit of the request, whatever the card of its expert allows.
func TestAnAddedStepKeepsTheRetriesOfTheRequest(t *testing.T) {
	none, three := 0, 3
	r := &tape{t: t, chart: &Chart{}}
	r.add(events.KindJobRequested, "", 0, &events.JobRequested{
		Request: events.Request{Goal: "go on a trip", ID: "j", Limits: events.Limits{Retries: &none}},
		Rules:   events.Rules{Version: events.RulesVersion, MaxSteps: 100, MaxPlanRounds: 3, FailurePolicy: events.Continue, Finalize: "tails"},
	})
	r.add(events.KindGraphCreated, events.PlanID, 1, &events.GraphCreated{Plan: trip()})
	cards := []events.Card{{ID: "e", Name: "E", Retries: &three}}
	for name, revise := range map[string]func() ([]Control, error){
		"a person": func() ([]Control, error) {
			return r.chart.Revise(Operation{Steps: []string{"Pack", "Pay"}}, cards, Options{DefaultExpert: "e"})
		},
		"an executor": func() ([]Control, error) {
			return r.chart.Refine(r.works("pack", 1, Operation{Steps: []string{"Pay"}}), cards, Options{DefaultExpert: "e"})
		},
	} {
		facts, err := revise()
		if err != nil || len(facts) != 1 {
			t.Fatal(facts, err)
		}
		list := facts[0].Data.(*events.PlanEdited).Plan.SubJobs
		if last := list[len(list)-1]; last.Goal != "Pay" || last.Retries == nil || *last.Retries != 0 {
			t.Errorf("%s: %+v", name, last)
		}
	}
}
