package app_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/planner/app"
)

// proves V-T9
func TestAModelThatThinksHoldsUpNobody(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		w.Announce(three()...)
		m := &slow{t: t, takes: 10 * time.Minute}
		start(w, app.Deps{Model: m, ModelName: "slow"}) // It decides four pieces of work at once.
		const many = 20
		for i := range many {
			issue(w, fmt.Sprintf("j%d", i), events.Request{Goal: "g", Profile: "steps"})
		}
		for range many {
			if e := w.Fact(); e.Kind != events.KindSubJobProgressed {
				t.Fatalf("%s before the model has answered", e.Kind)
			}
		}
		began := time.Now()
		text, _ := app.Template("native")
		issue(w, "given", events.Request{Goal: "g", Plan: json.RawMessage(text)})
		if e := w.Fact(); e.Kind != events.KindGraphCreated || e.Job != "given" || time.Since(began) > time.Second {
			t.Errorf("%s of %s after %s", e.Kind, e.Job, time.Since(began))
		}
		for range many {
			if e := w.Fact(); e.Kind != events.KindGraphCreated {
				t.Errorf("%s of %s", e.Kind, e.Job)
			}
		}
		if took, calls := time.Since(began), m.calls.Load(); took > 12*time.Minute || calls != many {
			t.Errorf("%d calls took %s", calls, took)
		}
	})
}
