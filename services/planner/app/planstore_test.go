package app_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/planner/app"
)

// operator requests plan operations as programs and models do.
type operator struct {
	t    *testing.T
	c    *client.Client
	tool client.PlanTool
}

func operate(t *testing.T, w *servicetest.Env) *operator {
	c := client.New(w.Bus)
	return &operator{t, c, client.PlanTool{Client: c}}
}

// call returns the text for a model.
func (o *operator) call(arguments string) string {
	o.t.Helper()
	return musttest.Get(o.tool.Call(o.t.Context(), arguments))(o.t)
}

// do returns the answer to an operation that must succeed.
func (o *operator) do(op client.PlanOperation) client.PlanAnswer {
	o.t.Helper()
	return musttest.Get(o.c.Plan(o.t.Context(), op))(o.t)
}

// proves O-T9
// proves O-weakness-8
// proves C38
func TestPlansAreKeptAcrossPlanners(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		p := start(w, app.Deps{})
		o := operate(t, w)
		for _, test := range []struct{ call, want string }{
			{`{"command":"list"}`, "There are no plans."},
			{`{"command":"get"}`, "Error: plan_id: no plan is active (give plan_id, or choose a plan with set_active)"},
			{`{"command":"create","plan_id":"trip","title":"Trip","steps":["Pack","Go"]}`, "Plan \"trip\" was created.\n\nPlan: Trip (ID: trip)\n"},
			{`{"command":"create","plan_id":"trip","title":"Trip","steps":["Pack"]}`, `Error: plan_id: plan "trip" exists already (use update to change it)`},
			{`{"command":"create","plan_id":"x","title":"X","steps":["a",7]}`, "Error: steps[1]: is 7, expected a text"},
			{`{"command":"mark_step","step_index":0,"step_status":"completed","step_notes":"two bags"}`, "0. [✓] Pack\n   Notes: two bags\n"},
			{`{"command":"mark_step","step_index":9}`, "Error: step_index: there is no step 9 (steps go from 0 to 1)"},
			{`{"command":"update","plan_id":"trip","steps":["Call","Pack","Go"]}`, "0. [ ] Call\n1. [✓] Pack\n   Notes: two bags\n"},
			{`{"command":"get","plan_id":"nothing"}`, `Error: plan_id: there is no plan "nothing" (list shows the ids)`},
			{`{"command":"dance"}`, `Error: command: unknown command "dance" (the commands are create, update,`},
			{`{"command":"get","colour":"red"}`, `Error: colour: unknown field "colour"`},
			{`not json`, "Error: the arguments are no JSON object"},
		} {
			if got := o.call(test.call); !strings.Contains(got, test.want) {
				t.Errorf("%s: %s", test.call, got)
			}
		}
		musttest.Do(t, p.Stop())
		start(w, app.Deps{}) // Another planner: nothing was only in memory.
		if got := o.call(`{"command":"list"}`); got != "Plans:\n• trip (active): Trip - 1/3 steps completed\n" {
			t.Error(got)
		}
		answer := o.do(client.PlanOperation{Command: "get"})
		want := `{"plan_id":"trip","title":"Trip","subjobs":[{"id":"step_1","goal":"Call"},` +
			`{"id":"step_2","goal":"Pack","dependencies":["step_1"],"execution_res":"two bags"},{"id":"step_3","goal":"Go","dependencies":["step_1","step_2"]}]}`
		if d := cmp.Diff(want, string(answer.Request)); d != "" || answer.Active != "trip" || len(answer.Plan.Lines) != 3 {
			t.Error(d)
		}
		other := client.PlanTool{Client: o.c, Book: "job7"}
		if got, err := other.Call(t.Context(), `{"command":"list","book":"main"}`); err != nil || !strings.Contains(got, "no plans") {
			t.Error("a model reads another book", got, err)
		}
		if got := o.call(`{"command":"delete","plan_id":"trip"}`); got != `Plan "trip" was deleted.` {
			t.Error(got)
		}
	})
}

func TestWithoutAPlannerPlanOperationsSaySo(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		_, err := client.New(w.Bus).Plan(t.Context(), client.PlanOperation{Command: "list"})
		if !errors.Is(err, bus.ErrUnavailable) {
			t.Error(err)
		}
		if text, err := (client.PlanTool{Client: client.New(w.Bus)}).Call(t.Context(), `{"command":"list"}`); !errors.Is(err, bus.ErrUnavailable) {
			t.Error(text, err)
		}
	})
}

