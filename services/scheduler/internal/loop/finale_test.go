package loop

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// worded is a job of two steps that are done, and the work that puts its result into words.
func worded(t *testing.T, steps int, also ...events.SubJobReported) (*Partition, *events.Work) {
	t.Helper()
	f := newFake()
	f.add(events.KindJobRequested, "", 0, &events.JobRequested{
		Request: events.Request{ID: "j", Goal: "g", Context: "c", Profile: "steps", Inputs: map[string]json.RawMessage{"n": json.RawMessage("1")}},
		Rules:   events.Rules{Version: 2, MaxSteps: 1000, MaxPlanRounds: 1, FailurePolicy: events.FailFast},
	})
	plan := &events.Plan{Title: "Two", Thought: "why", Locale: "de-DE"}
	for i := range steps {
		s := events.SubJob{ID: fmt.Sprintf("s%d", i), Title: "Step", Goal: strings.Repeat("g", 200), Context: "long", Expert: "x", Pool: "default"}
		if i > 0 {
			s.Dependencies = []string{fmt.Sprintf("s%d", i-1)}
		}
		plan.SubJobs = append(plan.SubJobs, s)
	}
	f.add(events.KindGraphCreated, events.PlanID, 1, &events.GraphCreated{Finalize: "summary:writer", FinalPool: "own", Plan: plan})
	for i := range steps {
		f.add(events.KindSubJobReported, plan.SubJobs[i].ID, 1, &events.SubJobReported{Outcome: events.Success, Output: json.RawMessage(fmt.Sprint(i))})
	}
	for i := range also {
		f.add(events.KindSubJobReported, events.FinalID, i+1, &also[i])
	}
	state := musttest.Get(graph.Fold(f.EventsOf(t.Context(), "j", 0)))(t)
	p := f.partition(t)
	for _, cmd := range state.Pending() {
		if cmd.Kind == graph.RunSubJob {
			j := &job{id: "j", state: state}
			requested, _, err := p.builder.requested(t.Context(), j)
			if err != nil {
				t.Fatal(err)
			}
			w := musttest.Get(p.builder.resolveOrder(t.Context(), j, &cmd, requested))(t)
			return p, w
		}
	}
	t.Fatal("no work is owed")
	return nil, nil
}

func TestWhoeverFindsTheWordsGetsThePlanAsItWasCarriedOut(t *testing.T) {
	_, w := worded(t, 2)
	var plan events.Plan
	musttest.Decode(t, w.Request.Plan, &plan)
	goal := strings.Repeat("g", 200)
	want := events.Plan{Title: "Two", Thought: "why", Locale: "de-DE", SubJobs: []events.SubJob{
		{ID: "s0", Title: "Step", Goal: goal}, {ID: "s1", Title: "Step", Goal: goal, Dependencies: []string{"s0"}},
	}}
	musttest.Equal(t, want, plan)
	if r := w.Request; r.Finalize != "summary:writer" || r.Goal != "g" || r.Profile != "steps" || r.Inputs != nil || w.Inputs == nil {
		t.Errorf("%+v", r)
	}
	if string(w.Results["s0"].Output) != "0" || string(w.Results["s1"].Output) != "1" || w.Kind != events.WorkFinalize || w.Attempt != 1 {
		t.Errorf("%+v", w)
	}
}

func TestALongPlanThatWasCarriedOutGoesByReference(t *testing.T) {
	p, w := worded(t, 400)
	if w.Request.Plan != nil || w.Request.PlanRef == nil || len(w.Results) != 400 {
		t.Errorf("%d bytes, %v, %d results", len(w.Request.Plan), w.Request.PlanRef, len(w.Results))
	}
	if body, err := p.builder.fit(t.Context(), w); err != nil || len(body) > events.MaxMessage {
		t.Errorf("%d bytes: %v", len(body), err)
	}
}

func TestTheStandInIsAskedInTheWordsOfThePlanner(t *testing.T) {
	_, w := worded(t, 2, events.SubJobReported{Outcome: events.ExecutionError, Lesson: "write the closing words"})
	if w.Goal != "write the closing words" || w.Context != "g" || w.Lessons != nil || w.Request != nil || len(w.Results) != 2 || len(w.Inputs) != 1 {
		t.Errorf("%+v", w)
	}
	_, w = worded(t, 2, events.SubJobReported{Outcome: events.ExecutionError}, events.SubJobReported{Outcome: events.Success, Output: json.RawMessage(`"by hand"`)})
	if w.Request == nil || string(w.Results[events.FinalID].Output) != `"by hand"` || w.Attempt != 3 {
		t.Errorf("%+v", w)
	}
}

// proves C28
func TestTheEndOfAJobNamesTheFilesOfItsResult(t *testing.T) {
	files := []events.Ref{{Digest: "d1", Name: "x.md"}, {Digest: "d2", Name: "y/z.md"}}
	f := newFake()
	f.add(events.KindJobRequested, "", 0, &events.JobRequested{Request: events.Request{ID: "j", Goal: "g"}})
	f.add(events.KindSubJobReported, "s", 1, &events.SubJobReported{Outcome: events.Success, Artifacts: files})
	f.add(events.KindSubJobReported, events.FinalID, 1, &events.SubJobReported{Outcome: events.Success, Artifacts: []events.Ref{{Digest: "d1", Name: "s/x.md"}}})
	p := f.partition(t)
	for subjob, want := range map[string][]events.Ref{
		"s": {{Digest: "d1", Name: "s/x.md"}, {Digest: "d2", Name: "s/y/z.md"}}, events.FinalID: {{Digest: "d1", Name: "s/x.md"}},
	} {
		seq := uint64(2)
		if subjob == events.FinalID {
			seq = 3
		}
		end := events.JobEnded{}
		musttest.Do(t, p.builder.fillResult(t.Context(), &job{id: "j"}, []graph.Input{{SubJob: subjob, Run: 1, Seq: seq}}, &end))
		musttest.Equal(t, want, end.Artifacts)
	}
}
