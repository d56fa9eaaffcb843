package main_test

import (
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/jobgraph/jobgraph/pkg/events/schedule"
)

// awaitRun waits until a run of a schedule has ended, and puts the id of its job into JOB.
func awaitRun(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: awaitrun SCHEDULE")
	}
	c, ctx, done := connect(ts)
	defer done()
	facts := c.Bus().Schedules()
	sub, err := facts.Follow(ctx)
	ts.Check(err)
	defer sub.Stop()
	for {
		list, err := sub.Next(ctx, 64)
		ts.Check(err)
		for i := range list {
			if f, ok := facts.Fact(&list[i]); ok && f.ID == args[0] && f.Kind == schedule.Ended {
				ts.Setenv("JOB", schedule.JobID(f.ID, f.Key))
				return
			}
		}
	}
}
