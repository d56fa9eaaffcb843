package cli

import (
	"encoding/json"
	"iter"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/cmd/internal/history"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/jobtest"
	planner "github.com/jobgraph/jobgraph/services/planner/app"
)

// played runs a script to its end and folds its log until behind the last report of a SubJob, "" for all of it.
func played(t *testing.T, s jobtest.Script, until string) *history.History {
	t.Helper()
	r, err := s.Run()
	if err != nil || r.State.Status != events.Finished {
		t.Fatal(r.State.Status, r.State.Error, err)
	}
	var seq uint64
	for _, e := range r.Events {
		if until != "" && e.Kind == events.KindSubJobReported && e.SubJob == until {
			seq = e.Seq
		}
	}
	h, err := history.Fold(logOf(r.Events), seq)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func logOf(list []events.Event) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		for _, e := range list {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// ran plays the fork of a job; it gives the SubJobs that were run in it.
func ran(t *testing.T, h *history.History, experts jobtest.Expert) (string, *jobtest.Result) {
	t.Helper()
	f := forker{history: h, from: "job", to: "fork"}
	p := f.plan(t.Context(), h.Job.View())
	if f.err != nil {
		t.Fatal(f.err)
	}
	r, err := jobtest.Script{Plan: p, Default: experts}.Run()
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

// branching is a job whose x is split, with a condition within the split and one behind it.
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
		if got, _ := ran(t, played(t, test.script, test.until), goes); got != test.want {
			t.Errorf("after %s: %q was run, want %q", test.until, got, test.want)
		}
	}
}

func TestAConditionOverSeveralThatHaveNotFinishedIsNotForked(t *testing.T) {
	h := played(t, branching("", "x.go", "q", "r"), "x~2~p")
	f := forker{history: h, from: "job", to: "fork"}
	f.plan(t.Context(), h.Job.View())
	if f.err == nil || !strings.Contains(f.err.Error(), "several that x was split into") {
		t.Error(f.err)
	}
}

func TestAForkDoesNothingAgainThatHadNoOutput(t *testing.T) {
	experts := func(w events.Work) events.SubJobReported {
		switch w.SubJob {
		case "pay":
			return events.SubJobReported{Outcome: events.Success} // A program that prints nothing.
		case "look":
			return jobtest.Succeed(nil)
		}
		return jobtest.Succeed("done")
	}
	h := played(t, jobtest.Script{Default: experts, Plan: &events.Plan{SubJobs: []events.SubJob{
		{ID: "look", Goal: "look", Expert: "e"},
		{ID: "pay", Goal: "pay", Expert: "e", Dependencies: []string{"look"}},
		{ID: "alarm", Goal: "alarm", Expert: "e", Dependencies: []string{"look"}, When: "look.bad"},
	}}}, "")
	f := forker{history: h, from: "job", to: "fork"}
	text, err := json.Marshal(f.plan(t.Context(), h.Job.View()))
	if err != nil || f.err != nil {
		t.Fatal(err, f.err)
	}
	p, faults, _ := planner.Check(text, []events.Card{{ID: "e", Name: "e"}}, 0)
	if p == nil {
		t.Fatal(faults)
	}
	for i := range p.SubJobs {
		if s := &p.SubJobs[i]; !s.Done() {
			t.Errorf("%s is to be done again", s.ID)
		}
	}
}
