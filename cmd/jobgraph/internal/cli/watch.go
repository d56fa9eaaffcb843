package cli

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/history"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/live"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

func (a *app) watchCommand() *cobra.Command {
	var from uint64
	c := &cobra.Command{
		Use: "watch ID", Short: "Watch a job until it ends", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			job, err := jobOf("watch", args[0], "jobgraph watch JOB", "jobgraph describe JOB/SUBJOB")
			if err != nil {
				return err
			}
			if err := a.form(); err != nil {
				return err
			}
			return a.with(func(ctx context.Context, c *client.Client) error {
				if _, err := c.Head(ctx, job); err != nil {
					return a.missing(ctx, c, job, err)
				}
				h, err := a.watch(ctx, c, job, from, a.display())
				if err != nil {
					return err
				}
				a.fetchable(h, true)
				return a.ended(h)
			})
		},
	}
	c.Flags().Uint64Var(&from, "from-seq", 0, "leave out what came before this sequence of the log")
	return c
}

// display is the form that fits the output.
func (a *app) display() live.Form {
	_, _, terminal := a.size()
	switch {
	case a.machine():
		return live.JSON
	case terminal:
		return live.Tree
	}
	return live.Lines
}

// watch follows a job to its end, or with --no-input to where only a person can help.
func (a *app) watch(ctx context.Context, c *client.Client, job string, from uint64, form live.Form) (*history.History, error) {
	head, err := c.Head(ctx, job)
	if err != nil && exitCode(ctx, err) != ExitNotFound {
		return nil, err
	}
	h := history.New()
	show := live.Show{Out: a.sys.Stdout, Form: form, Size: a.size, Paint: a.paint(), Now: a.now, From: from}
	ctx, stop, err := c.WatchQuarantine(ctx, job)
	if err != nil {
		return nil, err
	}
	defer stop()
	defer a.mindful(ctx, c)()
	log := func(ctx context.Context) iter.Seq2[events.Event, error] { return c.Watch(ctx, job, 0) }
	err = show.Follow(ctx, log, h, func() bool {
		last := h.Events[len(h.Events)-1]
		if last.Seq < head {
			return false // What is already past is not the end.
		}
		return over(h) || a.noInput && stuck(h)
	})
	if err != nil && a.soft.Err() == nil {
		within := time.Duration(0)
		if errors.Is(err, history.ErrPoisoned) {
			within = patience // The scheduler meets the same event.
		}
		err = cmp.Or(inQuarantine(ctx, within), err)
	}
	return h, err
}

// over reports whether the end of the job has been told.
func over(h *history.History) bool {
	s := h.Job.View()
	return s.Status.Terminal() && !s.EndOwed
}

// stuck reports whether only a person can help.
func stuck(h *history.History) bool {
	s := h.Job.View()
	if s.Status != events.Waiting {
		return false
	}
	for _, in := range s.Inputs {
		if in.Kind != events.InputTimer && in.Closing == "" {
			return true
		}
	}
	return false
}

// unplanned reports whether a job has failed in planning.
func unplanned(s *graph.State) bool {
	return slices.ContainsFunc(s.SubJobs, func(n *graph.SubJobState) bool { return n.ID == events.PlanID && n.Status == events.Failed })
}

// ended gives the exit code of a watched job.
func (a *app) ended(h *history.History) error {
	if h.Job == nil {
		return outcome(ExitNotFound)
	}
	s := h.Job.View()
	if !s.Status.Terminal() {
		for _, in := range s.Inputs {
			a.note("job %s waits for a person; answer with: jobgraph answer %s %s TEXT", s.ID, s.ID, in.Request)
		}
		return outcome(ExitWaiting)
	}
	return ended(s.Status, s.Error, unplanned(s))
}
