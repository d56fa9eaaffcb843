package planstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/planner/internal/plan"
	"github.com/jobgraph/jobgraph/services/planner/internal/planstore"
)

// cards are the experts that jobs may use; they do not change.
type cards []events.Card

func (c cards) Cards() ([]events.Card, <-chan struct{}) { return c, nil }

func open(b *bus.Bus) *planstore.Store {
	return planstore.New(b, cards{{ID: "e", Name: "E", Description: "works"}}, plan.Options{}, plan.Limits{}, slog.New(slog.DiscardHandler))
}

func broker(t *testing.T, s bustest.Settings) *bus.Bus {
	return bustest.Start(t, s).Bus("test")
}

// state publishes facts of the job "j1".
func state(t *testing.T, b *bus.Bus, list ...events.Event) {
	t.Helper()
	for i, e := range list {
		e.Job, e.Source, e.ID = "j1", "test", fmt.Sprintf("%s/%d", e.Kind, i)
		m := musttest.Get(events.Encode(b.Names(), e))(t)
		musttest.Get(b.Publish(t.Context(), m, bus.Expect{}))(t)
	}
}

// begin publishes the job "j1" with the steps pack and go. It waits for the expert of pack.
func begin(t *testing.T, b *bus.Bus) {
	t.Helper()
	state(t, b,
		events.Event{Kind: events.KindJobRequested, Data: &events.JobRequested{
			Request: events.Request{Goal: "go on a trip", ID: "j1"}, Rules: events.Rules{Version: 1, MaxSteps: 100, MaxPlanRounds: 3, FailurePolicy: events.Continue, Finalize: "tails"},
		}},
		events.Event{Kind: events.KindGraphCreated, SubJob: events.PlanID, Run: 1, Data: &events.GraphCreated{Plan: &events.Plan{
			Title: "Trip", SubJobs: []events.SubJob{{ID: "pack", Goal: "Pack", Expert: "e"}, {ID: "go", Goal: "Go", Expert: "e", Dependencies: []string{"pack"}}},
		}}},
	)
}

// edits counts the changes of the plan of "j1" in its log.
func edits(t *testing.T, b *bus.Bus) int {
	t.Helper()
	return count(t, b, events.KindPlanEdited)
}

// count counts the events of a kind in the log of "j1".
func count(t *testing.T, b *bus.Bus, kind events.Kind) int {
	t.Helper()
	n := 0
	for e, err := range b.Log().EventsOf(t.Context(), "j1", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == kind {
			n++
		}
	}
	return n
}

// code returns the code of a fault, "" for any other error and for nil.
func code(err error) events.Code {
	var f *events.Fault
	if !errors.As(err, &f) {
		return ""
	}
	return f.Code
}

func TestABookIsOfAllStoresOverOneBus(t *testing.T) {
	b := broker(t, bustest.Settings{})
	create := plan.Operation{Command: plan.OpCreate, PlanID: "trip", Title: "Trip", Steps: []string{"Pack", "Go"}}
	musttest.Get(open(b).Do(t.Context(), "", create))(t)
	got, err := open(b).Do(t.Context(), planstore.Main, plan.Operation{Command: plan.OpGet})
	if err != nil || got.Plan == nil || got.Plan.ID != "trip" || got.Active != "trip" || len(got.Request) == 0 {
		t.Errorf("%+v, %v", got, err)
	}
	other, err := open(b).Do(t.Context(), "other", plan.Operation{Command: plan.OpList})
	if err != nil || len(other.Plans) != 0 {
		t.Errorf("another book has %+v, %v", other.Plans, err)
	}
	if _, err := open(b).Do(t.Context(), "no name", plan.Operation{Command: plan.OpList}); code(err) != events.CodeInvalid {
		t.Errorf("a book with a space in its name: %v", err)
	}
}

func TestStoresThatWriteOneBookAtOnceLoseNoPlan(t *testing.T) {
	b := broker(t, bustest.Settings{})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			op := plan.Operation{Command: plan.OpCreate, PlanID: fmt.Sprint("p", i), Title: "T", Steps: []string{"a"}}
			if _, err := open(b).Do(t.Context(), "", op); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got, err := open(b).Do(t.Context(), "", plan.Operation{Command: plan.OpList}); err != nil || len(got.Plans) != 8 {
		t.Errorf("%d plans, %v", len(got.Plans), err)
	}
}

func TestABookThatOutgrowsAMessageSaysSoAndStaysAsItWas(t *testing.T) {
	b := broker(t, bustest.Settings{MaxPayload: 64 << 10})
	s := open(b)
	var err error
	kept := 0
	for range 100 {
		op := plan.Operation{Command: plan.OpCreate, PlanID: fmt.Sprint("p", kept), Title: "T", Steps: []string{strings.Repeat("a", 2000)}}
		if _, err = s.Do(t.Context(), "", op); err != nil {
			break
		}
		kept++
	}
	if code(err) != events.CodeTooLarge {
		t.Fatalf("after %d plans: %v", kept, err)
	}
	if got, err := s.Do(t.Context(), "", plan.Operation{Command: plan.OpList}); err != nil || len(got.Plans) != kept {
		t.Errorf("%d plans of %d are kept, %v", len(got.Plans), kept, err)
	}
}

func TestABookThatHoldsNoJSONIsNamedAndLeftAlone(t *testing.T) {
	b := broker(t, bustest.Settings{})
	musttest.Get(b.Plans().Update(t.Context(), bus.BookKey("main"), []byte("{torn"), 0))(t)
	op := plan.Operation{Command: plan.OpCreate, PlanID: "p", Title: "T", Steps: []string{"a"}}
	if _, err := open(b).Do(t.Context(), "", op); err == nil || !strings.Contains(err.Error(), "read book main") {
		t.Errorf("written over: %v", err)
	}
}

