package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/services/planner/app"
)

// slow is a model that thinks for so long before it says what the scripted one does. It counts how often it is asked.
type slow struct {
	t     *testing.T
	takes time.Duration
	calls atomic.Int32
}

func (m *slow) Do(ctx context.Context, r llm.Request, sink func(llm.Delta)) (llm.Response, error) {
	m.calls.Add(1)
	select {
	case <-time.After(m.takes):
	case <-ctx.Done():
		return llm.Response{}, ctx.Err()
	}
	engine, err := llm.New(llm.Single("", "http://fake.invalid/v1", "fake"), llm.Settings{Doer: llmtest.New(llmtest.Planner{})})
	if err != nil {
		m.t.Error(err)
		return llm.Response{}, err
	}
	return engine.Do(ctx, r, sink)
}

// proves C-weakness-issue-39
// proves F-weakness-issue-347
func TestAModelsPlanIsStatedAndAPlannerThatDiesAsksNothingTwice(t *testing.T) {
	for _, c := range []struct {
		point  string
		called int32 // How often the model is asked in all.
	}{{"claim", 1}, {"intent", 1}, {"answered", 2}, {"kept", 1}} {
		virtual(t, func(t *testing.T, w *world) {
			w.announce(three()...)
			killed := errors.New("killed")
			m := &slow{t: t, takes: time.Second}
			_, drain := w.start(app.Deps{Model: m, ModelName: "slow", Hook: func(at string) error {
				if at == c.point {
					return killed
				}
				return nil
			}})
			w.issue("j", events.Request{Goal: "g", Profile: "graph"})
			<-time.After(10 * time.Second)
			if err := drain(); !errors.Is(err, killed) {
				t.Fatalf("%s: %v", c.point, err)
			}
			w.start(app.Deps{Model: m, ModelName: "slow"})
			for e := w.fact(); e.Kind != events.KindGraphCreated; e = w.fact() {
				if e.Kind != events.KindSubJobProgressed {
					t.Fatalf("%s: %s", c.point, e.Kind)
				}
			}
			w.settled()
			if n := m.calls.Load(); n != c.called {
				t.Errorf("killed at %s: asked %d times, want %d", c.point, n, c.called)
			}
		})
	}
}

func TestACancellationOnTheBusEndsACallOfAModelAtOnce(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		w.announce(three()...)
		w.start(app.Deps{Model: &slow{t: t, takes: time.Hour}, ModelName: "slow"})
		w.issue("j", events.Request{Goal: "g", Profile: "graph"})
		<-time.After(time.Minute)
		began := time.Now()
		if err := w.bus.PublishCore(w.bus.Names().Cancel("j", ""), nil, []byte(`{"run":1,"reason":"enough"}`)); err != nil {
			t.Fatal(err)
		}
		e := w.fact()
		for e.Kind == events.KindSubJobProgressed {
			e = w.fact()
		}
		r, ok := e.Data.(*events.PlanRejected)
		if !ok || r.Faults[0].Code != events.CodeCancelled || time.Since(began) > time.Second {
			t.Errorf("%s after %s: %+v", e.Kind, time.Since(began), e.Data)
		}
		w.settled()
	})
}

// choosy thinks for an hour about requests for a long time, and at once about all others.
type choosy struct{ long, short *slow }

func (m choosy) Do(ctx context.Context, r llm.Request, sink func(llm.Delta)) (llm.Response, error) {
	for _, said := range r.Messages {
		if strings.Contains(said.Text(), "take your time") {
			return m.long.Do(ctx, r, sink)
		}
	}
	return m.short.Do(ctx, r, sink)
}

// proves V-weakness-6
func TestAModelThatThinksForLongHoldsUpNoOtherPlan(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		w.announce(three()...)
		w.start(app.Deps{Model: choosy{&slow{t: t, takes: time.Hour}, &slow{t: t, takes: time.Millisecond}}, ModelName: "choosy"})
		w.issue("long", events.Request{Goal: "take your time", Profile: "graph"})
		<-time.After(time.Minute)
		began := time.Now()
		w.issue("short", events.Request{Goal: "g", Profile: "graph"})
		planned := func() (job string) {
			e := w.fact()
			for e.Kind != events.KindGraphCreated {
				e = w.fact()
			}
			return e.Job
		}
		if job := planned(); job != "short" || time.Since(began) > time.Second {
			t.Errorf("%s has its plan first, after %s", job, time.Since(began))
		}
		if job := planned(); job != "long" {
			t.Errorf("then %s", job)
		}
		w.settled()
	})
}

// proves V-T16
// proves V2
func TestWhatAModelSaysWhilePlanningIsToldLiveUnderANameThatStays(t *testing.T) {
	virtual(t, func(t *testing.T, w *world) {
		w.announce(three()...)
		told := make(chan string, 1000)
		stop, err := w.bus.SubscribeCore(w.bus.Names().Live("j", events.PlanID), func(_ string, body []byte) { told <- string(body) })
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
		engine, err := llm.New(llm.Single("", "http://fake.invalid/v1", "fake"), llm.Settings{Doer: llmtest.New(llmtest.Say(
			llmtest.Answer{Reasoning: "hm", Text: `{"subjobs":[{"id":"a","goal":"g","completion_criteria":"c","expert":"design-expert"}]}`, Chunk: 40},
		))})
		if err != nil {
			t.Fatal(err)
		}
		w.start(app.Deps{Model: engine, ModelName: "fake"})
		w.issue("j", events.Request{Goal: "g", Profile: "graph"})
		items := map[string]string{}
		for !strings.HasSuffix(items["draft/1"], "]}") {
			var p llm.Piece
			if err := json.Unmarshal([]byte(<-told), &p); err != nil {
				t.Fatal(err)
			}
			if p.Offset != len(items[p.Item]) {
				t.Errorf("%s goes on at %d behind %d", p.Item, p.Offset, len(items[p.Item]))
			}
			items[p.Item] += p.Text
		}
		if items["draft/1/thought"] != "hm" || len(items) != 2 {
			t.Errorf("%q", items)
		}
		w.settled()
	})
}
