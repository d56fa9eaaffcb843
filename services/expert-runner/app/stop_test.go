package app_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/expert-runner/app"
)

// endless ends only with its context, and reports when it began.
func endless(began chan<- string) app.Func {
	return func(ctx context.Context, t *app.Task) (events.SubJobReported, error) {
		began <- t.Work.SubJob
		<-ctx.Done()
		return events.SubJobReported{}, ctx.Err()
	}
}

// Workers are notified of the end of a job before their runs are closed in the journals: a cancelled run writes nothing
// there.
//
// proves C-weakness-4-late
func TestACancelledRunReportsAtOnceAndJournalsNothing(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		began := make(chan string, 3)
		start(w, app.Settings{}, app.Deps{Functions: []app.Function{function("endless", false, endless(began)), function("pure", true, endless(began))}})
		a, b, c := work("endless", "j1", "a", 1), work("pure", "j1", "b", 1), work("endless", "j1", "c", 1)
		w.Issue(a)
		w.Issue(b)
		w.Issue(c)
		for range 3 {
			servicetest.Next(w, began)
		}
		w.Fence(a, "stop")
		at := time.Now()
		body := musttest.JSON(t, map[string]any{"reason": "enough"})
		musttest.Do(t, w.Bus.PublishCore(w.Names.Cancel("j1", ""), nil, body))
		for _, o := range []events.Work{a, b, c} {
			got := w.Report(o)
			if got.Error == nil || got.Error.Code != events.CodeCancelled || got.Error.Cause != "enough" {
				t.Errorf("report: %+v", got)
			}
		}
		w.Idle()
		if took := time.Since(at); took > time.Second {
			t.Errorf("cancelling took %s", took)
		}
		if got := w.Journal("j1", "a"); got[len(got)-1] != events.JournalClosed {
			t.Errorf("journal goes on after it was closed: %v", got)
		}
		if diff := cmp.Diff([]events.JournalType{events.JournalClaimed}, w.Journal("j1", "c")); diff != "" {
			t.Errorf("journal of a run that is not closed yet (-want +got):\n%s", diff)
		}
	})
}

// A stop that arrives when a step is done does not lose its result: it is reported, and the core stores it as late. It is
// not journaled, so that it is not mistaken for the output of a valid run.
//
// proves C-weakness-4-late
func TestAResultThatAStopMeetsIsReported(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		began := make(chan string, 1)
		deaf := func(ctx context.Context, t *app.Task) (events.SubJobReported, error) {
			began <- t.Work.SubJob
			<-ctx.Done() // It is finished at this very moment.
			return events.SubJobReported{Output: json.RawMessage(`"paid"`), Spent: events.Spent{Tokens: 7}}, nil
		}
		start(w, app.Settings{}, app.Deps{Functions: []app.Function{function("deaf", false, deaf)}})
		o := work("deaf", "j1", "a", 1)
		w.Issue(o)
		servicetest.Next(w, began)
		musttest.Do(t, w.Bus.PublishCore(w.Names.Cancel("j1", ""), nil, []byte(`{"reason":"enough"}`)))
		got := w.Report(o)
		w.Idle()
		if got.Outcome != events.Success || string(got.Output) != `"paid"` || got.Tokens != 7 {
			t.Errorf("report: %+v, error %+v", got, got.Error)
		}
		if diff := cmp.Diff([]events.JournalType{events.JournalClaimed}, w.Journal("j1", "a")); diff != "" {
			t.Errorf("journal (-want +got):\n%s", diff)
		}
	})
}

// underWay issues a run that does not end, and waits until it has begun.
func underWay(w *servicetest.Env, run int) events.Work {
	began := make(chan string, 1)
	start(w, app.Settings{}, app.Deps{Functions: []app.Function{function("endless", false, endless(began))}})
	o := work("endless", "j1", "a", run)
	w.Issue(o)
	<-began
	return o
}

func TestACancelOfAnotherRunChangesNothing(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		underWay(w, 2)
		for _, c := range []struct{ subject, body string }{
			{w.Names.Cancel("j1", "a"), `{"run":1}`}, {w.Names.Cancel("j1", "b"), `{}`}, {w.Names.Cancel("j2", ""), `{}`},
		} {
			musttest.Do(t, w.Bus.PublishCore(c.subject, nil, []byte(c.body)))
		}
		<-time.After(time.Minute)
		if n := len(w.Facts("j1", events.KindSubJobReported)); n != 0 {
			t.Error("the run was ended")
		}
	})
}

func TestARunnerThatMissedTheCancelSeesItAtItsNextRenewal(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		o := underWay(w, 1)
		w.Fence(o, "stop")
		if got := w.Report(o); got.Error == nil || got.Error.Code != events.CodeCancelled || got.DurationMS > 15_000 {
			t.Errorf("report: %+v", got)
		}
		w.Idle()
	})
}

// proves V-weakness-13
func TestAClosedRunCannotBeClaimed(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		began := make(chan string, 1)
		o := work("brief", "j1", "a", 1)
		w.Fence(o, "stop")
		w.Issue(o)
		start(w, app.Settings{}, app.Deps{Functions: []app.Function{function("brief", false, func(_ context.Context, t *app.Task) (events.SubJobReported, error) {
			began <- t.Work.SubJob
			return events.SubJobReported{}, nil
		})}})
		w.Idle()
		if len(began) != 0 || len(w.Facts("j1", events.KindSubJobReported)) != 0 {
			t.Error("the run was executed")
		}
	})
}