func TestTheGraphOfAJobIsChangedByFactsAlone(t *testing.T) {
	b := broker(t, bustest.Settings{})
	begin(t, b)
	s := open(b)
	before := edits(t, b)
	text, err := s.Do(t.Context(), "", plan.Operation{Command: plan.OpMarkStep, PlanID: "j1", StepID: "pack", StepStatus: "completed"})
	if err != nil || !strings.Contains(text.Text, "[✓] Pack") || text.JobID != "j1" || text.Status != events.Running {
		t.Errorf("mark: %+v, %v", text, err)
	}
	if n := edits(t, b); n != before+1 {
		t.Errorf("one mark made %d facts", n-before)
	}
	if _, _, err := b.Plans().Get(t.Context(), bus.BookKey("main")); !errors.Is(err, bus.ErrNotFound) {
		t.Errorf("the graph of a job was written to a book: %v", err)
	}
	if _, err := s.Do(t.Context(), "", plan.Operation{Command: plan.OpDelete, PlanID: "j1"}); code(err) != events.CodeConflict {
		t.Errorf("delete: %v", err)
	}
	if _, err := s.Do(t.Context(), "", plan.Operation{Command: plan.OpGet, PlanID: plan.JobPrefix + "none"}); code(err) != events.CodeNotFound {
		t.Errorf("a job that does not exist: %v", err)
	}
}

func TestManyMarksOfOneStepAtOnceAreOneFact(t *testing.T) {
	b := broker(t, bustest.Settings{})
	begin(t, b)
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			op := plan.Operation{Command: plan.OpMarkStep, PlanID: "j1", StepID: "pack", StepStatus: "completed"}
			if _, err := open(b).Do(t.Context(), "", op); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := edits(t, b); n != 1 {
		t.Errorf("%d facts", n)
	}
}

// A repeated call of an executor, and one of a run that is over, change nothing.
//
// proves O-weakness-issue-1271
func TestAnExecutorsCallTakesEffectOnceAndOnlyWhileItsRunIsAtWork(t *testing.T) {
	b := broker(t, bustest.Settings{})
	begin(t, b)
	endpoints := open(b).Endpoints()
	ask := func(verb, more string) (string, *events.Fault) {
		body, fault := endpoints["plan."+verb](t.Context(), []byte(`{"book":"j1~agents","within":"j1","executor":"pack","run":1,"key":"k1"`+more+`}`))
		return string(body), fault
	}
	for range 2 {
		text, fault := ask("update", `,"steps":["Pay","Go"]`)
		if fault != nil || !strings.Contains(text, "You work at step 0") || !strings.Contains(text, "1. [ ] Pay") {
			t.Fatalf("%v %s", fault, text)
		}
	}
	for range 2 {
		if text, fault := ask("mark_step", `,"step_id":"pack","step_notes":"half of it"`); fault != nil || !strings.Contains(text, "Notes: half of it") {
			t.Errorf("%v %s", fault, text)
		}
	}
	if n, m := count(t, b, events.KindPlanEdited), count(t, b, events.KindSubJobProgressed); n != 1 || m != 1 {
		t.Errorf("two calls made %d edits, two calls %d notes", n, m)
	}
	state(t, b, events.Event{Kind: events.KindSubJobReported, SubJob: "pack", Run: 1, Data: &events.SubJobReported{Outcome: events.Success, Output: []byte(`"done"`)}})
	for _, verb := range []string{"update", "finish", "mark_step"} {
		if _, fault := ask(verb, `,"steps":["Fly"],"step_id":"go","step_status":"completed","step_notes":"n"`); fault == nil || fault.Code != events.CodeConflict || !strings.Contains(fault.Message, "is over") {
			t.Errorf("%s after the end of the run: %v", verb, fault)
		}
	}
	if n := edits(t, b); n != 1 {
		t.Errorf("%d facts", n)
	}
	if text, fault := ask("get", ""); fault != nil || !strings.Contains(text, "(ID: j1)") {
		t.Errorf("%v %s", fault, text)
	}
}

func TestAnEndpointAnswersFaultsInOneShape(t *testing.T) {
	b := broker(t, bustest.Settings{})
	endpoints := open(b).Endpoints()
	for _, c := range []struct {
		verb, request string
		code          events.Code
		want          string
	}{
		{"plan.create", `{"plan_id":"p","title":"T","steps":["a"]}`, "", `"plan \"p\" was created`},
		{"plan.create", `{"plan_id":"p","title":"T","steps":["a"]}`, events.CodeConflict, ""},
		{"plan.create", `{"steps":["a",7],"colour":"red"}`, events.CodeInvalid, `"faults":[`},
		{"plan.get", `{"book":"other"}`, events.CodeMissing, ""},
	} {
		body, fault := endpoints[c.verb](t.Context(), []byte(c.request))
		var got events.Code
		if fault != nil {
			got = fault.Code
		}
		if got != c.code || !strings.Contains(strings.ToLower(string(body)), c.want) {
			t.Errorf("%s %s: %q %s", c.verb, c.request, got, body)
		}
		if len(body) > 0 && !json.Valid(body) {
			t.Errorf("%s: no JSON: %s", c.verb, body)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, fault := endpoints["plan.list"](ended, []byte(`{}`)); fault == nil || fault.Code != events.CodeUnavailable {
		t.Errorf("without a bus: %v", fault)
	}
}
