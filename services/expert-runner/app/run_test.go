package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/expert-runner/app"
)

func echo(_ context.Context, t *app.Task) (events.SubJobReported, error) {
	out, err := json.Marshal(map[string]any{"goal": t.Work.Goal, "results": t.Work.Results})
	return events.SubJobReported{Output: out}, err
}

func TestWorkIsClaimedJournaledReportedAndAcknowledged(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		start(w, app.Settings{}, app.Deps{Owner: "one", Functions: []app.Function{function("echo", false, echo)}})
		o := work("echo", "j1", "a", 1)
		w.Issue(o)
		got := w.Report(o)
		w.Idle()
		if got.Outcome != events.Success || got.Owner != "one" || got.Started.IsZero() || !strings.Contains(string(got.Output), "do it") {
			t.Errorf("report: %+v", got)
		}
		want := []events.JournalType{events.JournalClaimed, events.JournalReported}
		musttest.Equal(t, want, w.Journal("j1", "a"))
		if n := len(w.Facts("j1", events.KindSubJobStarted)); n != 0 {
			t.Errorf("%d subjob.started for work that took no time", n)
		}
	})
}

func TestPureExpertsNeedNoJournal(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		start(w, app.Settings{}, app.Deps{Functions: []app.Function{function("echo", true, echo)}})
		o := work("echo", "j1", "a", 1)
		w.Issue(o)
		w.Report(o)
		w.Idle()
		if got := w.Journal("j1", "a"); len(got) != 0 {
			t.Errorf("journal of a pure expert: %v", got)
		}
	})
}

// proves C-weakness-9-cost
func TestWorkThatLastsIsToldAndKeepsItsClaim(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		slow := func(ctx context.Context, _ *app.Task) (events.SubJobReported, error) {
			select {
			case <-time.After(2 * time.Minute):
				return events.SubJobReported{}, nil
			case <-ctx.Done():
				return events.SubJobReported{}, ctx.Err()
			}
		}
		start(w, app.Settings{}, app.Deps{Owner: "one", Functions: []app.Function{function("slow", false, slow)}})
		start(w, app.Settings{}, app.Deps{Owner: "two", Functions: []app.Function{function("slow", false, slow)}})
		o := work("slow", "j1", "a", 1)
		w.Issue(o)
		got := w.Report(o)
		w.Idle()
		if got.Outcome != events.Success || got.DurationMS != 120_000 {
			t.Errorf("report: %+v", got)
		}
		if n := len(w.Facts("j1", events.KindSubJobStarted)); n != 1 {
			t.Errorf("%d subjob.started, want 1", n)
		}
		claims := 0
		for _, typ := range w.Journal("j1", "a") {
			if typ == events.JournalClaimed {
				claims++
			}
		}
		if claims != 1 {
			t.Errorf("%d claims, want 1", claims)
		}
	})
}

// Every milestone that an expert publishes is in the log, in order, also if a second runner continues the run.
//
// proves C-weakness-9-live
func TestEveryMilestoneOfARunIsTold(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		dead := make(chan struct{})
		hook := func(string, string) error {
			select {
			case <-dead:
				return errKilled
			default:
				return nil
			}
		}
		told := make(chan struct{}, 2)
		builder := func(ctx context.Context, t *app.Task) (events.SubJobReported, error) {
			for _, message := range []string{"the walls", "the roof"} {
				t.Hand.Progress(events.SubJobProgressed{Message: t.Owner + " has built " + message})
			}
			told <- struct{}{}
			if t.Owner == "one" {
				<-ctx.Done()
			}
			return events.SubJobReported{}, ctx.Err()
		}
		first := start(w, app.Settings{}, app.Deps{Owner: "one", Hook: hook, Functions: []app.Function{function("builder", false, builder)}})
		o := work("builder", "j1", "a", 1)
		state(w, o, true)
		w.Issue(o)
		servicetest.Next(w, told)
		w.Until("both are told", func() bool { return len(w.Facts("j1", events.KindSubJobProgressed)) >= 2 })
		close(dead)
		first.Kill()
		start(w, app.Settings{}, app.Deps{Owner: "two", Functions: []app.Function{function("builder", false, builder)}})
		w.Report(o)
		w.Idle()
		var got []string
		for _, e := range w.Facts("j1", events.KindSubJobProgressed) {
			got = append(got, e.Data.(*events.SubJobProgressed).Message)
		}
		want := []string{"one has built the walls", "one has built the roof", "two has built the walls", "two has built the roof"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("milestones (-want +got):\n%s", diff)
		}
	})
}

