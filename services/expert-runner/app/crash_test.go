package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/expert-runner/app"
)

var errKilled = errors.New("killed")

// crashAt kills a runner the first time that it comes to a point.
func crashAt(point string) (hook func(string, string) error, crashed chan struct{}) {
	crashed = make(chan struct{})
	var once sync.Once
	return func(p, _ string) (err error) {
		if p == point {
			err = errKilled
			once.Do(func() { close(crashed) })
		}
		return err
	}, crashed
}

// twoCalls is an expert that makes two journaled effects and counts how often each is really made.
func twoCalls(calls *[2]atomic.Int32) app.Func {
	return func(ctx context.Context, t *app.Task) (events.SubJobReported, error) {
		var sum int
		for i := range calls {
			out, err := t.Hand.Do(ctx, app.Effect{Key: fmt.Sprint("call", i), Name: "http", Safe: true}, func(context.Context) (json.RawMessage, error) {
				calls[i].Add(1)
				return json.Marshal(i + 1)
			})
			if err != nil {
				return events.SubJobReported{}, err
			}
			var n int
			if err := json.Unmarshal(out, &n); err != nil {
				return events.SubJobReported{}, err
			}
			sum += n
		}
		out, err := json.Marshal(sum)
		return events.SubJobReported{Output: out}, err
	}
}

// proves O-weakness-8-run
func TestACrashAtAnyPointRepeatsNoFinishedCall(t *testing.T) {
	// At this point the call has been announced and not yet made: whether it was cannot be known.
	inDoubt := map[string]bool{"effect": true}
	for _, point := range app.Points() {
		t.Run(point, func(t *testing.T) {
			servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
				var calls [2]atomic.Int32
				hook, crashed := crashAt(point)
				first := start(w, app.Settings{}, app.Deps{Owner: "one", Hook: hook, Functions: []app.Function{function("x", false, twoCalls(&calls))}})
				o := work("x", "j1", "a", 1)
				state(w, o, true)
				w.Issue(o)
				<-crashed
				first.Kill()
				start(w, app.Settings{}, app.Deps{Owner: "two", Functions: []app.Function{function("x", false, twoCalls(&calls))}})
				got := w.Report(o)
				w.Idle()
				if got.Outcome != events.Success || string(got.Output) != "3" {
					t.Errorf("report: %+v", got)
				}
				for i := range calls {
					if n := calls[i].Load(); n != 1 && !inDoubt[point] {
						t.Errorf("call %d was made %d times", i, n)
					}
				}
				if n := len(w.Facts("j1", events.KindSubJobReported)); n != 1 {
					t.Errorf("%d reports", n)
				}
			})
		})
	}
}

func TestAnUnsafeEffectInDoubtWaitsForAPerson(t *testing.T) {
	answers := map[string]struct {
		answer string
		calls  int32
		output string
	}{
		"retry":   {`"retry"`, 1, `"sent"`},
		"success": {`{"choice":"success","output":"by hand"}`, 0, `"by hand"`},
		"fail":    {`"fail"`, 0, ""},
	}
	for name, test := range answers {
		t.Run(name, func(t *testing.T) {
			servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
				var calls atomic.Int32
				mail := func(ctx context.Context, t *app.Task) (events.SubJobReported, error) {
					out, err := t.Hand.Do(ctx, app.Effect{Key: "mail", Name: "smtp"}, func(context.Context) (json.RawMessage, error) {
						calls.Add(1)
						return json.RawMessage(`"sent"`), nil
					})
					return events.SubJobReported{Output: out}, err
				}
				hook, crashed := crashAt("effect")
				first := start(w, app.Settings{}, app.Deps{Owner: "one", Hook: hook, Functions: []app.Function{function("mail", false, mail)}})
				o := work("mail", "j1", "a", 1)
				state(w, o, true)
				w.Issue(o)
				<-crashed
				first.Kill()
				start(w, app.Settings{}, app.Deps{Owner: "two", Functions: []app.Function{function("mail", false, mail)}})
				w.Idle()
				asked := w.Facts("j1", events.KindInputRequested)
				if len(asked) != 1 || len(w.Facts("j1", events.KindSubJobReported)) != 0 {
					t.Fatalf("asked %d times", len(asked))
				}
				request := asked[0].Data.(*events.InputRequested)
				if request.Kind != events.InputUnknown || request.Request != "a~1~unknown" || !strings.Contains(request.Prompt, "smtp mail") {
					t.Errorf("request: %+v", request)
				}
				next := work("mail", "j1", "a", 2)
				next.ResumeOf = 1
				next.Answers = map[string]events.InputClosed{request.Request: {Action: events.Answered, Answer: json.RawMessage(test.answer)}}
				w.Issue(next)
				got := w.Report(next)
				if string(got.Output) != test.output || (got.Outcome == events.Success) != (test.output != "") {
					t.Errorf("report: %+v", got)
				}
				if n := calls.Load(); n != test.calls {
					t.Errorf("%d calls, want %d", n, test.calls)
				}
			})
		})
	}
}

