package main_test

import (
	"context"
	"fmt"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/history"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// untilStatus follows a job's log until the job, or a SubJob of it, stands so.
func untilStatus(ctx context.Context, c *client.Client, job, subjob string, want events.Status) error {
	h := history.New()
	for e, err := range c.Watch(ctx, job, 0) {
		if err != nil {
			return fmt.Errorf("await %s of %s/%s: %w", want, job, subjob, err)
		}
		if err := h.Step(e); err != nil {
			return err
		}
		s := h.Job.View()
		if subjob == "" && s.Status == want && (!want.Terminal() || !s.EndOwed) {
			return nil
		}
		for _, n := range s.SubJobs {
			if n.ID == subjob && n.Status == want {
				return nil
			}
		}
	}
	return ctx.Err()
}
