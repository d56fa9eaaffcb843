package joblog_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/pkg/jobtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// noPayloads are those of a job that has none.
func noPayloads(ref events.Ref) ([]byte, error) { return nil, errors.New("no payload " + ref.Digest) }

// forked forks a job and returns the fork and its plan.
func forked(t *testing.T, l *joblog.Log, f joblog.Fork) (*joblog.Forked, *events.Plan) {
	t.Helper()
	f.ID = "fork"
	made := musttest.Get(l.Fork(f, noPayloads))(t)
	p := &events.Plan{}
	musttest.Decode(t, made.Request.Plan, p)
	return made, p
}

// ran plays the fork of a job and returns the SubJobs that were executed in it.
func ran(t *testing.T, l *joblog.Log, f joblog.Fork, experts jobtest.Expert) (string, *jobtest.Result) {
	t.Helper()
	made, p := forked(t, l, f)
	r, err := jobtest.Script{Request: made.Request, Plan: p, Default: experts}.Run()
	if err != nil || r.State.Status != events.Finished {
		t.Fatal(r.State.Status, r.State.Error, err)
	}
	var names []string
	for _, run := range r.Runs {
		names = append(names, run.SubJob)
	}
	return strings.Join(names, " "), r
}

func goes(w events.Work) events.SubJobReported {
	if w.SubJob == "x" {
		return jobtest.TooComplicated("split me")
	}
	r := jobtest.Succeed(map[string]any{"go": true, w.SubJob[len(w.SubJob)-1:]: 1})
	r.DurationMS = 1000
	return r
}

// branching is a job whose step x is split, with a condition inside the split and one after it.
func branching(within, behind string, tails ...string) jobtest.Script {
	split := &events.Plan{SubJobs: []events.SubJob{{ID: "p", Goal: "p", Expert: "e"}}}
	for _, id := range tails {
		split.SubJobs = append(split.SubJobs, events.SubJob{ID: id, Goal: id, Expert: "e", Dependencies: []string{"p"}, When: within})
	}
	return jobtest.Script{
		Plan: &events.Plan{SubJobs: []events.SubJob{
			{ID: "x", Goal: "x", Expert: "e"}, {ID: "c", Goal: "c", Expert: "e", Dependencies: []string{"x"}, When: behind},
		}},
		Planner: func(events.Work) (*events.Plan, error) { return split, nil },
		Default: goes,
	}
}

func TestAForkOfASplitJobReadsTheSameValuesInItsConditions(t *testing.T) {
	for _, test := range []struct {
		script      jobtest.Script
		until, want string
	}{
		{branching("p.go", "x.go", "q"), "x~2~p", "x-2-q c"},
		{branching("p.go", "x.go", "q"), "x~2~q", "c"},
		{branching("", "x.r > 0.5 and x.q == 1", "q", "r"), "x~2~r", "c"},
	} {
		if got, _ := ran(t, played(t, test.script, test.until), joblog.Fork{}, goes); got != test.want {
			t.Errorf("after %s: %q was run, want %q", test.until, got, test.want)
		}
	}
}

func TestAConditionOverSeveralThatHaveNotFinishedIsNotForked(t *testing.T) {
	l := played(t, branching("", "x.go", "q", "r"), "x~2~p")
	_, err := l.Fork(joblog.Fork{ID: "fork"}, noPayloads)
	var fault *events.Fault
	if !errors.As(err, &fault) || fault.Code != events.CodeConflict || !strings.Contains(fault.Message, "several that x was split into") {
		t.Error(err)
	}
}

func TestAForkDoesNothingAgainThatHadNoOutput(t *testing.T) {
	experts := func(w events.Work) events.SubJobReported {
		switch w.SubJob {
		case "pay":
			return events.SubJobReported{Outcome: events.Success} // Like a program that prints nothing.
		case "look":
			return jobtest.Succeed(nil)
		}
		return jobtest.Succeed("done")
	}
	l := played(t, jobtest.Script{Default: experts, Plan: &events.Plan{SubJobs: []events.SubJob{
		{ID: "look", Goal: "look", Expert: "e"},
		{ID: "pay", Goal: "pay", Expert: "e", Dependencies: []string{"look"}},
		{ID: "alarm", Goal: "alarm", Expert: "e", Dependencies: []string{"look"}, When: "look.bad"},
	}}}, "")
	made, p := forked(t, l, joblog.Fork{})
	for i := range p.SubJobs {
		if s := &p.SubJobs[i]; !s.Done() {
			t.Errorf("%s is to be done again", s.ID)
		}
	}
	if made.Kept != 3 || made.Total != 3 {
		t.Errorf("%d of %d are kept", made.Kept, made.Total)
	}
}