func TestAParkedRunComesBackWithItsAnswerAndItsEffects(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		var calls atomic.Int32
		ask := func(ctx context.Context, t *app.Task) (events.SubJobReported, error) {
			_, err := t.Hand.Do(ctx, app.Effect{Key: "look", Name: "http"}, func(context.Context) (json.RawMessage, error) {
				calls.Add(1)
				return json.RawMessage("1"), nil
			})
			if err != nil {
				return events.SubJobReported{}, err
			}
			if answer, ok := t.Work.Answers["which"]; ok {
				return events.SubJobReported{Output: answer.Answer}, nil
			}
			return events.SubJobReported{}, &app.Park{Input: events.InputRequested{Request: "which", Kind: events.InputClarification, Prompt: "Which?"}}
		}
		start(w, app.Settings{}, app.Deps{Functions: []app.Function{function("ask", false, ask)}})
		w.Issue(work("ask", "j1", "a", 1))
		w.Idle()
		if n := len(w.Facts("j1", events.KindInputRequested)); n != 1 {
			t.Fatalf("asked %d times", n)
		}
		next := work("ask", "j1", "a", 2)
		next.ResumeOf = 1
		next.Answers = map[string]events.InputClosed{"which": {Action: events.Answered, Answer: json.RawMessage(`"that"`)}}
		w.Issue(next)
		if got := w.Report(next); string(got.Output) != `"that"` {
			t.Errorf("report: %+v", got)
		}
		if n := calls.Load(); n != 1 {
			t.Errorf("the effect was made %d times", n)
		}
		w.Idle() // The record of the report is awaited separately from the report.
		want := []events.JournalType{"claimed", "intent", "result", "reported", "claimed", "reported"}
		musttest.Equal(t, want, w.Journal("j1", "a"))
	})
}

func TestADeadOwnerIsTakenOverOnlyAfterItsLease(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		hook, crashed := crashAt("claimed")
		first := start(w, app.Settings{}, app.Deps{Owner: "one", Hook: hook, Functions: []app.Function{function("x", false, echo)}})
		o := work("x", "j1", "a", 1)
		o.Lease = events.Duration(2 * time.Minute)
		state(w, o, true)
		issued := time.Now()
		w.Issue(o)
		<-crashed
		first.Kill()
		start(w, app.Settings{}, app.Deps{Owner: "two", Functions: []app.Function{function("x", false, echo)}})
		got := w.Report(o)
		if waited := got.Started.Sub(issued); waited < 2*time.Minute || waited > 3*time.Minute {
			t.Errorf("taken over after %s", waited)
		}
	})
}

func TestAKeptReportIsPublishedWithoutExecutingAgain(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		j := w.Bus.Journal("j1", "a")
		var last uint64
		for _, r := range []events.JournalRecord{
			{Type: events.JournalClaimed, Run: 1, Owner: "dead", Lease: events.Duration(time.Minute)},
			{Type: events.JournalReported, Run: 1, Owner: "dead", Name: "subjob.reported", Data: json.RawMessage(`{"outcome":"SUCCESS","output":7,"owner":"dead"}`)},
		} {
			var err error
			if last, err = j.Append(t.Context(), r, last); err != nil {
				t.Fatal(err)
			}
		}
		var calls atomic.Int32
		count := func(context.Context, *app.Task) (events.SubJobReported, error) {
			calls.Add(1)
			return events.SubJobReported{}, nil
		}
		o := work("count", "j1", "a", 1)
		w.Issue(o)
		start(w, app.Settings{}, app.Deps{Functions: []app.Function{function("count", false, count)}})
		got := w.Report(o)
		w.Idle()
		if string(got.Output) != "7" || got.Owner != "dead" || calls.Load() != 0 {
			t.Errorf("executed %d times, report %+v", calls.Load(), got)
		}
	})
}

// A runner that is killed publishes nothing more: its work is taken over when its lease is over, and no later, whatever the broker
// waits for.
// proves C-weakness-7-expert
func TestWorkOfAKilledRunnerIsTakenOverWhenItsLeaseIsOver(t *testing.T) {
	for _, lease := range []time.Duration{3 * time.Second, 10 * time.Second, 30 * time.Second} {
		t.Run(lease.String(), func(t *testing.T) {
			servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
				began := make(chan string, 2)
				dead := make(chan struct{})
				hook := func(string, string) error {
					select {
					case <-dead:
						return errKilled
					default:
						return nil
					}
				}
				first := start(w, app.Settings{}, app.Deps{Owner: "one", Hook: hook, Functions: []app.Function{function("f", false, endless(began))}})
				o := work("f", "j1", "a", 1)
				o.Lease = events.Duration(lease)
				state(w, o, true)
				w.Issue(o)
				servicetest.Next(w, began)
				start(w, app.Settings{}, app.Deps{Owner: "two", Functions: []app.Function{function("f", false, endless(began))}})
				<-time.After(17 * time.Second) // The work is kept while it lasts.
				if len(began) != 0 {
					t.Fatal("work was taken from a runner that lives")
				}
				close(dead)
				first.Kill()
				at := time.Now()
				servicetest.Next(w, began)
				most := max(lease, bus.PoolAckWait) + time.Second
				if took := time.Since(at); took > most {
					t.Errorf("taken over after %s, at most %s is right", took, most)
				}
				t.Logf("lease %s: taken over after %s", lease, time.Since(at))
			})
		})
	}
}
