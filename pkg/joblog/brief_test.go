package joblog_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/brief"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// planned is a job with a plan.
func planned(t *testing.T, r events.Request, steps ...events.SubJob) *graph.Job {
	t.Helper()
	rules := events.Rules{Version: events.RulesVersion, MaxSteps: 99, MaxPlanRounds: 1, Finalize: "tails", FailurePolicy: events.FailFast}
	job := musttest.Get(graph.New(events.Event{Seq: 1, Kind: events.KindJobRequested, Job: "j", Data: &events.JobRequested{Request: r, Rules: rules}}))(t)
	if len(steps) > 0 {
		e := events.Event{Seq: 2, Kind: events.KindGraphCreated, Job: "j", SubJob: events.PlanID, Run: 1, Data: &events.GraphCreated{Plan: &events.Plan{SubJobs: steps}}}
		if effect := job.Step(e); effect.Verdict != graph.Applied {
			t.Fatal(effect)
		}
	}
	return job
}

func noGoals(graph.Spec) (string, error) { return "", nil }

func TestABriefHasTheNewestLessonsShortened(t *testing.T) {
	r := &events.Request{Goal: "g"}
	w := &events.Work{Job: "j"}
	for i := range 9 {
		w.Lessons = append(w.Lessons, fmt.Sprint("lesson ", i+1, " ", strings.Repeat("课", 300)))
	}
	var m joblog.Briefer
	b, err := m.Make(&joblog.JobBrief{}, planned(t, *r), r, w, noGoals)
	if err != nil || len(b.Lessons) != brief.MaxLessons || !strings.HasPrefix(b.Lessons[0], "lesson 6 ") {
		t.Fatalf("%v, %v", b, err)
	}
	for _, lesson := range b.Lessons {
		if !utf8.ValidString(lesson) || len(lesson) > brief.MaxLesson {
			t.Errorf("%d bytes: %q", len(lesson), lesson)
		}
	}
}

func TestARequestIsShortenedSoThatGoalAndContextBothShow(t *testing.T) {
	for _, test := range []struct {
		goal, context int
		cut           bool
	}{{10, 0, false}, {brief.MaxRequest, 0, false}, {500, brief.MaxRequest - 500, false}, {brief.MaxRequest + 1, 0, true}, {10, 200_000, true}, {200_000, 10, true}, {200_000, 200_000, true}} {
		r := &events.Request{Goal: strings.Repeat("g", test.goal), Context: strings.Repeat("c", test.context)}
		var m joblog.Briefer
		c := &joblog.JobBrief{}
		b := musttest.Get(m.Make(c, planned(t, *r), r, &events.Work{}, noGoals))(t)
		got := b.Request
		if len(got.Goal)+len(got.Context) > brief.MaxRequest || (got.Context == "") != (test.context == 0) || test.context == 10 && got.Context != r.Context || test.goal == 10 && got.Goal != r.Goal {
			t.Errorf("%+v: %d and %d bytes", test, len(got.Goal), len(got.Context))
		}
		puts := 0
		for range 2 {
			ref, err := c.Refer(r, func(data []byte) (events.Ref, error) {
				puts++
				var rest brief.Rest
				if err := json.Unmarshal(data, &rest); err != nil || rest.Request.Goal != r.Goal || rest.Request.Context != r.Context || rest.Plan != nil {
					t.Errorf("stored %.100s, %v", data, err)
				}
				return events.Ref{Digest: "d"}, nil
			})
			if err != nil || (ref != nil) != test.cut {
				t.Errorf("%+v: %v, %v", test, ref, err)
			}
		}
		if puts > 1 {
			t.Errorf("put %d times", puts)
		}
	}
}

func TestNamesOfInputsAreFewAndTheBlobHasAll(t *testing.T) {
	r := &events.Request{Goal: "g", Inputs: map[string]json.RawMessage{}}
	for i := range 40 {
		r.Inputs[fmt.Sprintf("n%02d%s", i, strings.Repeat("长", i*10))] = []byte("1")
	}
	var m joblog.Briefer
	c := &joblog.JobBrief{}
	b, err := m.Make(c, planned(t, *r), r, &events.Work{}, noGoals)
	if err != nil || len(b.Request.Inputs) != brief.MaxNames {
		t.Fatalf("%v, %v", b.Request.Inputs, err)
	}
	for _, name := range b.Request.Inputs {
		if len(name) > brief.MaxName || !utf8.ValidString(name) {
			t.Errorf("%q", name)
		}
	}
	if _, err := c.Refer(r, func(data []byte) (events.Ref, error) {
		var rest brief.Rest
		if err := json.Unmarshal(data, &rest); err != nil || len(rest.Request.Inputs) != 40 {
			t.Errorf("%v, %v", rest, err)
		}
		return events.Ref{}, nil
	}); err != nil {
		t.Error(err)
	}
}

func TestAGoalThatCannotBeReadNowIsAskedForAgain(t *testing.T) {
	away := errors.New("away")
	r := &events.Request{Goal: "g"}
	job := planned(t, *r, events.SubJob{ID: "a", Goal: "x", Expert: "e"})
	var m joblog.Briefer
	c := &joblog.JobBrief{}
	if _, err := m.Make(c, job, r, &events.Work{SubJob: "a"}, func(graph.Spec) (string, error) { return "", away }); !errors.Is(err, away) {
		t.Errorf("%v", err)
	}
	b, err := m.Make(c, job, r, &events.Work{SubJob: "a"}, func(at graph.Spec) (string, error) { return "the goal\nof " + at.ID, nil })
	if err != nil || b.Place.Title != "the goal of a" {
		t.Errorf("%+v, %v", b, err)
	}
}

func TestForPeopleNothingIsLeftOut(t *testing.T) {
	r := &events.Request{Goal: "g", Context: strings.Repeat("c", 9000)}
	var steps []events.SubJob
	for i := range 90 {
		steps = append(steps, events.SubJob{ID: fmt.Sprint("s", i), Goal: "x", Title: strings.Repeat("t", 100), Expert: "e"})
	}
	m := joblog.Briefer{Whole: true}
	b, err := m.Make(&joblog.JobBrief{}, planned(t, *r, steps...), r, &events.Work{SubJob: "s1"}, noGoals)
	if err != nil || len(b.Request.Context) != 9000 || len(b.Plan.Steps) != 90 || b.Plan.Steps[1].Status != brief.InProgress || b.Plan.Steps[2].Status != brief.NotStarted {
		t.Errorf("%+v, %v", b, err)
	}
}