// chain returns the log of a job with three SubJobs in a row and one beside them. The output of each repeats its goal and its inputs.
func chain(t *testing.T) *joblog.Log {
	t.Helper()
	return played(t, jobtest.Script{
		Request: events.Request{Labels: map[string]string{"team": "red", "forked_at": "1"}, Models: map[string]string{"planner": "small"}},
		Plan: &events.Plan{Title: "T", SubJobs: []events.SubJob{
			{ID: "a", Goal: "a", Expert: "e"},
			{ID: "b", Goal: "b", Expert: "e", Dependencies: []string{"a"}},
			{ID: "c", Goal: "c", Expert: "e", Dependencies: []string{"b"}},
			{ID: "d", Goal: "d", Expert: "e"},
		}}, Default: says,
	}, "")
}

func says(w events.Work) events.SubJobReported {
	text := w.Spec.Expert + ":" + w.Goal
	for _, id := range w.Spec.Dependencies {
		text += "(" + string(w.Results[id].Output) + ")"
	}
	r := jobtest.Succeed(text)
	r.Tokens, r.CostUSD, r.DurationMS = 3, 0.5, 10
	return r
}

func TestAForkRunsOneSubJobOtherwiseAndWhatFollowsFromIt(t *testing.T) {
	l := chain(t)
	for _, test := range []struct {
		fork      joblog.Fork
		ran, goal string
		expert    string
	}{
		{joblog.Fork{}, "", "b", "e"},
		{joblog.Fork{Before: "b"}, "b c", "b", "e"},
		{joblog.Fork{Before: "b", Prompt: "better", Expert: "x"}, "b c", "better", "x"},
		{joblog.Fork{Before: "b", Result: json.RawMessage(`"given"`)}, "c", "b", "e"},
	} {
		got, r := ran(t, l, test.fork, says)
		_, p := forked(t, l, test.fork)
		if b := p.SubJobs[1]; got != test.ran || b.Goal != test.goal || b.Expert != test.expert {
			t.Errorf("%+v: %q was run, want %q; b is %q by %s", test.fork, got, test.ran, b.Goal, b.Expert)
		}
		if test.fork.Result != nil && !strings.Contains(string(r.Output), "given") {
			t.Errorf("the result that was given got lost: %s", r.Output)
		}
	}
	made, _ := forked(t, l, joblog.Fork{Before: "b", Model: "large"})
	want := events.Request{ID: "fork", Labels: map[string]string{"team": "red", "forked_from": "job", "forked_at": fmt.Sprint(l.Job.View().Seq)}, Models: map[string]string{"planner": "small", "expert": "large"}}
	made.Request.Plan = nil
	musttest.Equal(t, want, made.Request)
	if r := l.Request().Request; r.Labels["forked_from"] != "" || r.Models["expert"] != "" {
		t.Errorf("the request of the job was changed: %v, %v", r.Labels, r.Models)
	}
}

func TestAForkThatDoesNotFitTheJobSaysWhy(t *testing.T) {
	l := chain(t)
	for _, test := range []struct {
		fork joblog.Fork
		code events.Code
	}{
		{joblog.Fork{Before: "nothing"}, events.CodeNotFound},
		{joblog.Fork{Before: events.PlanID}, events.CodeNotFound},
		{joblog.Fork{Model: "large"}, events.CodeMissing},
		{joblog.Fork{Result: json.RawMessage(`1`)}, events.CodeMissing},
		{joblog.Fork{Before: "b", Result: json.RawMessage(`1`), Prompt: "p"}, events.CodeInvalid},
	} {
		_, err := l.Fork(test.fork, noPayloads)
		var fault *events.Fault
		if !errors.As(err, &fault) || fault.Code != test.code {
			t.Errorf("%+v: %v", test.fork, err)
		}
	}
}

