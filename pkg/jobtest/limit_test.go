package jobtest_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/jobtest"
)

func TestAComplaintRunsThePredecessorAgainWithItsLesson(t *testing.T) {
	var lessons []string
	r := play(t, jobtest.Script{
		Request: events.Request{Goal: "add"},
		Plan:    &events.Plan{SubJobs: []events.SubJob{sub("read", "reader"), sub("sum", "adder", "read")}},
		Experts: map[string]jobtest.Expert{
			"reader": func(w events.Work) events.SubJobReported {
				lessons = append(lessons, w.Lessons...)
				return jobtest.Succeed(w.Run)
			},
			"adder": func(w events.Work) events.SubJobReported {
				if w.Results["read"].Run == 1 {
					return jobtest.Complain("the first line is missing")
				}
				return jobtest.Succeed("sum")
			},
		},
	})
	if r.State.Status != events.Finished || string(r.Output) != `"sum"` {
		t.Errorf("%s with %s", r.State.Status, r.Output)
	}
	if diff := cmp.Diff([]string{"the first line is missing"}, lessons); diff != "" {
		t.Errorf("lessons (-want +got):\n%s", diff)
	}
}

func TestTheScriptsRulesLimitItsRetries(t *testing.T) {
	rules := jobtest.DefaultRules()
	rules.Retries = 1
	r := play(t, jobtest.Script{
		Request: events.Request{Goal: "try"}, Plan: &events.Plan{SubJobs: []events.SubJob{sub("a", "x")}}, Rules: &rules,
		Default: func(events.Work) events.SubJobReported { return jobtest.Fail("no") },
	})
	if r.State.Status != events.Failed || len(r.Runs) != 2 {
		t.Errorf("%s after %d runs", r.State.Status, len(r.Runs))
	}
}

func TestADeadlineEndsTheJobAtItsTime(t *testing.T) {
	rules := jobtest.DefaultRules()
	rules.Deadline = events.Duration(time.Hour)
	r := play(t, jobtest.Script{
		Request: events.Request{Goal: "wait"}, Plan: &events.Plan{SubJobs: []events.SubJob{sub("a", "x")}}, Rules: &rules,
		Default: func(events.Work) events.SubJobReported {
			report := jobtest.Succeed(true)
			report.DurationMS = (24 * time.Hour).Milliseconds()
			return report
		},
	})
	if r.State.Status != events.Failed || r.State.Ended.Sub(r.State.Created).Round(time.Minute) != time.Hour {
		t.Errorf("%s after %s", r.State.Status, r.State.Ended.Sub(r.State.Created))
	}
}

func TestAScriptThatIsCutOffSaysSo(t *testing.T) {
	_, err := jobtest.Script{
		Request: events.Request{Goal: "try"}, Plan: &events.Plan{SubJobs: []events.SubJob{sub("a", "x")}}, MaxEvents: 3,
		Default: func(events.Work) events.SubJobReported { return jobtest.Fail("no") },
	}.Run()
	if !errors.Is(err, jobtest.ErrEndless) {
		t.Errorf("got %v", err)
	}
}
