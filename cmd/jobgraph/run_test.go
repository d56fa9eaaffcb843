package main_test

import "github.com/jobgraph/jobgraph/pkg/events/schedule"

// awaitRun waits until a run of a schedule has ended, and puts the id of its job into JOB.
func awaitRun(s *script, args []string) {
	facts := s.Bus().Schedules()
	sub, err := facts.Follow(s.ctx)
	s.Check(err)
	defer sub.Stop()
	for {
		list, err := sub.Next(s.ctx, 64)
		s.Check(err)
		for i := range list {
			if f, ok := facts.Fact(&list[i]); ok && f.ID == args[0] && f.Kind == schedule.Ended {
				s.Setenv("JOB", schedule.JobID(f.ID, f.Key))
				return
			}
		}
	}
}
