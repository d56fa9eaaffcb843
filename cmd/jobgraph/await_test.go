package main_test

import (
	"context"
	"fmt"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/joblog"
)

// untilStatus follows a job's log until the job, or one of its SubJobs, has a status.
func untilStatus(ctx context.Context, c *client.Client, job, subjob string, want events.Status) error {
	h := joblog.New()
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

// untilSaved waits until the saved state, which lists show, has the status too.
func untilSaved(ctx context.Context, c *client.Client, job string, want events.Status) error {
	changed := make(chan struct{}, 1)
	stop, err := c.Bus().State().WatchKey(ctx, job, func(bus.Entry) {
		select {
		case changed <- struct{}{}:
		default: // It is looked at already.
		}
	})
	if err != nil {
		return fmt.Errorf("await saved %s of %s: %w", want, job, err)
	}
	defer stop()
	for {
		list, err := c.List(ctx, client.Query{})
		if err != nil {
			return fmt.Errorf("await saved %s of %s: %w", want, job, err)
		}
		if slices.ContainsFunc(list, func(j *client.Job) bool { return j.ID == job && j.Status == want }) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("await saved %s of %s: %w", want, job, ctx.Err())
		}
	}
}
