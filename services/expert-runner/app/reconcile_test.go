package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/expert-runner/app"
)

// payer pays the orders in the work, one effect each, and counts actual payments.
type payer struct {
	paid  atomic.Int32
	hook  func(app.Inquiry) app.Finding
	asked atomic.Int32
}

func (p *payer) function(id string) app.Function {
	f := function(id, false, func(ctx context.Context, t *app.Task) (events.SubJobReported, error) {
		var orders []string
		if err := json.Unmarshal(t.Work.Inputs["orders"], &orders); err != nil {
			return events.SubJobReported{}, err
		}
		var receipts []json.RawMessage
		for i, order := range orders {
			args, err := json.Marshal(map[string]string{"order": order})
			if err != nil {
				return events.SubJobReported{}, err
			}
			out, err := t.Hand.Do(ctx, app.Effect{Key: fmt.Sprint("pay/", i), Name: "pay", Args: args}, func(context.Context) (json.RawMessage, error) {
				return json.Marshal(fmt.Sprintf("receipt %d", p.paid.Add(1)))
			})
			if err != nil {
				return events.SubJobReported{}, err
			}
			receipts = append(receipts, out)
		}
		out, err := json.Marshal(receipts)
		return events.SubJobReported{Output: out}, err
	})
	if p.hook != nil {
		f.Reconcile = func(_ context.Context, q app.Inquiry) app.Finding {
			p.asked.Add(1)
			return p.hook(q)
		}
	}
	return f
}

// broken simulates a run that died between the intent and the call of its first payment.
func broken(w *servicetest.Env, p *payer, orders string) events.Work {
	w.Helper()
	hook, crashed := crashAt("effect")
	one := start(w, app.Settings{}, app.Deps{Owner: "one", Hook: hook, Functions: []app.Function{p.function("pay")}})
	o := work("pay", "j1", "a", 1)
	o.Inputs = map[string]json.RawMessage{"orders": json.RawMessage(orders)}
	state(w, o, true)
	w.Issue(o)
	<-crashed
	one.Kill()
	return o
}

func TestAHookSaysWhatBecameOfAnEffect(t *testing.T) {
	for name, test := range map[string]struct {
		finding app.Finding
		paid    int32
		output  string // Empty if a person is asked.
		prompt  string
	}{
		"done":         {app.Finding{State: app.Done, Result: json.RawMessage(`"receipt 0"`)}, 0, `["receipt 0"]`, ""},
		"not done":     {app.Finding{State: app.NotDone}, 1, `["receipt 1"]`, ""},
		"unknown":      {app.Finding{State: app.Unknown, Reason: "The bank sleeps."}, 0, "", "The bank sleeps."},
		"nothing said": {app.Finding{}, 0, "", `pay pay/0 with {"order":"7"}`},
	} {
		t.Run(name, func(t *testing.T) {
			servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
				p := &payer{}
				p.hook = func(q app.Inquiry) app.Finding {
					if q.Intent.Key != "pay/0" || string(q.Intent.Data) != `{"order":"7"}` || q.Intent.Run != 1 {
						t.Errorf("asked about %+v", q.Intent)
					}
					return test.finding
				}
				o := broken(w, p, `["7"]`)
				start(w, app.Settings{}, app.Deps{Owner: "two", Functions: []app.Function{p.function("pay")}})
				if test.output == "" {
					if in := w.Asked(o); in.Kind != events.InputUnknown || !strings.Contains(in.Prompt, test.prompt) {
						t.Errorf("asked: %+v", in)
					}
				} else if got := w.Report(o); string(got.Output) != test.output {
					t.Errorf("%+v", got)
				}
				w.Idle()
				if p.paid.Load() != test.paid || p.asked.Load() != 1 {
					t.Errorf("%d payments, %d questions", p.paid.Load(), p.asked.Load())
				}
			})
		})
	}
}

// A hook's answer is journaled: a runner that takes over does not ask again, and repeats nothing.
func TestWhatAHookHasSaidIsKept(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		p := &payer{hook: func(app.Inquiry) app.Finding { return app.Finding{State: app.Done, Result: json.RawMessage(`"found"`)} }}
		o := broken(w, p, `["7"]`)
		hook, crashed := crashAt("result")
		two := start(w, app.Settings{}, app.Deps{Owner: "two", Hook: hook, Functions: []app.Function{p.function("pay")}})
		<-crashed
		two.Kill()
		start(w, app.Settings{}, app.Deps{Owner: "three", Functions: []app.Function{p.function("pay")}})
		if got := w.Report(o); string(got.Output) != `["found"]` || p.paid.Load() != 0 || p.asked.Load() != 1 {
			t.Errorf("%s after %d payments and %d questions", got.Output, p.paid.Load(), p.asked.Load())
		}
		w.Idle()
	})
}