func TestAForkBeforeASubJobNeedsAGraph(t *testing.T) {
	l := chain(t)
	early, err := joblog.Fold(from(l.Events...), l.Events[0].Seq)
	if err != nil {
		t.Fatal(err)
	}
	_, err = early.Fork(joblog.Fork{ID: "fork", Before: "b"}, noPayloads)
	var fault *events.Fault
	if !errors.As(err, &fault) || fault.Code != events.CodeNotFound || fault.Message != fmt.Sprintf(`job job has no graph yet at sequence %d, so no SubJob "b"`, l.Events[0].Seq) {
		t.Error(err)
	}
	if made, err := early.Fork(joblog.Fork{ID: "fork"}, noPayloads); err != nil || made.Request.Plan != nil {
		t.Errorf("a fork that plans by itself: %v", err)
	}
}

// A job may have a limited number of labels. A fork keeps those of its job, and adds where it comes from as far as there is room.
func TestAForkOfAJobWithAllItsLabelsKeepsThem(t *testing.T) {
	for _, test := range []struct {
		labels   int
		from, at bool
	}{{events.MaxLabels - 2, true, true}, {events.MaxLabels - 1, true, false}, {events.MaxLabels, false, false}} {
		labels := map[string]string{}
		for i := range test.labels {
			labels[fmt.Sprint("l", i)] = "x"
		}
		l := played(t, jobtest.Script{Request: events.Request{Labels: labels}, Plan: &events.Plan{SubJobs: []events.SubJob{{ID: "a", Goal: "a", Expert: "e"}}}, Default: says}, "")
		made, _ := forked(t, l, joblog.Fork{})
		got := made.Request.Labels
		if _, from := got["forked_from"]; from != test.from {
			t.Errorf("%d labels: forked_from %t", test.labels, from)
		}
		if _, at := got["forked_at"]; at != test.at {
			t.Errorf("%d labels: forked_at %t", test.labels, at)
		}
		for key := range labels {
			if got[key] != "x" {
				t.Errorf("%d labels: %s is gone", test.labels, key)
			}
		}
		if faults := made.Request.Validate(); len(faults) > 0 {
			t.Errorf("%d labels: %v", test.labels, faults)
		}
	}
}

// A fork of a fork names the fork that it comes from, not the original job.
func TestAForkOfAForkWithAllItsLabelsSaysWhereItComesFrom(t *testing.T) {
	labels := map[string]string{"forked_from": "older", "forked_at": "1"}
	for i := range events.MaxLabels - 2 {
		labels[fmt.Sprint("l", i)] = "x"
	}
	l := played(t, jobtest.Script{Request: events.Request{Labels: labels}, Plan: &events.Plan{SubJobs: []events.SubJob{{ID: "a", Goal: "a", Expert: "e"}}}, Default: says}, "")
	made, _ := forked(t, l, joblog.Fork{})
	if r := made.Request; r.Labels["forked_from"] != "job" || r.Labels["forked_at"] != fmt.Sprint(made.At) || len(r.Labels) != events.MaxLabels {
		t.Errorf("%v", r.Labels)
	}
}

func TestAForkTakesAlongThePayloadsThatItNames(t *testing.T) {
	file, large := events.Ref{Digest: "file", Name: "a.txt"}, events.Ref{Digest: "large"}
	l := played(t, jobtest.Script{
		Request: events.Request{InputsRef: &events.Ref{Digest: "inputs"}, Attachments: []events.Ref{file}},
		Plan: &events.Plan{SubJobs: []events.SubJob{
			{ID: "a", Goal: "a", Expert: "e"}, {ID: "b", Goal: "b", Expert: "e", Dependencies: []string{"a"}, When: "a.go"},
		}},
		Default: func(w events.Work) events.SubJobReported {
			return events.SubJobReported{
				Outcome: events.Success, OutputRef: &large, Artifacts: []events.Ref{file}, DurationMS: 1000, Selected: map[string]json.RawMessage{"go": json.RawMessage(`true`)},
			}
		},
	}, "a")
	asked := ""
	made := musttest.Get(l.Fork(joblog.Fork{ID: "fork"}, func(ref events.Ref) ([]byte, error) {
		asked += ref.Digest
		return []byte(`{"go":true}`), nil
	}))(t)
	if want := []events.Ref{file, {Digest: "inputs"}}; cmp.Diff(want, made.Payloads) != "" || asked != "large" {
		t.Errorf("%v, and %q was read: a condition looks into the result of a, which is to stand in the plan", made.Payloads, asked)
	}
	if !strings.Contains(string(made.Request.Plan), `"execution_res":{"go":true}`) {
		t.Errorf("%s", made.Request.Plan)
	}
}
