package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/expert-runner/app"
)

// teller takes each payment, and the line breaks before it can say so, the first time that it is called.
type teller struct {
	safe bool
	// why is the error of the first call, and outer that of the function without it.
	why, outer error
	paid       int
}

func (b *teller) pay(ctx context.Context, t *app.Task) (events.SubJobReported, error) {
	if b.outer != nil {
		return events.SubJobReported{}, b.outer
	}
	out, err := t.Hand.Do(ctx, app.Effect{Key: "pay", Name: "pay", Safe: b.safe, Args: json.RawMessage(`{"order":"7"}`)}, func(context.Context) (json.RawMessage, error) {
		if b.paid++; b.paid == 1 {
			return nil, b.why
		}
		return json.Marshal(fmt.Sprintf("receipt %d", b.paid))
	})
	if err != nil {
		return events.SubJobReported{}, fmt.Errorf("pay order 7: %w", err)
	}
	return events.SubJobReported{Output: out}, nil
}

// A function says by app.ErrUnknown that a call may have taken effect although it brought an error: a person is asked, as for a service
// that closed the connection.
func TestAFunctionSaysThatAnOutcomeIsUnknown(t *testing.T) {
	for name, test := range map[string]struct {
		answer string
		paid   int
		output string
	}{
		"it happened": {`{"choice":"success","output":"by hand"}`, 1, `"by hand"`},
		"it did not":  {`"retry"`, 2, `"receipt 2"`},
	} {
		t.Run(name, func(t *testing.T) {
			servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
				b := &teller{why: fmt.Errorf("no answer from the bank: %w", app.ErrUnknown)}
				start(w, app.Settings{}, app.Deps{Functions: []app.Function{function("pay", false, b.pay)}})
				o := work("pay", "j1", "a", 1)
				w.Issue(o)
				in := w.Asked(o)
				if in.Kind != events.InputUnknown || !strings.Contains(in.Prompt, "no answer from the bank") || !strings.Contains(in.Prompt, `- pay with {"order":"7"}`) {
					t.Errorf("asked %s %s", in.Kind, in.Prompt)
				}
				next := work("pay", "j1", "a", 2)
				next.ResumeOf = 1
				next.Answers = map[string]events.InputClosed{in.Request: {Action: events.Answered, Answer: json.RawMessage(test.answer)}}
				w.Issue(next)
				if got := w.Report(next); string(got.Output) != test.output || b.paid != test.paid {
					t.Errorf("%s after %d payments, %+v", got.Output, b.paid, got.Error)
				}
			})
		})
	}
}

// No one is asked about a call that may be repeated, one that failed, or one that was never made.
func TestAFunctionFailsIfNoOutcomeIsUnknown(t *testing.T) {
	unknown := fmt.Errorf("no answer: %w", app.ErrUnknown)
	for name, b := range map[string]*teller{
		"a safe call":   {why: unknown, safe: true},
		"a failed call": {why: errors.New("the account is closed")},
		"no call":       {outer: unknown},
	} {
		t.Run(name, func(t *testing.T) {
			servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
				start(w, app.Settings{}, app.Deps{Functions: []app.Function{function("pay", false, b.pay)}})
				o := work("pay", "j1", "a", 1)
				w.Issue(o)
				if got := w.Report(o); got.Outcome != events.ExecutionError || b.paid > 1 {
					t.Errorf("%d payments, report %+v", b.paid, got)
				}
			})
		})
	}
}

// A hook that knows the outcome spares the question.
func TestTheHookOfAFunctionKnowsAnUnknownOutcome(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		b := &teller{why: app.ErrUnknown}
		f := function("pay", false, b.pay)
		f.Reconcile = func(context.Context, app.Inquiry) app.Finding {
			return app.Finding{State: app.Done, Result: json.RawMessage(`"found"`)}
		}
		start(w, app.Settings{}, app.Deps{Functions: []app.Function{f}})
		o := work("pay", "j1", "a", 1)
		w.Issue(o)
		if got := w.Report(o); string(got.Output) != `"found"` || b.paid != 1 {
			t.Errorf("%d payments, report %+v", b.paid, got)
		}
	})
}
