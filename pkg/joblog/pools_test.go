package joblog_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func TestARecordCountsOnlyOfAPoolThatHadTheRun(t *testing.T) {
	p := musttest.Get(joblog.SavedPools([]byte(`{"subjobs":[{"id":"~plan"},{"id":"a","pool":"new","former":[{"pool":"old","run":2}]},{"id":"~final","pool":"~planner","former":[{"pool":"own","run":1}]}]}`)))(t)
	for _, c := range []struct {
		subjob, pool string
		run          int
		counts       bool
	}{
		{"a", "", 9, true},
		{"a", "new", 3, true},
		{"a", "new", 1, true},
		{"a", "old", 2, true},
		{"a", "old", 3, false},
		{"a", "foe", 1, false},
		{"~final", "own", 1, true},
		{"~final", "own", 2, false},
		{"~plan", "foe", 1, false},
		{"ghost", "foe", 1, false},
		{"ghost", "", 1, true},
		{"~plan~1~investigate-1-1", "any", 1, true},
	} {
		if got := p.Counts(c.subjob, c.pool, c.run); got != c.counts {
			t.Errorf("%+v: %t", c, got)
		}
	}
	for run, want := range map[int]string{1: "old", 2: "old", 3: "new"} {
		if got := p.OfRun("a", run); got != want {
			t.Errorf("run %d is of %q", run, got)
		}
	}
	if p.OfRun("~final", 2) != "" || p.OfRun("ghost", 1) != "" {
		t.Error("a run of the planner, or of nothing, has a pool")
	}
	if pool, former := p.Of("a"); pool != "new" || !cmp.Equal(former, []events.Tenure{{Pool: "old", Run: 2}}) {
		t.Errorf("%s after %v", pool, former)
	}
	var none *joblog.Log
	if len(none.Pools()) != 0 || len(joblog.New().Pools()) != 0 {
		t.Error("an empty log has pools")
	}
	if _, err := joblog.SavedPools([]byte("{")); err == nil {
		t.Error("half a state is read")
	}
}
