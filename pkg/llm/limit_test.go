package llm_test

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// gauge counts the requests that are under way: from being sent until their body is closed.
type gauge struct {
	doer llm.Doer

	mu        sync.Mutex
	now, most int
	began     []time.Time
}

func (g *gauge) Do(req *http.Request) (*http.Response, error) {
	g.count(1)
	resp, err := g.doer.Do(req)
	if err != nil {
		g.count(-1)
		return nil, err
	}
	resp.Body = closing{resp.Body, func() { g.count(-1) }}
	return resp, nil
}

func (g *gauge) count(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now += n
	g.most = max(g.most, g.now)
	if n > 0 {
		g.began = append(g.began, time.Now())
	}
}

type closing struct {
	io.ReadCloser
	closed func()
}

func (c closing) Close() error {
	c.closed()
	return c.ReadCloser.Close()
}

// crowd calls an engine n times at once, and returns when each request began, in seconds, and how many were open at most.
func crowd(t *testing.T, n int, limits llm.RateLimits, answer llmtest.Answer) (began []float64, most int) {
	t.Helper()
	start := time.Now()
	g := &gauge{doer: llmtest.New(llmtest.Func(func(llmtest.Question) (llmtest.Answer, error) { return answer, nil }))}
	e := engine(t, g, single(func(m *llm.ModelConfig) { m.Limits, m.MaxWait = limits, time.Hour }), nil)
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			if _, err := e.Do(t.Context(), ask("hi"), nil); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, at := range g.began {
		began = append(began, math.Round(at.Sub(start).Seconds()))
	}
	return began, g.most
}

func TestNoMoreRequestsAreUnderWayThanAllowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, most := crowd(t, 10, llm.RateLimits{Concurrency: 3}, llmtest.Answer{Text: "x", Delay: time.Second})
		if len(began) != 10 || most != 3 {
			t.Errorf("%d requests, at most %d at once, want 10 and 3", len(began), most)
		}
	})
}

func TestRequestsPerMinuteComeAtOnceAndThenEvenly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, _ := crowd(t, 5, llm.RateLimits{RequestsPerMinute: 2}, llmtest.Answer{Text: "x"})
		musttest.Equal(t, []float64{0, 0, 30, 60, 90}, began)
	})
}

func TestTheRoomThatLimitsLeaveIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := make(chan struct{}, 2)
		server := llmtest.New(llmtest.Func(func(llmtest.Question) (llmtest.Answer, error) {
			began <- struct{}{}
			return llmtest.Answer{Text: "x", Delay: 30 * time.Second, Usage: &llmtest.Usage{Prompt: 10, Completion: 590}}, nil
		}))
		e := engine(t, server, single(func(m *llm.ModelConfig) {
			m.Limits = llm.RateLimits{Concurrency: 3, RequestsPerMinute: 6, TokensPerMinute: 600}
		}), nil)
		show := func() string {
			s := e.Standings()[0]
			return fmt.Sprint(s.Name, " ", *s.Slots, *s.Requests, *s.Tokens > 500, *s.Tokens < 100)
		}
		if got := show(); got != "default 3 6 true false" {
			t.Errorf("at the start: %s", got)
		}
		var call sync.WaitGroup
		call.Go(func() {
			if _, err := e.Do(t.Context(), ask("hi"), nil); err != nil {
				t.Error(err)
			}
		})
		<-began
		if got := show(); got != "default 2 5 true false" {
			t.Errorf("during a call: %s", got)
		}
		call.Wait()
		if got := show(); got != "default 3 6 false true" {
			t.Errorf("after it: %s", got)
		}
		if s := engine(t, server, single(nil), nil).Standings()[0]; s.Slots != nil || s.Requests != nil || s.Tokens != nil || !s.Closed.IsZero() {
			t.Errorf("without limits: %+v", s)
		}
	})
}

func TestTokensBeyondTheEstimateDelayLaterCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := llmtest.New(llmtest.Func(func(llmtest.Question) (llmtest.Answer, error) {
			return llmtest.Answer{Text: "x", Usage: &llmtest.Usage{Prompt: 10, Completion: 1190}}, nil
		}))
		e := engine(t, server, single(func(m *llm.ModelConfig) {
			m.Limits, m.MaxWait = llm.RateLimits{TokensPerMinute: 600}, time.Hour
		}), nil)
		start := time.Now()
		for range 2 {
			musttest.Get(e.Do(t.Context(), ask("hi"), nil))(t)
		}
		// 1,200 used of 600 is a debt of a minute, and the next prompt is paid before it is sent.
		if took := time.Since(start); took < time.Minute || took > 61*time.Second {
			t.Errorf("took %s, want a minute", took)
		}
	})
}

