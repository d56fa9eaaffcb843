package jobtest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/brief"
	"github.com/jobgraph/jobgraph/pkg/jobtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func sub(id, expert string, deps ...string) events.SubJob {
	return events.SubJob{ID: id, Goal: "do " + id, Expert: expert, Dependencies: deps}
}

func Example() {
	result, err := jobtest.Script{
		Request: events.Request{Goal: "greet"},
		Plan:    &events.Plan{SubJobs: []events.SubJob{sub("name", "asker"), sub("greet", "greeter", "name")}},
		Experts: map[string]jobtest.Expert{
			"asker": func(w events.Work) events.SubJobReported {
				if w.Attempt < 3 {
					return jobtest.Fail("nobody is in")
				}
				return jobtest.Succeed("world")
			},
			"greeter": func(w events.Work) events.SubJobReported {
				var name string
				if err := json.Unmarshal(w.Results["name"].Output, &name); err != nil {
					return jobtest.Complain("the name is no text")
				}
				return jobtest.Succeed("hello, " + name)
			},
		},
	}.Run()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.State.Status, string(result.Output))
	for _, r := range result.Runs {
		fmt.Println(r.SubJob, r.Run, r.Outcome)
	}
	// Output:
	// FINISHED "hello, world"
	// name 1 EXECUTION_ERROR
	// name 2 EXECUTION_ERROR
	// name 3 SUCCESS
	// greet 1 SUCCESS
}

func play(t *testing.T, s jobtest.Script) *jobtest.Result {
	t.Helper()
	s.Request.Goal = t.Name()
	return musttest.Get(s.Run())(t)
}

func TestTheSameScriptGivesTheSameEvents(t *testing.T) {
	script := func() jobtest.Script {
		calls := 0
		return jobtest.Script{
			Plan: &events.Plan{SubJobs: []events.SubJob{sub("a", "x"), sub("b", "x", "a"), sub("c", "x", "a"), sub("d", "x", "b", "c")}},
			Default: func(events.Work) events.SubJobReported {
				if calls++; calls%3 == 0 {
					return jobtest.Fail("again")
				}
				return jobtest.Succeed(calls)
			},
		}
	}
	first, second := play(t, script()), play(t, script())
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("(-first +second):\n%s", diff)
	}
	if first.State.Status != events.Finished {
		t.Errorf("job is %s", first.State.Status)
	}
}

func TestHoursOfBackOffPassAtOnce(t *testing.T) {
	rules := jobtest.DefaultRules()
	rules.RetryDelay, rules.RetryDelayMax = events.Duration(time.Hour), events.Duration(8*time.Hour)
	r := play(t, jobtest.Script{
		Rules: &rules, Plan: &events.Plan{SubJobs: []events.SubJob{sub("a", "x")}},
		Default: func(events.Work) events.SubJobReported { return jobtest.Fail("no") },
	})
	if r.State.Status != events.Failed || r.Elapsed < 3*time.Hour || len(r.Runs) != 4 {
		t.Errorf("%s after %s and %d runs", r.State.Status, r.Elapsed, len(r.Runs))
	}
}

func TestRunsOverlapInVirtualTime(t *testing.T) {
	r := play(t, jobtest.Script{
		Plan: &events.Plan{SubJobs: []events.SubJob{sub("a", "x"), sub("b", "x"), sub("c", "x", "a", "b")}},
		Default: func(events.Work) events.SubJobReported {
			return events.SubJobReported{Outcome: events.Success, DurationMS: 60_000}
		},
	})
	if r.State.Status != events.Finished || r.Elapsed < 2*time.Minute || r.Elapsed > 2*time.Minute+time.Second {
		t.Errorf("%s after %s", r.State.Status, r.Elapsed)
	}
}

func TestASplitIsPlannedByTheScript(t *testing.T) {
	r := play(t, jobtest.Script{
		Plan: &events.Plan{SubJobs: []events.SubJob{sub("a", "x"), sub("b", "y", "a")}},
		Planner: func(w events.Work) (*events.Plan, error) {
			if w.Kind != events.WorkSplit {
				return nil, errors.New("only splits")
			}
			return &events.Plan{SubJobs: []events.SubJob{sub("one", "x"), sub("two", "x", "one")}}, nil
		},
		Experts: map[string]jobtest.Expert{"x": func(events.Work) events.SubJobReported { return jobtest.Succeed(true) }, "y": func(events.Work) events.SubJobReported { return jobtest.TooComplicated("too much") }},
	})
	if r.State.Status != events.Finished {
		t.Fatalf("job is %s: %v", r.State.Status, r.State.Error)
	}
	var ran []string
	for _, run := range r.Runs {
		ran = append(ran, run.SubJob)
	}
	if !slices.Contains(ran, "b~2~two") {
		t.Errorf("ran %v", ran)
	}
}

func TestAStopFromOutsideEndsTheJobAndRecoverFinishesIt(t *testing.T) {
	r := play(t, jobtest.Script{
		Plan: &events.Plan{SubJobs: []events.SubJob{sub("a", "x"), sub("b", "x", "a")}},
		Default: func(events.Work) events.SubJobReported {
			return events.SubJobReported{Outcome: events.Success, DurationMS: 10_000}
		},
		Acts: []jobtest.Act{
			{At: 15 * time.Second, Kind: events.KindStopRequested, Data: &events.StopRequested{Reason: "lunch"}},
			{At: time.Hour, Kind: events.KindRecoverRequested, Data: &events.RecoverRequested{}},
		},
	})
	if r.State.Status != events.Finished || len(r.Runs) != 3 || r.Elapsed < time.Hour {
		t.Errorf("%s after %d runs and %s", r.State.Status, len(r.Runs), r.Elapsed)
	}
}

func TestAScriptWithoutItsExpertSaysSo(t *testing.T) {
	_, err := jobtest.Script{Plan: &events.Plan{SubJobs: []events.SubJob{sub("a", "x")}}}.Run()
	if !errors.Is(err, jobtest.ErrNobody) {
		t.Errorf("got %v", err)
	}
}

func TestAGoalWithoutPlannerFailsWithItsReason(t *testing.T) {
	r := play(t, jobtest.Script{})
	if r.State.Status != events.Failed || r.State.Error == nil {
		t.Errorf("%s: %v", r.State.Status, r.State.Error)
	}
}

func TestExpertsOfAScriptAreToldWhatTheJobIsAbout(t *testing.T) {
	told := map[string]*brief.Brief{}
	hears := func(w events.Work) events.SubJobReported {
		b, err := brief.Read(w.Brief, nil)
		if err != nil {
			return jobtest.Fail(err.Error())
		}
		told[w.SubJob] = b
		return jobtest.Succeed(true)
	}
	play(t, jobtest.Script{
		Request: events.Request{User: "ann"}, Plan: &events.Plan{SubJobs: []events.SubJob{sub("a", "x"), sub("b", "x", "a")}}, Experts: map[string]jobtest.Expert{"x": hears},
	})
	b := told["b"]
	if b == nil || b.Request.Goal != t.Name() || b.User != "ann" || b.Place.N != 2 || b.Place.Of != 2 || b.Predecessors[0] != (brief.Step{ID: "a", Title: "do a", Status: brief.Completed}) {
		t.Errorf("%+v", b)
	}
}