// proves F-weakness-issue-2553
func TestAFencedRunnerSaysNothing(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		o := underWay(w, 1)
		j := w.Bus.Journal("j1", "a")
		_, last, err := j.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		musttest.Get(j.Append(t.Context(), events.JournalRecord{Type: events.JournalClaimed, Run: 1, Owner: "other", Lease: o.Lease}, last))(t)
		<-time.After(20 * time.Second)
		if n := len(w.Facts("j1", events.KindSubJobReported)); n != 0 {
			t.Error("a fenced runner reported")
		}
	})
}

func TestARunGoesOnWhileItsClaimCannotBeRenewed(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		began, finish, ended := make(chan string, 1), make(chan struct{}), make(chan error, 1)
		watched := func(ctx context.Context, t *app.Task) (events.SubJobReported, error) {
			began <- t.Work.SubJob
			select {
			case <-ctx.Done():
			case <-finish:
			}
			ended <- context.Cause(ctx)
			return events.SubJobReported{}, nil
		}
		start(w, app.Settings{}, app.Deps{Functions: []app.Function{function("watched", false, watched)}})
		o := work("watched", "j1", "a", 1)
		w.Issue(o)
		<-began
		w.Server.Stop()
		<-time.After(4 * o.Lease.Std())
		select {
		case err := <-ended:
			t.Errorf("it was ended: %v", err)
		default:
			close(finish)
			if err := <-ended; err != nil {
				t.Errorf("it was ended: %v", err)
			}
		}
	})
}

func TestDrainFinishesWhatIsInHandAndTakesNothingNew(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		began, finish := make(chan string, 2), make(chan struct{})
		f := func(_ context.Context, t *app.Task) (events.SubJobReported, error) {
			began <- t.Work.SubJob
			<-finish
			return events.SubJobReported{}, nil
		}
		r := start(w, app.Settings{}, app.Deps{Functions: []app.Function{function("f", false, f)}})
		a, b := work("f", "j1", "a", 1), work("f", "j1", "b", 1)
		w.Issue(a)
		<-began
		r.Drain()
		<-time.After(time.Second)
		w.Issue(b)
		<-time.After(time.Second)
		close(finish)
		if err := r.Stop(); err != nil {
			t.Error(err)
		}
		w.Report(a)
		if len(began) != 0 {
			t.Error("work was taken after the drain began")
		}
	})
}

func TestTheEndOfTheDrainTimeHandsWorkBack(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		began := make(chan string, 2)
		r := start(w, app.Settings{}, app.Deps{Owner: "one", Functions: []app.Function{function("f", false, endless(began))}})
		o := work("f", "j1", "a", 1)
		state(w, o, true)
		w.Issue(o)
		<-began
		r.Kill()
		at := time.Now()
		start(w, app.Settings{}, app.Deps{Owner: "two", Functions: []app.Function{function("f", false, endless(began))}})
		<-began
		if took := time.Since(at); took > 5*time.Second {
			t.Errorf("taken over after %s, though the claim was released", took)
		}
	})
}

// A card exists as long as its runner lives. A plan that is checked while the only runner of an expert restarts finds the
// expert; if the runner stays away, the card expires.
//
// proves C-weakness-issue-40
func TestTheCardOfADrainedRunnerStaysUntilItsTimeIsOver(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		cards := func() int {
			return len(musttest.Get(w.Bus.Experts().Keys(t.Context()))(t))
		}
		none := func(context.Context, *app.Task) (events.SubJobReported, error) { return events.SubJobReported{}, nil }
		r := start(w, app.Settings{}, app.Deps{Functions: []app.Function{function("f", false, none)}})
		<-time.After(2*time.Minute + 9*time.Second) // It is about to be announced again.
		if cards() != 1 {
			t.Error("the expert is forgotten while its runner lives")
		}
		if err := r.Stop(); err != nil {
			t.Error(err)
		}
		<-time.After(28 * time.Second)
		if cards() != 1 {
			t.Error("the expert is forgotten while its runner may be on its way back")
		}
		<-time.After(5 * time.Second)
		if cards() != 0 {
			t.Error("the expert of a runner that stayed away is still known")
		}
	})
}

// The cost of an agent's finished calls is reported, however the run ends.
func TestARunThatIsCutOffTellsWhatItHasSpent(t *testing.T) {
	for _, ending := range []events.Code{events.CodeCancelled, events.CodeTimeout} {
		t.Run(string(ending), func(t *testing.T) {
			servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
				began := make(chan struct{}, 1)
				stop := musttest.Get(w.Bus.SubscribeCore("tools.wait", func(string, []byte) { began <- struct{}{} }))(t)
				defer stop()
				path := musttest.Temp(t, "jobgraph.yaml", "version: 1\ntools:\n  wait: {subject: tools.wait, idempotent: true}\n")
				cost := 0.25
				model := llmtest.New(llmtest.Func(func(llmtest.Question) (llmtest.Answer, error) {
					usage := &llmtest.Usage{Prompt: 10, Completion: 5, CostUSD: &cost}
					return llmtest.Answer{Usage: usage, Calls: []llmtest.Call{{Name: "wait", Args: `{}`}}}, nil
				}))
				w.Config = path
				start(w, agents(t, card(t, "tools: [wait]\ntimeout: 10s\n")), app.Deps{Doer: model})
				o := work("agent", "j1", "a", 1)
				w.Issue(o)
				<-began
				if ending == events.CodeCancelled {
					musttest.Do(t, w.Bus.PublishCore(w.Names.Cancel("j1", ""), nil, []byte(`{"reason":"enough"}`)))
				}
				got := w.Report(o)
				w.Idle()
				if got.Error == nil || got.Error.Code != ending || got.Tokens != 15 || got.CostUSD != 0.25 {
					t.Errorf("report: %+v, error %+v", got, got.Error)
				}
			})
		})
	}
}