func TestLimitsThatWouldHoldACallBeyondItsDeadlineFailItAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := llmtest.New(llmtest.Planner{})
		e := engine(t, server, single(func(m *llm.ModelConfig) {
			m.Limits, m.MaxWait = llm.RateLimits{RequestsPerMinute: 1, Concurrency: 1}, time.Hour
		}), nil)
		musttest.Get(e.Do(t.Context(), ask("hi"), nil))(t)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		for range 3 { // A refused call leaves the limits as it found them.
			start := time.Now()
			_, err := e.Do(ctx, ask("hi"), nil)
			fail := class(t, err, llm.RateLimited)
			if time.Since(start) != 0 || fail.RetryAfter != time.Minute || fail.Attempts != 0 {
				t.Errorf("after %s: %+v", time.Since(start), fail)
			}
		}
		if _, err := e.Do(t.Context(), ask("hi"), nil); err != nil {
			t.Error(err)
		}
	})
}

func TestACallerWhoGivesUpWaitingTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := llmtest.New(llmtest.Say(llmtest.Answer{Text: "slow", Delay: time.Minute}, llmtest.Answer{Text: "next"}))
		e := engine(t, server, single(func(m *llm.ModelConfig) { m.Limits.Concurrency = 1 }), nil)
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := e.Do(t.Context(), ask("one"), nil); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := e.Do(ctx, ask("two"), nil)
		class(t, err, llm.TimedOut)
		all.Wait()
		if got, err := e.Do(t.Context(), ask("three"), nil); err != nil || got.Text != "next" {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestCostIsStatedElsePricedElseUnknown(t *testing.T) {
	stated, cached := 0.5, 1.0
	used := &llmtest.Usage{Prompt: 1000, Cached: 400, Completion: 100}
	price := &llm.Price{Prompt: 10, Cached: &cached, Completion: 100}
	for _, c := range []struct {
		name   string
		stated *float64
		price  *llm.Price
		used   llmtest.Usage
		want   string
	}{
		{"stated", &stated, price, *used, "0.5"},
		{"priced", nil, price, *used, "0.0164"},
		{"priced without a price for cached tokens", nil, &llm.Price{Prompt: 10, Completion: 100}, *used, "0.02"},
		{"free", nil, &llm.Price{}, *used, "0"},
		{"unknown", nil, nil, *used, "nil"},
		{"without usage", nil, price, llmtest.Usage{}, "nil"},
	} {
		for _, api := range apis {
			if c.stated != nil && (api == "responses" || api == "gemini") {
				continue // These APIs state no cost.
			}
			for _, stream := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %s stream=%v", c.name, api, stream), func(t *testing.T) {
					used := c.used
					used.CostUSD = c.stated
					m := &meter{}
					e := engine(t, llmtest.New(llmtest.Say(llmtest.Answer{Text: "x", Usage: &used})), single(func(m *llm.ModelConfig) {
						m.Price, m.API = c.price, api
					}), m)
					r := ask("hi")
					r.Stream = stream
					got := musttest.Get(e.Do(t.Context(), r, nil))(t)
					shown := "nil"
					if got.CostUSD != nil {
						shown = fmt.Sprintf("%.10g", *got.CostUSD)
					}
					if shown != c.want {
						t.Errorf("cost %s, want %s", shown, c.want)
					}
					if (m.seen[0].CostUSD == nil) != (got.CostUSD == nil) || m.seen[0].Usage != got.Usage {
						t.Errorf("the meter saw %+v", m.seen[0])
					}
				})
			}
		}
	}
}

func TestTokensOfTheMeterAddUpToTheBill(t *testing.T) {
	o := llm.Observation{Usage: llm.Usage{Prompt: 100, Cached: 60, Completion: 20, Reasoning: 8}}
	musttest.Equal(t, map[string]int{"prompt": 40, "cached": 60, "completion": 12, "reasoning": 8}, o.Tokens())
}

