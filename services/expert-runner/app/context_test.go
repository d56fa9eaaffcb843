package app_test

import (
	"testing"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/expert-runner/app"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/a2a/a2atest"
)

// One session and one remote agent share one context, across jobs and restarts; another session has another.
// proves V22
func TestARemoteAgentKnowsASessionAgainAlsoAfterARestart(t *testing.T) {
	for name, settings := range peers() {
		t.Run(name, func(t *testing.T) {
			agent := a2atest.Start(t, settings, func(s *a2atest.Stage) {
				s.Begin()
				s.Make("r", false, sdk.NewTextPart("done"))
				s.Say(sdk.TaskStateCompleted, "")
			})
			servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
				s := remote(t, agent, "")
				one := start(w, s, app.Deps{Owner: "one"})
				do := func(job, session string) {
					t.Helper()
					o := work("desk", job, "a", 1)
					o.Session = session
					w.Issue(o)
					if got := w.Report(o); got.Outcome != events.Success {
						t.Fatalf("%+v", got)
					}
					w.Idle()
				}
				do("j1", "s")
				if err := one.Stop(); err != nil {
					t.Error(err)
				}
				start(w, s, app.Deps{Owner: "two"})
				do("j2", "s")
				do("j3", "other")
				do("j4", "")
				do("j5", "s")
				heard := agent.Heard()
				var said []string
				for _, h := range heard {
					said = append(said, h.Message.ContextID)
				}
				kept := musttest.Get(w.Bus.RemoteContext(t.Context(), "s", "desk"))(t)
				if len(said) != 5 || said[0] != "" || kept == "" || said[1] != kept || said[2] != "" || said[3] != "" || said[4] != kept {
					t.Errorf("the agent was told the contexts %q, %q is kept", said, kept)
				}
			})
		})
	}
}
