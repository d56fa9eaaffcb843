package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/watch"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/pkg/run/lease"
)

func (g views) watchCommand() *cobra.Command {
	var from uint64
	var live bool
	c := &cobra.Command{
		Use: "watch ID", Short: "Watch a job until it ends", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			job, err := jobOf("watch", args[0], "jobgraph watch JOB", "jobgraph describe JOB/SUBJOB")
			if err != nil {
				return err
			}
			return g.app.with(func(ctx context.Context, c *client.Client) error {
				if err := g.admission(ctx, c, job); err != nil {
					return err
				}
				g.app.followed()
				h, err := g.watchLive(ctx, c, job, from, live)
				if err != nil {
					return err
				}
				g.app.files.fetchable(h, true)
				if h.Job == nil || g.app.machine() || !h.Job.View().Status.Terminal() {
					return g.ended(h)
				}
				return g.app.runs.finish(h, c, nil)
			})
		},
	}
	c.Flags().Uint64Var(&from, "from-seq", 0, "skip what came before this sequence of the log")
	c.Flags().BoolVar(&live, "live", false, "also show what experts say and do, line by line")
	return c
}

// lookAgain is the time between two checks for a job whose request waits in the queue.
const lookAgain = 200 * time.Millisecond

// admission waits for a job whose request is in the queue, as it is while no scheduler runs. Errors: that of a job that neither
// exists nor was requested, and those of the bus.
func (g views) admission(ctx context.Context, c *client.Client, job string) error {
	_, err := c.Head(ctx, job)
	if errors.Is(err, client.ErrNotAdmitted) {
		g.app.note("job %s is not admitted yet: its request waits in the queue", job)
		defer g.app.mindful(ctx, c)()
	}
	for errors.Is(err, client.ErrNotAdmitted) {
		if err := lease.Pause(ctx, lookAgain); err != nil {
			return err
		}
		if _, err = c.Head(ctx, job); err != nil && !errors.Is(err, client.ErrNotAdmitted) {
			_, err = c.Head(ctx, job) // It may have moved from the queue to the log between the two checks of the first call.
		}
	}
	if err != nil {
		return g.missing(ctx, c, job, err)
	}
	return nil
}

// display returns the form that fits the output.
func (g views) display() watch.Form {
	switch {
	case g.app.machine():
		return watch.JSON
	case g.app.screen():
		return watch.Tree
	}
	return watch.Lines
}

// watchLive is like watch, with live items among the transitions if live is true. A tree that is redrawn has no place
// for them.
func (g views) watchLive(ctx context.Context, c *client.Client, job string, from uint64, live bool) (*joblog.Log, error) {
	form := g.display()
	if !live {
		return g.watch(ctx, c, job, from, form)
	}
	if form == watch.Tree {
		form = watch.Lines
	}
	out := &lockedWriter{out: g.app.sys.Stdout}
	stop := g.beside(ctx, c, job, out)
	h, err := g.watchTo(ctx, c, job, from, form, out)
	stop(err == nil && h.Job != nil && over(h))
	return h, err
}

// watch follows a job to its end or, with --no-input, until only a person can help.
func (g views) watch(ctx context.Context, c *client.Client, job string, from uint64, form watch.Form) (*joblog.Log, error) {
	return g.watchTo(ctx, c, job, from, form, g.app.sys.Stdout)
}

// watchTo is like watch, with another output.
func (g views) watchTo(ctx context.Context, c *client.Client, job string, from uint64, form watch.Form, out io.Writer) (*joblog.Log, error) {
	return g.watchUntil(ctx, c, job, display{form: form, from: from, out: out}, func(h *joblog.Log) bool { return over(h) || g.app.noInput && stuck(h) })
}

// display says how a job is shown: from which sequence, with live items if talk is set, and without a tree at the end if brief is
// set.
type display struct {
	form  watch.Form
	from  uint64
	out   io.Writer
	talk  *watch.Talk
	brief bool
}

// watchUntil follows a job until done returns true; done is called when all events up to the call have been shown.
func (g views) watchUntil(ctx context.Context, c *client.Client, job string, d display, done func(h *joblog.Log) bool) (*joblog.Log, error) {
	head, err := c.Head(ctx, job)
	if err != nil && exitCode(ctx, err) != ExitNotFound {
		return nil, err
	}
	h := joblog.New()
	show := watch.Show{Out: d.out, Form: d.form, Size: g.app.size, Paint: g.app.paint(), Now: g.app.now, From: d.from, Talk: d.talk, Brief: d.brief}
	ctx, stop, err := c.Quarantine().Watch(ctx, job)
	if err != nil {
		return nil, err
	}
	defer stop()
	defer g.app.mindful(ctx, c)()
	log := func(ctx context.Context) iter.Seq2[events.Event, error] { return c.Watch(ctx, job, 0) }
	err = show.Follow(ctx, log, h, func() bool {
		last := h.Events[len(h.Events)-1]
		if last.Seq < head {
			return false // Past events are not the end.
		}
		return done(h)
	})
	if err != nil && g.app.soft.Err() == nil {
		within := time.Duration(0)
		if errors.Is(err, joblog.ErrPoisoned) {
			within = patience // The scheduler will run into the same event.
		}
		err = cmp.Or(inQuarantine(ctx, within), err)
	}
	return h, err
}

// over reports whether the end of the job has been shown.
func over(h *joblog.Log) bool {
	s := h.Job.View()
	return s.Status.Terminal() && !s.EndOwed
}

// stuck reports whether only a person can help.
func stuck(h *joblog.Log) bool {
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

// unplanned reports whether a job failed in planning.
func unplanned(s *graph.State) bool {
	return slices.ContainsFunc(s.SubJobs, func(n *graph.SubJobState) bool { return n.ID == events.PlanID && n.Status == events.Failed })
}

// ended returns the exit code of a watched job.
func (g views) ended(h *joblog.Log) error {
	if h.Job == nil {
		return outcome(ExitNotFound)
	}
	s := h.Job.View()
	if !s.Status.Terminal() {
		for _, q := range questions(h) {
			g.app.note("job %s waits for a person; answer with: %s", s.ID, graph.AnswerCommand(s.ID, q.Request, q.Kind))
		}
		return outcome(ExitWaiting)
	}
	return ended(s)
}
