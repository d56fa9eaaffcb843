package client

import (
	"context"

	"github.com/jobgraph/jobgraph/pkg/joblog"
)

// Fork starts a new job from the present state of another, as Logs.Fork does. To fork from an earlier moment, fold the log
// up to it with Logs.Fold. Errors: those of Logs.Fold and Logs.Fork.
func (c *Client) Fork(ctx context.Context, job string, f joblog.Fork) (*joblog.Forked, error) {
	log, err := c.Logs().Fold(ctx, job, 0)
	if err != nil {
		return nil, err
	}
	return c.Logs().Fork(ctx, log, f)
}

// Diff compares the present states of two jobs: plan, results, calls, tokens and time. SubJobs are matched by the ids that
// a fork gives them, so that a job can be compared with its fork. Deleted payloads are left out. Errors: those of
// Logs.Fold, and of the bus.
func (c *Client) Diff(ctx context.Context, a, b string) (*joblog.Comparison, error) {
	var sides [2]*joblog.Account
	for i, job := range []string{a, b} {
		log, err := c.Logs().Fold(ctx, job, 0)
		if err != nil {
			return nil, err
		}
		calls := func(subjob string) ([]joblog.Call, error) { return c.Journals().CallsOf(ctx, log, subjob) }
		if sides[i], err = log.Account(calls, c.Logs().kept(ctx, job)); err != nil {
			return nil, err
		}
	}
	return joblog.Compare(sides[0], sides[1]), nil
}
