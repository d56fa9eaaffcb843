package app_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/planner/app"
)

// slow is a model that takes a given time before it answers like the scripted one. It counts its calls.
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
// proves F16
func TestAModelsPlanIsStatedAndAPlannerThatDiesAsksNothingTwice(t *testing.T) {
	for _, c := range []struct {
		point  string
		called int32 // How often the model is called in total.
	}{{"claim", 1}, {"intent", 1}, {"answered", 2}, {"kept", 1}} {
		servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
			w.Announce(three()...)
			killed := errors.New("killed")
			m := &slow{t: t, takes: time.Second}
			p := start(w, app.Deps{Model: m, ModelName: "slow", Hook: func(at string) error {
				if at == c.point {
					return killed
				}
				return nil
			}})
			issue(w, "j", events.Request{Goal: "g", Profile: "graph"})
			<-time.After(10 * time.Second)
			if err := p.Stop(); !errors.Is(err, killed) {
				t.Fatalf("%s: %v", c.point, err)
			}
			start(w, app.Deps{Model: m, ModelName: "slow"})
			for e := w.Fact(); e.Kind != events.KindGraphCreated; e = w.Fact() {
				if e.Kind != events.KindSubJobProgressed {
					t.Fatalf("%s: %s", c.point, e.Kind)
				}
			}
			w.Idle()
			if n := m.calls.Load(); n != c.called {
				t.Errorf("killed at %s: asked %d times, want %d", c.point, n, c.called)
			}
		})
	}
}

func TestACancellationOnTheBusEndsACallOfAModelAtOnce(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		w.Announce(three()...)
		start(w, app.Deps{Model: &slow{t: t, takes: time.Hour}, ModelName: "slow"})
		issue(w, "j", events.Request{Goal: "g", Profile: "graph"})
		<-time.After(time.Minute)
		began := time.Now()
		musttest.Do(t, w.Bus.PublishCore(w.Names.Cancel("j", ""), nil, []byte(`{"run":1,"reason":"enough"}`)))
		e := w.Fact()
		for e.Kind == events.KindSubJobProgressed {
			e = w.Fact()
		}
		r, ok := e.Data.(*events.PlanRejected)
		if !ok || r.Faults[0].Code != events.CodeCancelled || time.Since(began) > time.Second {
			t.Errorf("%s after %s: %+v", e.Kind, time.Since(began), e.Data)
		}
		w.Idle()
	})
}

// choosy takes an hour for requests marked as long, and no time for all others.
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
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		w.Announce(three()...)
		start(w, app.Deps{Model: choosy{&slow{t: t, takes: time.Hour}, &slow{t: t, takes: time.Millisecond}}, ModelName: "choosy"})
		issue(w, "long", events.Request{Goal: "take your time", Profile: "graph"})
		<-time.After(time.Minute)
		began := time.Now()
		issue(w, "short", events.Request{Goal: "g", Profile: "graph"})
		planned := func() (job string) {
			e := w.Fact()
			for e.Kind != events.KindGraphCreated {
				e = w.Fact()
			}
			return e.Job
		}
		if job := planned(); job != "short" || time.Since(began) > time.Second {
			t.Errorf("%s has its plan first, after %s", job, time.Since(began))
		}
		if job := planned(); job != "long" {
			t.Errorf("then %s", job)
		}
		w.Idle()
	})
}

// proves V-T16
// proves V2
func TestWhatAModelSaysWhilePlanningIsToldLiveUnderANameThatStays(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		w.Announce(three()...)
		told := make(chan string, 1000)
		stop := musttest.Get(w.Bus.SubscribeCore(w.Names.Live("j", events.PlanID), func(_ string, body []byte) { told <- string(body) }))(t)
		defer stop()
		engine := musttest.Get(llm.New(llm.Single("", "http://fake.invalid/v1", "fake"), llm.Settings{Doer: llmtest.New(llmtest.Say(
			llmtest.Answer{Reasoning: "hm", Text: `{"subjobs":[{"id":"a","goal":"g","completion_criteria":"c","expert":"design-expert"}]}`, Chunk: 40},
		))}))(t)
		start(w, app.Deps{Model: engine, ModelName: "fake"})
		issue(w, "j", events.Request{Goal: "g", Profile: "graph"})
		items := map[string]string{}
		for !strings.HasSuffix(items["draft/1"], "]}") {
			var p llm.Piece
			musttest.Decode(t, []byte(<-told), &p)
			if p.Offset != len(items[p.Item]) {
				t.Errorf("%s goes on at %d behind %d", p.Item, p.Offset, len(items[p.Item]))
			}
			items[p.Item] += p.Text
		}
		if items["draft/1/thought"] != "hm" || len(items) != 2 {
			t.Errorf("%q", items)
		}
		w.Idle()
	})
}