// A run that was stopped in the middle of an effect leaves its outcome unknown for the next run, which starts over: a
// declared result answers the same call, wherever it occurs, and no other.
func TestAStoppedEffectIsInDoubtForTheNextRun(t *testing.T) {
	for name, test := range map[string]struct {
		answer, orders string
		paid           int32
		output         string
	}{
		"it happened":                       {`{"choice":"success","output":"by hand"}`, `["7"]`, 0, `["by hand"]`},
		"it happened, and comes elsewhere":  {`{"choice":"success","output":"by hand"}`, `["8","7"]`, 1, `["receipt 1","by hand"]`},
		"it happened, and is not asked for": {`{"choice":"success","output":"by hand"}`, `["8"]`, 1, `["receipt 1"]`},
		"it did not":                        {`"retry"`, `["7"]`, 1, `["receipt 1"]`},
	} {
		t.Run(name, func(t *testing.T) {
			servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
				p := &payer{}
				o := broken(w, p, `["7"]`)
				w.Fence(o, "stopped")
				start(w, app.Settings{}, app.Deps{Owner: "two", Functions: []app.Function{p.function("pay")}})
				next := work("pay", "j1", "a", 2)
				next.Inputs = map[string]json.RawMessage{"orders": json.RawMessage(test.orders)}
				w.Issue(next)
				in := w.Asked(next)
				if !strings.Contains(in.Prompt, `pay pay/0 with {"order":"7"} of run 1`) {
					t.Errorf("prompt: %s", in.Prompt)
				}
				last := next
				last.Run, last.ResumeOf, last.IdempotencyKey = 3, 2, "j1/a/3"
				last.Answers = map[string]events.InputClosed{in.Request: {Action: events.Answered, Answer: json.RawMessage(test.answer)}}
				w.Issue(last)
				if got := w.Report(last); string(got.Output) != test.output || p.paid.Load() != test.paid {
					t.Errorf("%s after %d payments, %+v", got.Output, p.paid.Load(), got.Error)
				}
			})
		})
	}
}

// shop is a service that accepts a payment and closes the connection, and knows later what it accepted.
func shop(t *testing.T) (url string, paid *atomic.Int32) {
	paid = &atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/pay" {
			paid.Add(1)
			panic(http.ErrAbortHandler)
		}
		var q struct {
			Inputs struct {
				Effect struct {
					Name string          `json:"name"`
					Args json.RawMessage `json:"args"`
					Key  string          `json:"idempotency_key"`
				} `json:"effect"`
			} `json:"inputs"`
		}
		body, err := io.ReadAll(r.Body)
		if err != nil || json.Unmarshal(body, &q) != nil || q.Inputs.Effect.Name != "http" || q.Inputs.Effect.Key != "j1/a/1" || len(q.Inputs.Effect.Args) == 0 {
			http.Error(w, "no question: "+string(body), http.StatusTeapot)
			return
		}
		_, _ = fmt.Fprintf(w, `{"state":"done","result":{"paid":%d}}`, paid.Load())
	}))
	t.Cleanup(server.Close)
	return server.URL, paid
}

// A call that broke off is not repeated: the card's hook determines its outcome.
func TestTheHookOfACardIsAskedInEveryWay(t *testing.T) {
	script := "cat >question; grep -q '\"idempotency_key\":\"j1/a/1\"' question && printf '{\"state\":\"done\",\"result\":{\"paid\":1}}'"
	for name, hook := range map[string]string{
		"program": `reconcile: {command: [sh, -c, '` + strings.ReplaceAll(script, "'", "''") + `']}`,
		"service": "reconcile: {url: URL/did}",
		"subject": "reconcile: {subject: jobs.api.shop.did, timeout: 5s}",
	} {
		t.Run(name, func(t *testing.T) {
			url, paid := shop(t)
			w := servicetest.New(t)
			stop := musttest.Get(w.Bus.Services().Serve("shop", "", nil, map[string]bus.Endpoint{"shop.did": func(_ context.Context, body []byte) ([]byte, *events.Fault) {
				if !strings.Contains(string(body), `"idempotency_key":"j1/a/1"`) {
					t.Errorf("asked %s", body)
				}
				return []byte(`{"state":"done","result":{"paid":1}}`), nil
			}}, nil))(t)
			defer stop()
			front := "name: Pay\nkind: http\nurl: " + url + "/pay\n" + strings.ReplaceAll(hook, "URL", url)
			start(w, cards(t, front), app.Deps{})
			o := work("pay", "j1", "a", 1)
			w.Issue(o)
			if got := w.Report(o); got.Outcome != events.Success || string(got.Output) != `{"paid":1}` || paid.Load() != 1 {
				t.Errorf("%d payments, report %+v", paid.Load(), got)
			}
			w.Idle() // The record of the report is awaited separately from the report.
			want := []events.JournalType{"claimed", "intent", "result", "reported"}
			musttest.Equal(t, want, w.Journal("j1", "a"))
		})
	}
}

func TestHooksOfCardsAreChecked(t *testing.T) {
	for name, test := range map[string]struct{ front, want string }{
		"two ways":   {"kind: http\nurl: http://a.invalid/\nreconcile: {url: http://a.invalid/, subject: a}", "asked in one way"},
		"no way":     {"kind: http\nurl: http://a.invalid/\nreconcile: {timeout: 1s}", "asked in one way"},
		"no subject": {"kind: http\nurl: http://a.invalid/\nreconcile: {subject: 'a.*'}", "no subject to ask on"},
		"no url":     {"kind: http\nurl: http://a.invalid/\nreconcile: {url: 'ftp://a'}", "reconcile.url"},
		"a person":   {"kind: human\nreconcile: {subject: a}", "no effect of this expert"},
		"no program": {"kind: http\nurl: http://a.invalid/\nreconcile: {command: [./nowhere]}", "does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := app.CheckCards([]string{cardFile(t, t.TempDir(), "x.md", "name: X\n"+test.front)}, func(string) (string, bool) { return "", false })
			if err == nil || !strings.Contains(fmt.Sprintf("%+v", err), test.want) {
				t.Errorf("%+v", err)
			}
		})
	}
}
