package loop

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/bases"
	"github.com/jobgraph/jobgraph/pkg/knowledge"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// library is knowledge whose passages differ at each search.
type library struct {
	searched []string
	err      error
}

func (l *library) List(_ context.Context, b bases.Base) ([]events.Ref, error) {
	return []events.Ref{{Name: b.Name + ".md"}}, l.err
}

func (l *library) Search(_ context.Context, list []bases.Base, _ string, most int) (knowledge.Found, error) {
	l.searched = append(l.searched, fmt.Sprint(list, most))
	return knowledge.Found{Hits: []knowledge.Hit{{Base: list[0], Name: "rules.md", Text: fmt.Sprint("passage ", len(l.searched))}}}, nil
}

func informed() events.Work {
	w := goal()
	w.Request.User, w.Request.Session, w.Request.Knowledge = "ann", "s", []string{"handbook", "user"}
	return w
}

// proves C41
func TestPlanningIsToldWhatTheNamedBasesSayAndAResumedOneSeesTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPorts("x")
		m, l := &tongue{says: onePlan}, &library{}
		w.model, w.known = m, l
		w.dies(t, AtAnswered, w.delivery(t, informed()))
		<-time.After(time.Minute) // In virtual time: the lease of the dead planner passes.
		musttest.Do(t, w.run(t, nil, w.delivery(t, informed())))
		for _, part := range []string{"handbook/handbook.md", "user/ann.md", "passage 1"} {
			if !strings.Contains(m.heard, part) {
				t.Errorf("the model is not told %q: %s", part, m.heard)
			}
		}
		if strings.Contains(m.heard, "passage 2") || l.searched[0] != "[base handbook user ann] 4" {
			t.Errorf("searched %q, the model is told %s", l.searched, m.heard)
		}
	})
}

func TestOnlyWhoNamesBasesAndPlansWithAModelLooksIntoThem(t *testing.T) {
	for name, change := range map[string]func(w *events.Work){
		"no base named": func(w *events.Work) { w.Request.Knowledge = nil },
		"a given plan":  func(w *events.Work) { w.Request.Plan = []byte(onePlan) },
		"an expert":     func(w *events.Work) { w.Request.Expert = "x" },
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newPorts("x")
			l := &library{}
			w.model, w.known = &tongue{says: onePlan}, l
			o := informed()
			change(&o)
			musttest.Do(t, w.run(t, nil, w.delivery(t, o)))
			if len(l.searched) > 0 {
				t.Errorf("%s: searched %q", name, l.searched)
			}
		})
	}
}
