package app_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/planner/app"
)

// echo plans one step with the goal at the end of its prompt.
type echo struct{}

func (echo) Respond(q llmtest.Question) (llmtest.Answer, error) {
	goal := "none"
	for _, m := range q.Turns {
		if _, rest, ok := strings.Cut(m.Text, "goal-"); ok {
			goal = "goal-" + rest[:2]
		}
	}
	return llmtest.Answer{Text: `{"subjobs":[{"id":"a","goal":"` + goal + `","completion_criteria":"c","expert":"design-expert"}]}`, Chunk: 5}, nil
}

// Many plans are streamed live at once; every piece has the id of its job, and none is lost.
//
// proves F-weakness-i
func TestPiecesOfPlansThatAreMadeAtOnceBearTheirOwnJob(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		w.Announce(three()...)
		const many = 20
		var lock sync.Mutex // Guards said.
		said := map[string]string{}
		name := func(i int) string { return fmt.Sprintf("job%02d", i) }
		for i := range many {
			stop := musttest.Get(w.Bus.SubscribeCore(w.Names.Live(name(i), events.PlanID), func(_ string, body []byte) {
				var p llm.Piece
				if err := json.Unmarshal(body, &p); err != nil || p.Item != "draft/1" {
					t.Errorf("%q %v", body, err)
				}
				lock.Lock()
				said[name(i)] += p.Text
				lock.Unlock()
			}))(t)
			defer stop()
		}
		engine := musttest.Get(llm.New(llm.Single("", "http://fake.invalid/v1", "fake"), llm.Settings{Doer: llmtest.New(echo{})}))(t)
		start(w, app.Deps{Model: engine, ModelName: "fake"})
		for i := range many {
			issue(w, name(i), events.Request{Goal: fmt.Sprintf("goal-%02d", i), Profile: "graph"})
		}
		for made := 0; made < many; {
			e := w.Fact()
			g, ok := e.Data.(*events.GraphCreated)
			if !ok {
				continue
			}
			made++
			if want := "goal-" + strings.TrimPrefix(e.Job, "job"); g.Plan.SubJobs[0].Goal != want {
				t.Errorf("%s has the plan of %s", e.Job, g.Plan.SubJobs[0].Goal)
			}
		}
		w.Idle()
		synctest.Wait() // Live messages may still be on their way.
		lock.Lock()
		defer lock.Unlock()
		for i := range many {
			want := fmt.Sprintf(`{"subjobs":[{"id":"a","goal":"goal-%02d","completion_criteria":"c","expert":"design-expert"}]}`, i)
			if said[name(i)] != want {
				t.Errorf("%s was told %q", name(i), said[name(i)])
			}
		}
	})
}

// A plan is published when the model has written it, not at the next tick of a timer: in virtual time, a hundred consecutive plans
// take no time.
// proves V-weakness-7
func TestAPlanTakesNoTurnOfAClock(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		w.Announce(three()...)
		engine := musttest.Get(llm.New(llm.Single("", "http://fake.invalid/v1", "fake"), llm.Settings{Doer: llmtest.New(echo{})}))(t)
		start(w, app.Deps{Model: engine, ModelName: "fake"})
		made := func(i int) {
			issue(w, fmt.Sprintf("job%02d", i), events.Request{Goal: fmt.Sprintf("goal-%02d", i), Profile: "graph"})
			e := w.Fact()
			for e.Kind != events.KindGraphCreated {
				e = w.Fact()
			}
		}
		made(0) // The first one waits for the planner to start.
		began := time.Now()
		for i := range 99 {
			made(i + 1)
		}
		if took := time.Since(began); took >= 100*time.Millisecond {
			t.Errorf("99 plans took %s", took)
		}
		w.Idle()
	})
}
