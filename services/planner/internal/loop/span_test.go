package loop

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/jobgraph/jobgraph/pkg/events/store"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func TestASpanEndsWithWhatCameOfTheDelivery(t *testing.T) {
	for name, test := range map[string]struct {
		before  func(w *ports)
		subject string
		want    string
	}{
		"answered":        {want: "plan under 00-trace of j: , outcome graph.created"},
		"stated before":   {before: func(w *ports) { w.logErr = store.ErrConflict }, want: "plan under 00-trace of j: , outcome "},
		"the bus is away": {before: func(w *ports) { w.logErr = errors.New("away") }, want: "plan under 00-trace of j: given back, outcome "},
		"no work":         {subject: "jobs.other", want: "plan under 00-trace of : its subject names no run, outcome "},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newPorts("x")
				if test.before != nil {
					test.before(w)
				}
				var ended []string
				w.trace = func(parent, name string, attributes ...string) (string, func(string, ...string)) {
					job := ""
					for i := 0; i < len(attributes); i += 2 {
						if attributes[i] == "job" {
							job = attributes[i+1]
						}
					}
					return "00-span", func(failure string, attributes ...string) {
						ended = append(ended, name+" under "+parent+" of "+job+": "+failure+", "+strings.Join(attributes, " "))
					}
				}
				d := w.delivery(t, order(onePlan))
				if test.subject != "" {
					d.Subject = test.subject
				}
				musttest.Do(t, w.run(t, nil, d))
				musttest.Equal(t, []string{test.want}, ended)
				for _, e := range w.facts {
					if e.Trace != "00-span" {
						t.Errorf("%s belongs to %s", e.Kind, e.Trace)
					}
				}
			})
		})
	}
}
