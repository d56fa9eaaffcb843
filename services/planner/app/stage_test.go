package app_test

import (
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/planner/app"
)

// stages reads the facts of a planning run up to its end or its question, and gives the stages that were told.
func (w *world) stages() string {
	w.t.Helper()
	var list []string
	for {
		switch e := w.fact(); d := e.Data.(type) {
		case *events.SubJobProgressed:
			list = append(list, d.Message)
		case *events.GraphCreated, *events.PlanRejected, *events.InputRequested:
			return strings.Join(list, " ") + " → " + string(e.Kind)
		}
	}
}

func TestEachProfileTellsTheStagesThatItHasAndNoOther(t *testing.T) {
	yes, no := true, false
	virtual(t, func(t *testing.T, w *world) {
		w.announce(append(three(), status(), events.Card{ID: "seeker", Name: "Seeker", Skills: []string{"web_search", "research"}})...)
		w.worker(`{"outcome":"SUCCESS","output":"something"}`)
		w.start(app.Deps{Model: &slow{t: t}, ModelName: "slow"})
		for _, c := range []struct{ profile, bare, all string }{
			{"default", "triage draft → graph.created", "triage investigate draft review → input.requested"},
			{"graph", "investigate draft → graph.created", "investigate draft review → input.requested"},
			{"assistant", "triage draft → graph.created", "triage draft → graph.created"},
			{"research", "triage draft → graph.created", "triage investigate draft review → input.requested"},
			{"steps", "draft → graph.created", "draft review → input.requested"},
		} {
			w.issue(c.profile+"-bare", events.Request{Goal: "g", Profile: c.profile})
			if got := w.stages(); got != c.bare {
				t.Errorf("%s: %s, want %s", c.profile, got, c.bare)
			}
			w.issue(c.profile+"-all", events.Request{Goal: "g", Profile: c.profile, Investigate: &yes, AutoAccept: &no})
			if got := w.stages(); got != c.all {
				t.Errorf("%s, asked for everything: %s, want %s", c.profile, got, c.all)
			}
		}
	})
}
