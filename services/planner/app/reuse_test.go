package app_test

import (
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/planner/app"
)

func TestAPlanIsReusedUntilTheExpertsChange(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		w.Announce(three()...)
		m := &slow{t: t}
		p := start(w, app.Deps{Model: m, ModelName: "slow"})
		yes := true
		plan := func(job string, r events.Request) *events.GraphCreated {
			t.Helper()
			r.Goal = "g"
			if r.Profile == "" {
				r.Profile = "steps"
			}
			issue(w, job, r)
			for {
				e := w.Fact()
				if d, ok := e.Data.(*events.GraphCreated); ok && e.Job == job {
					return d
				} else if !ok && e.Kind != events.KindSubJobProgressed {
					t.Fatalf("%s: %s", job, e.Kind)
				}
			}
		}
		calls := func(want int32, why string) {
			t.Helper()
			if n := m.calls.Load(); n != want {
				t.Errorf("%s: asked %d times, want %d", why, n, want)
			}
		}
		plan("j0", events.Request{})
		plan("j1", events.Request{PlanCache: &yes})
		calls(2, "nothing was kept")
		d := plan("j2", events.Request{PlanCache: &yes})
		calls(2, "it was planned before")
		if len(d.Warnings) != 1 || d.Warnings[0].Code != "reused" || d.Plan.OrigQuery != "g" || d.Tokens != 0 {
			t.Errorf("%+v", d)
		}
		plan("j3", events.Request{})
		calls(3, "it was not asked for")
		<-time.After(time.Second)
		values := values(t, p.Process)
		if values["plan_cache_total hit"] != 1 || values["plan_cache_total miss"] != 1 {
			t.Errorf("%v", values)
		}
		musttest.Do(t, p.Stop())
		start(w, app.Deps{Model: m, ModelName: "slow"})
		plan("j4", events.Request{PlanCache: &yes})
		calls(3, "another planner has it too")
		w.Announce(events.Card{ID: "design-expert", Name: "Design Expert", Description: "also paints", Tags: []string{"design", "default"}})
		<-time.After(time.Second) // The planner has read it.
		plan("j5", events.Request{PlanCache: &yes})
		calls(4, "a card says something else")
	})
}
