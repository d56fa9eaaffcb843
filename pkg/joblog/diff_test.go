package joblog_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/pkg/jobtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func TestADiffOfPlansNamesWhatChanged(t *testing.T) {
	a := &events.Plan{Title: "A", SubJobs: []events.SubJob{{ID: "x", Goal: "g", Dependencies: []string{"p", "q"}}, {ID: "y", Goal: "g"}}}
	b := &events.Plan{Title: "B", SubJobs: []events.SubJob{{ID: "z", Goal: "g"}, {ID: "x", Goal: "h", Context: "c", Dependencies: []string{"q", "p"}}}}
	got := joblog.DiffPlans(a, b)
	want := joblog.PlanDifference{Plan: []string{"title"}, Added: []string{"z"}, Removed: []string{"y"}, Changed: []joblog.PlanChange{{SubJob: "x", Fields: []joblog.FieldChange{
		{Field: "goal", Before: json.RawMessage(`"g"`), After: json.RawMessage(`"h"`)},
		{Field: "context", After: json.RawMessage(`"c"`)},
	}}}}
	musttest.Equal(t, want, got)
	same := joblog.DiffPlans(a, a)
	if !same.Empty() {
		t.Error(same)
	}
	if gone := joblog.DiffPlans(a, nil); len(gone.Removed) != 2 {
		t.Error(gone)
	}
}

func accountOf(t *testing.T, l *joblog.Log) *joblog.Account {
	t.Helper()
	a := musttest.Get(l.Account(func(subjob string) ([]joblog.Call, error) {
		return slices.Repeat([]joblog.Call{{}}, len(subjob)), nil
	}, noPayloads))(t)
	return a
}

func TestADiffOfJobsSaysWhatCameToSomethingElse(t *testing.T) {
	l := chain(t)
	a := accountOf(t, l)
	if d := joblog.Compare(a, accountOf(t, l)); !d.Same() {
		t.Errorf("a job differs from itself: %+v", d)
	}
	if x := a.SubJobs["b"]; x.Runs != 1 || x.Calls != 1 || x.DurationMS != 10 || x.Tokens != 3 || x.CostUSD != 0.5 || x.Given || string(x.Result) != `"e:b(\"e:a\")"` {
		t.Errorf("%+v: %s", x, x.Result)
	}
	_, r := ran(t, l, joblog.Fork{Before: "b", Prompt: "better"}, says)
	fork := musttest.Get(joblog.Fold(from(r.Events...), 0))(t)
	d := joblog.Compare(a, accountOf(t, fork))
	var got []string
	for _, x := range d.SubJobs {
		got = append(got, x.SubJob+" "+strings.Join(x.Fields, ","))
	}
	if want := []string{"b result", "c result"}; cmp.Diff(want, got) != "" || d.Same() {
		t.Error(cmp.Diff(want, got))
	}
	if len(d.Plan.Changed) != 1 || d.Plan.Changed[0].SubJob != "b" || d.Plan.Changed[0].Fields[0].Field != "goal" {
		t.Errorf("%+v", d.Plan)
	}
	if !d.B.SubJobs["a"].Given || d.B.SubJobs["b"].Given {
		t.Error("what came with the plan is not told from what was run")
	}
	short := joblog.Compare(a, &joblog.Account{Status: a.Status, Result: a.Result, Plan: &events.Plan{}})
	if len(short.SubJobs) != 4 || short.SubJobs[0].B != nil || short.SubJobs[0].Fields[0] != "presence" {
		t.Errorf("%+v", short.SubJobs)
	}
}

func TestAnAccountNeedsTheCallsOfAJob(t *testing.T) {
	gone := errors.New("gone")
	if _, err := chain(t).Account(func(string) ([]joblog.Call, error) { return nil, gone }, noPayloads); !errors.Is(err, gone) {
		t.Error(err)
	}
}

func TestASubJobIsToldWithItsTextItsResultAndItsLessons(t *testing.T) {
	tries := 0
	l := played(t, jobtest.Script{
		Plan: &events.Plan{SubJobs: []events.SubJob{{ID: "a", Goal: "look", Expert: "e"}}},
		Default: func(events.Work) events.SubJobReported {
			if tries++; tries == 1 {
				return jobtest.Fail("look twice")
			}
			return jobtest.Succeed("seen")
		},
	}, "")
	s := l.SubJob("a")
	if s.Spec.Goal != "look" || string(s.Output) != `"seen"` || s.State.Status != events.Finished || cmp.Diff([]string{"look twice"}, s.Lessons) != "" {
		t.Errorf("%+v", s)
	}
	if l.SubJob("b") != nil || l.SubJob(events.PlanID) == nil {
		t.Error("what is no SubJob was found, or what is one was not")
	}
	if cmp.Diff([]string{"a"}, l.IDs()) != "" {
		t.Error(l.IDs())
	}
}
