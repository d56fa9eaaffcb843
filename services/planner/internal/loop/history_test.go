package loop

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

// memory is a session whose history differs at each read.
type memory struct {
	asked []string
	err   error
}

func (m *memory) Before(_ context.Context, id, job string, most int) ([]planning.Turn, error) {
	m.asked = append(m.asked, fmt.Sprint(id, " before ", job, ", ", most))
	return []planning.Turn{{User: "hello", Answer: fmt.Sprint("answer ", len(m.asked))}}, m.err
}

func talking() events.Work {
	w := goal()
	w.Request.Session = "s"
	return w
}

// proves C7
// proves C8
func TestWhatWasSaidIsReadOnceAndAResumedPlanningSeesTheSame(t *testing.T) {
	for _, point := range []Point{AtIntent, AtAnswered} {
		synctest.Test(t, func(t *testing.T) {
			w := newPorts("x")
			m, past := &tongue{says: onePlan}, &memory{}
			w.model, w.past = m, past
			w.dies(t, point, w.delivery(t, talking()))
			<-time.After(time.Minute) // In virtual time: the lease of the dead one passes.
			musttest.Do(t, w.run(t, nil, w.delivery(t, talking())))
			if !strings.Contains(m.heard, "answer 1") || strings.Contains(m.heard, "answer 2") {
				t.Errorf("killed at %s, the model hears %q", point, m.heard)
			}
			starts := 0
			for _, e := range w.Entries {
				if e.Key == startKey {
					starts++
				}
			}
			if starts != 1 || w.facts[0].Kind != events.KindGraphCreated {
				t.Errorf("%d beginnings, %s", starts, w.facts[0].Kind)
			}
		})
	}
}

func TestOnlyWhoPlansWithAModelInASessionLooksBack(t *testing.T) {
	for name, change := range map[string]func(*events.Work){
		"no session":   func(w *events.Work) { w.Request.Session = "" },
		"given plan":   func(w *events.Work) { w.Request.Plan = []byte(onePlan) },
		"given expert": func(w *events.Work) { w.Request.Expert = "x" },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newPorts("x")
				past := &memory{}
				w.model, w.past = &tongue{says: onePlan}, past
				work := talking()
				change(&work)
				if err := w.run(t, nil, w.delivery(t, work)); err != nil || len(past.asked) != 0 || len(w.facts) != 1 {
					t.Errorf("%v, asked %v, %d facts", err, past.asked, len(w.facts))
				}
			})
		})
	}
}

func TestASessionThatCannotBeReadIsTriedAgainBeforeAnybodyIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPorts("x")
		m := &tongue{says: onePlan}
		w.model, w.past = m, &memory{err: errors.New("the bus is away")}
		musttest.Do(t, w.run(t, nil, w.delivery(t, talking())))
		if m.calls != 0 || len(w.facts) != 0 || !strings.Contains(strings.Join(w.lines, ","), "nak") {
			t.Errorf("%d calls, %d facts, %v", m.calls, len(w.facts), w.lines)
		}
	})
}