func TestAFailedAttemptIsBilledToo(t *testing.T) {
	m := &meter{}
	e := engine(t, llmtest.New(llmtest.Say(llmtest.Answer{Text: "half", Finish: "length", Usage: &llmtest.Usage{Prompt: 5, Completion: 7}})), single(nil), m)
	_, err := e.Do(t.Context(), ask("hi"), nil)
	if fail := class(t, err, llm.LengthCut); fail.Partial == nil || fail.Partial.Usage.Total() != 12 || m.seen[0].Usage.Total() != 12 {
		t.Errorf("partial %+v, meter %+v", fail.Partial, m.seen)
	}
	if strings.Join(m.outcomes(), "") != "default length" {
		t.Error(m.outcomes())
	}
}

func TestLimitsOutliveAChangeThatLeavesThemAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limited := func(perMinute, maxTokens int) llm.Config {
			return single(func(m *llm.ModelConfig) { m.Limits.RequestsPerMinute, m.MaxTokens = perMinute, maxTokens })
		}
		e := engine(t, llmtest.New(llmtest.Planner{}), limited(1, 10), nil)
		for _, step := range []struct {
			config llm.Config
			free   bool
		}{{limited(1, 10), true}, {limited(1, 20), false}, {limited(2, 20), true}} {
			musttest.Do(t, e.Set(step.config))
			_, err := e.Do(t.Context(), ask("hi"), nil)
			if step.free && err != nil {
				t.Error(err)
			}
			if !step.free {
				class(t, err, llm.RateLimited)
			}
		}
	})
}

func TestACostThatARouterStatesInResponsesIsTaken(t *testing.T) {
	answer := `{"id":"r","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"x"}]}],"usage":{"input_tokens":1,"output_tokens":1,"cost":0.125}}`
	for kind, body := range map[string]string{
		"application/json": answer, "text/event-stream": sse(`{"type":"response.completed","response":` + answer + `}`),
	} {
		r := ask("hi")
		r.Stream = kind == "text/event-stream"
		e := engine(t, raw(kind, body), single(func(m *llm.ModelConfig) { m.API = "responses" }), nil)
		if got, err := e.Do(t.Context(), r, nil); err != nil || got.CostUSD == nil || *got.CostUSD != 0.125 {
			t.Errorf("%s: %+v, %v", kind, got, err)
		}
	}
}

// impatient is a call that is refused rather than held for longer than five seconds.
func impatient() llm.Request {
	r := ask("hi")
	r.MaxWait = 5 * time.Second
	return r
}

func TestWhoMayNotBeHeldIsToldWhenASlotMayBeFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := llmtest.New(llmtest.Say(llmtest.Answer{Text: "slow", Delay: time.Minute}, llmtest.Answer{Text: "next"}))
		e := engine(t, server, single(func(m *llm.ModelConfig) { m.Limits.Concurrency = 1 }), nil)
		var slow sync.WaitGroup
		slow.Go(func() {
			if _, err := e.Do(t.Context(), ask("hi"), nil); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		start := time.Now()
		_, err := e.Do(t.Context(), impatient(), nil)
		fail := class(t, err, llm.RateLimited)
		if held := time.Since(start); held != 5*time.Second || fail.RetryAfter != 5*time.Second || fail.Attempts != 0 {
			t.Errorf("after %s: %+v", held, fail)
		}
		slow.Wait()
		if _, err := e.Do(t.Context(), impatient(), nil); err != nil {
			t.Error(err)
		}
	})
}

func TestWhatAProviderTellsOneCallHoldsForAllOfThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := llmtest.New(llmtest.Say(
			llmtest.Answer{Status: 429, Header: map[string]string{"Retry-After": "60"}},
			llmtest.Answer{Text: "x"},
		))
		e := engine(t, server, single(func(*llm.ModelConfig) {}), nil)
		for n := range 3 { // The second and the third are not sent.
			_, err := e.Do(t.Context(), impatient(), nil)
			if fail := class(t, err, llm.RateLimited); fail.RetryAfter != time.Minute {
				t.Errorf("call %d: %+v", n, fail)
			}
		}
		if n := len(server.Asked()); n != 1 {
			t.Errorf("the provider was asked %d times", n)
		}
		<-time.After(time.Minute)
		if _, err := e.Do(t.Context(), impatient(), nil); err != nil {
			t.Error(err)
		}
	})
}