// proves C-weakness-7-expert
// proves F-weakness-issue-2819
// proves F-weakness-v1-error
func TestFailuresBecomeReports(t *testing.T) {
	tests := map[string]struct {
		run     app.Func
		outcome events.Outcome
		code    events.Code
	}{
		"an error": {func(context.Context, *app.Task) (events.SubJobReported, error) {
			return events.SubJobReported{}, errors.New("no")
		}, events.ExecutionError, events.CodeExecution},
		"a fault": {func(context.Context, *app.Task) (events.SubJobReported, error) {
			return events.SubJobReported{}, &events.Fault{Code: events.CodeBudget, Message: "no money"}
		}, events.ExecutionError, events.CodeBudget},
		"a panic": {func(context.Context, *app.Task) (events.SubJobReported, error) {
			panic("ouch")
		}, events.ExecutionError, events.CodeInternal},
		"an unknown outcome": {func(context.Context, *app.Task) (events.SubJobReported, error) {
			return events.SubJobReported{Outcome: "MAYBE"}, nil
		}, events.ExecutionError, events.CodeMalformed},
		"an output that is no JSON": {func(context.Context, *app.Task) (events.SubJobReported, error) {
			return events.SubJobReported{Output: json.RawMessage("{")}, nil
		}, events.ExecutionError, events.CodeTooLarge},
		"a timeout": {func(ctx context.Context, _ *app.Task) (events.SubJobReported, error) {
			<-ctx.Done()
			return events.SubJobReported{}, ctx.Err()
		}, events.ExecutionError, events.CodeTimeout},
		"an input data error": {func(context.Context, *app.Task) (events.SubJobReported, error) {
			return events.SubJobReported{Outcome: events.InputDataError, Lesson: "no rows"}, nil
		}, events.InputDataError, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
				start(w, app.Settings{}, app.Deps{Functions: []app.Function{function("x", false, test.run)}})
				o := work("x", "j1", "a", 1)
				timeout := events.Duration(time.Second)
				o.Spec.Timeout = &timeout
				w.Issue(o)
				got := w.Report(o)
				w.Idle()
				code := events.Code("")
				if got.Error != nil {
					code = got.Error.Code
				}
				if got.Outcome != test.outcome || code != test.code {
					t.Errorf("outcome %s code %q, want %s %q", got.Outcome, code, test.outcome, test.code)
				}
			})
		})
	}
}

