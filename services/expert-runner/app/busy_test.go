package app_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/expert-runner/app"
)

// busyModel answers at first, then says several times to come back later, and then answers again.
func busyModel(turnedAway int, header map[string]string) *llmtest.Server {
	asked := 0
	return llmtest.New(llmtest.Func(func(q llmtest.Question) (llmtest.Answer, error) {
		usage := &llmtest.Usage{Prompt: 10}
		if len(q.Turns) == 2 {
			return llmtest.Answer{Usage: usage, Calls: []llmtest.Call{{Name: "list_files", Args: `{}`}}}, nil
		}
		if asked++; asked <= turnedAway {
			return llmtest.Answer{Status: 429, Error: "slow down", Header: header}, nil
		}
		return llmtest.Answer{Usage: usage, Text: "done"}, nil
	}))
}

// later is the work that the scheduler issues when the time has come.
func later(o events.Work, parks ...*events.InputRequested) events.Work {
	next := work("agent", o.Job, o.SubJob, o.Run+1)
	next.ResumeOf, next.Answers = o.Run, map[string]events.InputClosed{}
	for _, p := range parks {
		next.Answers[p.Request] = events.InputClosed{Action: events.Expired}
	}
	return next
}

// proves O-weakness-issue-531
// proves O-weakness-issue-746
// proves O-weakness-issue-766
func TestAModelThatIsBusyGetsTheWorkBackToTheBroker(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		model := busyModel(2, map[string]string{"Retry-After": "120"})
		start(w, agents(t, card(t, "tools: [list_files]\n")), app.Deps{Doer: model})
		first := work("agent", "j1", "a", 1)
		began := time.Now()
		w.Issue(first)
		park := w.Asked(first)
		w.Idle()
		if took := time.Since(began); took >= 5*time.Second {
			t.Errorf("the run held its work for %s", took)
		}
		if wait := park.ExpiresIn.Std(); park.Kind != events.InputTimer || wait < 2*time.Minute || wait > 150*time.Second || park.Tokens != 10 {
			t.Errorf("park: %+v", park)
		}
		if !strings.HasPrefix(park.Prompt, "rate limited by model scripted until 20") || !strings.HasSuffix(park.Prompt, ": slow down") {
			t.Errorf("prompt: %s", park.Prompt)
		}
		<-time.After(park.ExpiresIn.Std())
		second := later(first, park)
		w.Issue(second)
		longer := w.Asked(second)
		w.Idle()
		if longer.ExpiresIn < 2*events.Duration(2*time.Minute) || longer.Request == park.Request || longer.Tokens != 0 {
			t.Errorf("second park: %+v after %+v", longer, park)
		}
		<-time.After(longer.ExpiresIn.Std())
		third := later(second, park, longer)
		w.Issue(third)
		got := w.Report(third)
		if got.Outcome != events.Success || string(got.Output) != `"done"` || got.Tokens != 10 {
			t.Errorf("report: %+v", got)
		}
		// The call that had finished is answered from the journal.
		if asked := len(model.Asked()); asked != 4 {
			t.Errorf("the model was asked %d times", asked)
		}
		if n := results(w, "j1", "a")["model/1"]; n != 1 {
			t.Errorf("%d results of the first question", n)
		}
	})
}

func TestABusyModelIsWaitedForWithinTheDeadlineAndThePatience(t *testing.T) {
	for name, test := range map[string]struct {
		keys     string
		deadline time.Duration
	}{
		"deadline": {"tools: [list_files]\n", time.Minute},
		"patience": {"tools: [list_files]\npatience: 90s\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
				start(w, agents(t, card(t, test.keys)), app.Deps{Doer: busyModel(1, map[string]string{"Retry-After": "120"})})
				o := work("agent", "j1", "a", 1)
				if test.deadline > 0 {
					o.Deadline = time.Now().Add(test.deadline)
				}
				w.Issue(o)
				got := w.Report(o)
				if got.Outcome != events.ExecutionError || got.RetryAfter.Std() != 2*time.Minute || got.Error.Code != events.CodeUnavailable {
					t.Errorf("report: %+v", got)
				}
				if parks := w.Facts("j1", events.KindInputRequested); len(parks) != 0 {
					t.Errorf("given back: %+v", parks)
				}
			})
		})
	}
}

func TestAModelThatDoesNotSayHowLongIsWaitedForLongerEachTime(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		start(w, agents(t, card(t, "tools: [list_files]\n")), app.Deps{Doer: busyModel(1000, nil)})
		o := work("agent", "j1", "a", 1)
		var parks []*events.InputRequested
		for range 5 {
			w.Issue(o)
			park := w.Asked(o)
			w.Idle()
			if n := len(parks); n > 0 && park.ExpiresIn < parks[n-1].ExpiresIn {
				t.Errorf("wait %d is %s, the one before %s", n+1, park.ExpiresIn.Std(), parks[n-1].ExpiresIn.Std())
			}
			parks = append(parks, park)
			o = later(o, parks...)
		}
		if raw, err := json.Marshal(parks[4]); err != nil || !strings.Contains(string(raw), "~5~busy-2-5-") {
			t.Errorf("the fifth wait: %s, %v", raw, err)
		}
	})
}
