package app_test

import (
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/planner/app"
)

// stages reads the facts of a planning run up to its end or its question, and returns the published stages.
func stages(w *servicetest.Env) string {
	w.Helper()
	var list []string
	for {
		switch e := w.Fact(); d := e.Data.(type) {
		case *events.SubJobProgressed:
			list = append(list, d.Message)
		case *events.GraphCreated, *events.PlanRejected, *events.InputRequested:
			return strings.Join(list, " ") + " → " + string(e.Kind)
		}
	}
}

func TestEachProfileTellsTheStagesThatItHasAndNoOther(t *testing.T) {
	yes, no := true, false
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		w.Announce(append(three(), status(), events.Card{ID: "seeker", Name: "Seeker", Skills: []string{"web_search", "research"}})...)
		worker(w, `{"outcome":"SUCCESS","output":"something"}`)
		start(w, app.Deps{Model: &slow{t: t}, ModelName: "slow"})
		for _, c := range []struct{ profile, bare, all string }{
			{"default", "triage draft → graph.created", "triage investigate draft review → input.requested"},
			{"graph", "investigate draft → graph.created", "investigate draft review → input.requested"},
			{"assistant", "triage draft → graph.created", "triage draft → graph.created"},
			{"research", "triage draft → graph.created", "triage investigate draft review → input.requested"},
			{"steps", "draft → graph.created", "draft review → input.requested"},
		} {
			issue(w, c.profile+"-bare", events.Request{Goal: "g", Profile: c.profile})
			if got := stages(w); got != c.bare {
				t.Errorf("%s: %s, want %s", c.profile, got, c.bare)
			}
			issue(w, c.profile+"-all", events.Request{Goal: "g", Profile: c.profile, Investigate: &yes, AutoAccept: &no})
			if got := stages(w); got != c.all {
				t.Errorf("%s, asked for everything: %s, want %s", c.profile, got, c.all)
			}
		}
	})
}
