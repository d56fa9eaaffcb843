package cli

import (
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/pkg/jobtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	planner "github.com/jobgraph/jobgraph/services/planner/app"
)

func TestAPlannerTakesThePlanOfAForkWhoseSubJobsHadNoOutput(t *testing.T) {
	r := musttest.Get(jobtest.Script{
		Default: func(events.Work) events.SubJobReported { return events.SubJobReported{Outcome: events.Success} },
		Plan: &events.Plan{SubJobs: []events.SubJob{
			{ID: "look", Goal: "look", Expert: "e"}, {ID: "pay", Goal: "pay", Expert: "e", Dependencies: []string{"look"}, When: "look.bad"},
		}},
	}.Run())(t)
	log := joblog.New()
	for _, e := range r.Events {
		musttest.Do(t, log.Step(e))
	}
	made := musttest.Get(log.Fork(joblog.Fork{ID: "fork"}, nil))(t)
	p, faults, _ := planner.Check(made.Request.Plan, []events.Card{{ID: "e", Name: "e"}}, 0)
	if p == nil {
		t.Fatal(faults)
	}
	for i := range p.SubJobs {
		if s := &p.SubJobs[i]; !s.Done() {
			t.Errorf("%s is to be done again", s.ID)
		}
	}
}

func TestADiffShowsNoTimeWhereThereIsNone(t *testing.T) {
	for _, test := range []struct {
		account joblog.Account
		want    string
	}{
		{joblog.Account{Status: events.Running}, "-"},
		{joblog.Account{Status: events.Finished}, "0ms"},
		{joblog.Account{Status: events.Failed, DurationMS: 1200}, "1.2s"},
	} {
		if got := took(&test.account); got != test.want {
			t.Errorf("%+v: %s, want %s", test.account, got, test.want)
		}
	}
	if got := both(&joblog.Deviation{A: &joblog.SubJobAccount{}, B: &joblog.SubJobAccount{Runs: 1}}, tookInRuns); got != "- → 0ms" {
		t.Error(got)
	}
}
