package stack_test

import (
	"slices"
	"testing"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/secure"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// A runner in a separate account answers those who may read, and only them.
func TestARunnerBehindItsAccountAnswersWhoMayRead(t *testing.T) {
	l, k := fortress(t, secure.Change{}, shouting(t))
	for _, name := range []string{"client", "viewer", "admin"} {
		supply := client.SupplyOf(enter(t, l, k, name))
		runners, err := supply.Runners(t.Context())
		if err != nil || len(runners) != 1 || !slices.ContainsFunc(runners[0].Experts, func(x verb.RunnerExpert) bool {
			return x.ID == "shout-expert" && x.Kind == "command" && x.Pool == events.DefaultPool
		}) {
			t.Errorf("%s sees the runners %+v (%v)", name, runners, err)
		}
		if runs, err := supply.Runs(t.Context(), verb.RunQuery{}); err != nil || len(runs.Runs) != 0 || runs.Total != 0 {
			t.Errorf("%s sees the runs %+v (%v)", name, runs, err)
		}
	}
}