// proves O-weakness-7-run
func TestLargePayloadsTravelByReference(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		big := strings.Repeat("x", 100_000)
		first := func(context.Context, *app.Task) (events.SubJobReported, error) {
			return events.SubJobReported{Output: json.RawMessage(`{"n":{"files":[7]},"text":"` + big + `"}`)}, nil
		}
		second := func(_ context.Context, t *app.Task) (events.SubJobReported, error) {
			var in struct{ Text string }
			if err := json.Unmarshal(t.Work.Results["a"].Output, &in); err != nil {
				return events.SubJobReported{}, err
			}
			return events.SubJobReported{Output: json.RawMessage(map[bool]string{true: "true", false: "false"}[in.Text == big])}, nil
		}
		start(w, app.Settings{}, app.Deps{Functions: []app.Function{function("first", false, first), function("second", false, second)}})
		o := work("first", "j1", "a", 1)
		o.Select = []string{"n.files.0", "nothing"}
		w.Issue(o)
		got := w.Report(o)
		if got.OutputRef == nil || got.Output != nil || string(got.Selected["n.files.0"]) != "7" || len(got.Selected) != 1 {
			t.Fatalf("report: ref %v, selected %s", got.OutputRef, got.Selected)
		}
		next := work("second", "j1", "b", 1)
		next.Results = map[string]events.Result{"a": {OutputRef: got.OutputRef, Run: 1}}
		w.Issue(next)
		if got := w.Report(next); string(got.Output) != "true" {
			t.Errorf("second report: %+v", got)
		}
		raw := musttest.JSON(t, next.Results)
		ref, err := w.Bus.Blobs().Put(t.Context(), "j1", raw) // The results of many predecessors, in one blob.
		if err != nil {
			t.Fatal(err)
		}
		many := work("second", "j1", "d", 1)
		many.ResultsRef = &ref
		w.Issue(many)
		if got := w.Report(many); string(got.Output) != "true" {
			t.Errorf("report with results by reference: %+v", got)
		}
		gone := work("second", "j1", "c", 1)
		gone.Results = map[string]events.Result{"a": {OutputRef: &events.Ref{Digest: strings.Repeat("0", 64), Size: 5}}}
		w.Issue(gone)
		if got := w.Report(gone); got.Error == nil || got.Error.Code != events.CodeMissingBlob {
			t.Errorf("missing blob: %+v", got)
		}
		w.Idle()
	})
}

func TestBadWorkIsPutAsideAndTheRestGoesOn(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		start(w, app.Settings{}, app.Deps{Functions: []app.Function{function("echo", false, echo)}})
		for i, body := range []string{"", "{", `{"job":"other"}`, `{"run":"x"}`, `{"kind":"plan"}`, `[]`, "\x00\xff"} {
			w.Publish(w.Names.WorkFor("default", "echo", "j1", "a", i+1), []byte(body))
		}
		w.Publish("jobs.work.default.echo.j1", []byte("{}"))
		w.Publish("jobs.work.default.echo.j1.a.007", []byte("{}"))
		o := work("echo", "j2", "a", 1)
		w.Issue(o)
		w.Report(o)
		w.Idle()
	})
}

// proves C-weakness-10-routing
func TestWorkForAnUnknownExpertGoesToTheRunnerThatHasIt(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		start(w, app.Settings{}, app.Deps{Owner: "one", Functions: []app.Function{function("echo", false, echo)}})
		o := work("late", "j1", "a", 1)
		state(w, o, true)
		w.Issue(o)
		w.Until("it was handed back", func() bool {
			facts, err := w.Bus.Queues().Info(w.Context(), w.Names.Work, "pool-default")
			return err == nil && facts.Redelivered > 0
		})
		start(w, app.Settings{}, app.Deps{Owner: "two", Functions: []app.Function{function("late", false, echo)}})
		if got := w.Report(o); got.Owner != "two" {
			t.Errorf("reported by %s", got.Owner)
		}
		w.Idle()
	})
}

func TestARedeliveryOfAClosedJobIsDropped(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		var calls atomic.Int32
		count := func(context.Context, *app.Task) (events.SubJobReported, error) {
			calls.Add(1)
			return events.SubJobReported{}, nil
		}
		gone, over := work("count", "gone", "a", 1), work("count", "over", "a", 1)
		w.Issue(gone)
		w.Issue(over)
		state(w, over, false)
		<-time.After(3 * time.Minute) // The work is older than the broker's deduplication window.
		start(w, app.Settings{}, app.Deps{Functions: []app.Function{function("count", true, count)}})
		w.Idle()
		if n := calls.Load(); n != 0 {
			t.Errorf("executed %d times", n)
		}
	})
}