// proves O-weakness-issue-1271
func TestTheGraphOfAJobIsReadMarkedAndUpdated(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		w.Announce(three()...)
		start(w, app.Deps{})
		job := "j1"
		w.Tell(events.Event{Kind: events.KindJobRequested, Job: job, ID: job + "/1", Data: &events.JobRequested{
			Request: events.Request{Goal: "go on a trip", ID: job}, Rules: events.Rules{Version: 1, MaxSteps: 100, MaxPlanRounds: 3, FailurePolicy: events.Continue, Finalize: "tails"},
		}})
		w.Tell(events.Event{Kind: events.KindGraphCreated, Job: job, SubJob: events.PlanID, Run: 1, ID: job + "/2", Data: &events.GraphCreated{Plan: &events.Plan{
			Title: "Trip", SubJobs: []events.SubJob{{ID: "pack", Goal: "Pack", Expert: "e"}, {ID: "go", Goal: "Go", Expert: "e", Dependencies: []string{"pack"}}},
		}}})
		w.Tell(events.Event{Kind: events.KindSubJobReported, Job: job, SubJob: "pack", Run: 1, ID: job + "/3", Data: &events.SubJobReported{Outcome: events.Success, Output: json.RawMessage(`1`)}})
		w.Tell(events.Event{Kind: events.KindSubJobStarted, Job: job, SubJob: "go", Run: 1, ID: job + "/4", Data: &events.SubJobStarted{}})
		o := operate(t, w)
		if got := o.call(`{"command":"get","plan_id":"j1","within":"j1"}`); !strings.Contains(got, `Error: plan_id: there is no plan "j1"`) {
			t.Error("a model reads the graph of a job that is none of its own:", got)
		}
		o.tool.Job = "j1"
		answer := o.do(client.PlanOperation{Command: "get", PlanID: "j1"})
		if answer.JobID != "j1" || answer.Status != events.Running || answer.PlanVersion != 1 || !strings.Contains(answer.Text, "0. [✓] Pack\n1. [→] Go\n") {
			t.Errorf("%+v", answer)
		}
		for _, test := range []struct{ call, want string }{
			{`{"command":"set_active","plan_id":"j1"}`, "is the active plan now"},
			{`{"command":"list"}`, "• job:j1 (active): the graph of that job"},
			{`{"command":"mark_step","step_index":1,"step_notes":"by train"}`, "1. [→] Go\n   Notes: by train\n"},
			{`{"command":"update","plan_id":"j1","steps":["Pack","Go","Draw a map"]}`, "2. [ ] Draw a map\n"},
			{`{"command":"mark_step","step_index":1,"step_status":"completed","step_notes":"arrived"}`, "1. [✓] Go\n   Notes: arrived\n"},
			{`{"command":"get"}`, "1. [✓] Go\n   Notes: arrived\n2. [ ] Draw a map\n"},
			{`{"command":"delete","plan_id":"j1"}`, `Error: plan_id: "j1" is the graph of a job`},
			{`{"command":"get","plan_id":"job:j2"}`, `Error: plan_id: there is no plan "job:j2"`},
			{`{"command":"mark_step","step_index":1,"step_status":"blocked"}`, "Error: step_status: go is FINISHED"},
			{`{"command":"create","plan_id":"j1","title":"Mine","steps":["a"]}`, "was created"},
			{`{"command":"get","plan_id":"j1"}`, "Plan: Mine"},
			{`{"command":"get","plan_id":"job:j1"}`, "Plan: Trip"},
		} {
			if got := o.call(test.call); !strings.Contains(got, test.want) {
				t.Errorf("%s: %s", test.call, got)
			}
		}
		if _, err := o.c.Plan(t.Context(), client.PlanOperation{Command: "get", PlanID: "job:none"}); !errors.Is(err, client.ErrNotFound) {
			t.Error(err)
		}
		edits := w.Facts("j1", events.KindPlanEdited)
		for i, e := range edits {
			if d := e.Data.(*events.PlanEdited); d.By != "plan" || d.PlanVersion != i+1 {
				t.Errorf("%+v", d)
			}
		}
		if len(edits) != 2 {
			t.Errorf("%d edits", len(edits))
		}
	})
}

func TestTheToolTakesWhatItsSchemaSays(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		start(w, app.Deps{})
		o := operate(t, w)
		var schema struct {
			Properties map[string]struct {
				Type string   `json:"type"`
				Enum []string `json:"enum"`
			} `json:"properties"`
		}
		musttest.Decode(t, o.tool.Schema(), &schema)
		musttest.Equal(t, client.PlanCommands(), schema.Properties["command"].Enum)
		for name, p := range schema.Properties {
			value := map[string]string{"string": `"x"`, "integer": "0", "array": `["x"]`}[p.Type]
			if name == "command" {
				continue
			}
			if got := o.call(`{"command":"list","` + name + `":` + value + `}`); !strings.Contains(got, "no plans") {
				t.Errorf("%s: %s", name, got)
			}
		}
		if o.tool.Name() == "" || o.tool.Description() == "" {
			t.Error("the tool does not say what it is for")
		}
	})
}
