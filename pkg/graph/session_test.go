package graph

import (
	"fmt"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// handed is a step that is handed off.
func handed(id string, deps ...string) events.SubJob {
	s := sub(id, deps...)
	s.Handoff = true
	return s
}

// told lists the log's events about sessions.
func (g *engine) told() (list []string) {
	for _, e := range g.log {
		if d, ok := e.Data.(*events.SessionMoved); ok {
			list = append(list, fmt.Sprintf("%s %s %s", e.Kind, d.Session, d.Status))
		}
	}
	return list
}

// proves V-T7
// proves V16
// proves V-T12
func TestAHandedOffStepHasASessionOfItsOwnWithOneBeginningAndOneEnd(t *testing.T) {
	for _, end := range []struct {
		name string
		do   func(g *engine)
		want []string
	}{
		{"well", func(g *engine) { g.succeed("a", "b") }, []string{"session.started j~a READY", "session.ended j~a FINISHED"}},
		{"badly", func(g *engine) {
			g.outcome("a", events.ExecutionError, "no")
			g.tell(events.KindRetryRequested, "", 0, "", &events.RetryRequested{SubJob: "a"})
			g.succeed("a", "b")
		}, []string{"session.started j~a READY", "session.ended j~a FAILED"}},
		{"stopped", func(g *engine) {
			g.tell(events.KindStopRequested, "", 0, "", &events.StopRequested{})
		}, []string{"session.started j~a READY", "session.ended j~a STOPPED"}},
	} {
		t.Run(end.name, func(t *testing.T) {
			g := start(t, func(r *events.Rules) { r.Retries = 0 })
			g.plan("~plan", handed("a"), sub("b", "a"))
			g.wantOpen("a/1")
			if got := g.orders["a/1"].Session; got != ChildSession(g.job.State.ID, "a") {
				t.Errorf("session of the work: %q", got)
			}
			end.do(g)
			musttest.Equal(t, end.want, g.told())
			if len(g.job.Facts) != 0 {
				t.Errorf("still owed: %v", g.job.Facts)
			}
		})
	}
}

// proves V-T7
func TestAStepThatIsNotHandedOffStaysInTheSessionOfItsJob(t *testing.T) {
	g := start(t, nil)
	g.plan("~plan", sub("a"))
	g.wantOpen("a/1")
	if got := g.orders["a/1"].Session; got != "" {
		t.Errorf("session of the work: %q", got)
	}
	g.succeed("a")
	if got := g.told(); got != nil {
		t.Errorf("told %v", got)
	}
}
