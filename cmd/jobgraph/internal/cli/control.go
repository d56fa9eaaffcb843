package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/plainjson"
	"github.com/jobgraph/jobgraph/pkg/joblog"
)

// controls are the commands that change a job: stop, fail, recover, retry, rerun, delete.
type controls struct{ app *app }

// act publishes a control event of a job and reports whether the fold accepted it: an illegal event is a conflict. With end
// it waits until the job has ended.
func (g controls) act(t target, kind events.Kind, end bool, data func(h *joblog.Log) any) error {
	return g.app.with(func(ctx context.Context, c *client.Client) error {
		h, err := g.app.load(ctx, c, t)
		if err != nil {
			return err
		}
		return g.tell(ctx, c, h, kind, end, data(h))
	})
}

func (g controls) tell(ctx context.Context, c *client.Client, h *joblog.Log, kind events.Kind, end bool, data any) error {
	if err := c.Logs().Tell(ctx, h, kind, data); err != nil {
		return err
	}
	if end {
		if err := g.untilEnd(ctx, c, h); err != nil {
			return err
		}
	}
	return g.acted(h)
}

func (g controls) untilEnd(ctx context.Context, c *client.Client, h *joblog.Log) error {
	if over(h) {
		return nil
	}
	defer g.app.mindful(ctx, c)()
	last := h.Last()
	for e, err := range c.Watch(ctx, h.Job.ID, last+1) {
		if err != nil {
			return err
		}
		if err := h.Step(e); err != nil {
			return err
		}
		if over(h) {
			return nil
		}
	}
	return ctx.Err()
}

func (g controls) acted(h *joblog.Log) error {
	s := h.Job.View()
	if g.app.machine() {
		return output.Value(g.app.sys.Stdout, g.app.output, map[string]any{"job_id": s.ID, "status": s.Status, "seq": s.Seq})
	}
	return g.app.printf("%s %s\n", s.ID, s.Status)
}

// endFlags are the flags of stop and fail.
type endFlags struct {
	reason       string
	only, noWait bool
}

func (g controls) endCommand(use, short string, kind events.Kind, data func(events.StopRequested) any) *cobra.Command {
	var f endFlags
	c := &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			t, err := parseTarget(args[0])
			if err != nil {
				return err
			}
			if f.only && t.subjob == "" {
				return usageError{errors.New("--only needs ID/SUBJOB")}
			}
			return g.end(t, kind, !f.only && !f.noWait, data(events.StopRequested{SubJob: t.subjob, Only: f.only, Reason: f.reason, By: g.app.by()}))
		},
	}
	c.Flags().BoolVar(&f.only, "only", false, "that SubJob and its dependents only; the rest of the job continues")
	c.Flags().StringVar(&f.reason, "reason", "", "why, for people; stored in the state")
	c.Flags().BoolVar(&f.noWait, "no-wait", false, "do not wait for the end of the job")
	return c
}

// end ends a job or a part of it. If the job is in quarantine, it ends at least its work.
func (g controls) end(t target, kind events.Kind, wait bool, data any) error {
	return g.app.with(func(ctx context.Context, c *client.Client) error {
		h, err := g.app.look(ctx, c, t)
		if err != nil && !errors.Is(err, client.ErrQuarantined) && !errors.Is(err, client.ErrNotAdmitted) {
			return err
		}
		if err == nil && h.Aside == nil {
			return g.tell(ctx, c, h, kind, wait, data)
		}
		switch d := data.(type) {
		case *events.StopRequested:
			err = c.Stop(ctx, t.job, *d)
		case *events.FailRequested:
			err = c.Fail(ctx, t.job, *d)
		}
		if err == nil { // The obstacle no longer matters once the job ends.
			if h, err = g.app.look(ctx, c, target{job: t.job}); err == nil {
				err = g.acted(h)
			}
			return err
		}
		if errors.Is(err, client.ErrQuarantined) {
			g.app.note("its running work was ended and what waited was taken back; the job itself stays in quarantine")
		}
		return err
	})
}

func (g controls) stopCommand() *cobra.Command {
	return g.endCommand("stop ID[/SUBJOB]", "Stop a job, and kill what runs", events.KindStopRequested,
		func(s events.StopRequested) any { return &s })
}

func (g controls) failCommand() *cobra.Command {
	return g.endCommand("fail ID[/SUBJOB]", "Declare a job, or a SubJob of it, failed", events.KindFailRequested,
		func(s events.StopRequested) any { f := events.FailRequested(s); return &f })
}

func (g controls) recoverCommand() *cobra.Command {
	var from string
	c := &cobra.Command{
		Use: "recover ID", Short: "Resume a stopped or failed job; finished work is kept", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			job, err := jobOf("recover", args[0], "jobgraph recover JOB lets all of it go on", "jobgraph recover JOB --from SUBJOB runs that one and its dependents again")
			if err != nil {
				return err
			}
			return g.act(target{job, from}, events.KindRecoverRequested, false, func(*joblog.Log) any {
				return &events.RecoverRequested{From: from, By: g.app.by()}
			})
		},
	}
	c.Flags().StringVar(&from, "from", "", "run this finished SubJob and its dependents again")
	return c
}

func (g controls) retryCommand() *cobra.Command {
	return &cobra.Command{
		Use: "retry ID/SUBJOB", Short: "Run a failed or stopped SubJob again", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			t, err := subjobOf(args[0])
			if err != nil {
				return err
			}
			return g.act(t, events.KindRetryRequested, false, func(h *joblog.Log) any {
				return &events.RetryRequested{SubJob: t.subjob, Run: h.Node(t.subjob).Run, By: g.app.by()}
			})
		},
	}
}

func (g controls) rerunCommand() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use: "rerun ID/SUBJOB", Short: "Run the job again from a SubJob, with edited input", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			t, err := subjobOf(args[0])
			if err != nil {
				return err
			}
			var edit json.RawMessage
			if file != "" {
				if edit, err = g.readEdit(file); err != nil {
					return err
				}
			}
			return g.act(t, events.KindRerunRequested, false, func(h *joblog.Log) any {
				return &events.RerunRequested{SubJob: t.subjob, Run: h.Node(t.subjob).Run, Edit: edit, By: g.app.by()}
			})
		},
	}
	c.Flags().StringVar(&file, "edit", "", "JSON or YAML with the fields to replace: goal, context, completion_criteria, thinking, expert, timeout")
	return c
}

// readEdit checks an edit: an object that contains only editable fields.
func (g controls) readEdit(file string) (json.RawMessage, error) {
	body, err := g.app.documents.document(file)
	if err != nil {
		return nil, err
	}
	var edit struct {
		Goal     *string          `json:"goal"`
		Context  *string          `json:"context"`
		Criteria *string          `json:"completion_criteria"`
		Thinking *string          `json:"thinking"`
		Expert   *string          `json:"expert"`
		Pool     *string          `json:"pool"`
		Pure     *bool            `json:"pure"`
		Timeout  *events.Duration `json:"timeout"`
	}
	if err := json.Unmarshal(body, &edit); err != nil {
		return nil, usageError{&events.Fault{
			Code: events.CodeInvalid, Field: file, Message: "no edit", Cause: plainjson.Misfit(err),
			Hint: "write an object with some of goal, context, completion_criteria, thinking, expert, pool, pure, timeout",
		}}
	}
	var faults events.Faults
	for _, stray := range plainjson.Strays(body, &edit) {
		f := events.Fault{Code: events.CodeUnknownField, Field: file + ": " + stray.Path, Message: fmt.Sprintf("unknown field %.80q", stray.Path), Hint: knownFields + strings.Join(stray.Known, ", ")}
		if stray.Path == "inputs" {
			f.Code, f.Message = events.CodeInvalid, "inputs cannot be edited: they belong to the job as it was asked for"
			f.Hint = "for other inputs submit the job again, or say in goal or context what is different"
		}
		faults = append(faults, f)
	}
	if err := faults.OrNil(); err != nil {
		return nil, usageError{err}
	}
	return body, nil
}

func (g controls) deleteCommand() *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use: "delete ID", Short: "Delete a job that has ended, with everything stored for it", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			job, err := jobOf("delete", args[0], "jobgraph delete JOB removes all of it; a part cannot be removed")
			if err != nil {
				return err
			}
			return g.app.with(func(ctx context.Context, c *client.Client) error {
				_, absent := c.Head(ctx, job)
				if absent != nil && (!errors.Is(absent, bus.ErrNotFound) || errors.Is(absent, client.ErrNotAdmitted)) {
					return g.app.views.missing(ctx, c, job, absent)
				}
				if force && absent == nil {
					if err := c.Stop(ctx, job, events.StopRequested{Reason: "deleted", By: g.app.by()}); err != nil && !errors.Is(err, bus.ErrConflict) {
						return err
					}
				}
				if err := c.Delete(ctx, job); err != nil {
					return g.app.views.missing(ctx, c, job, err)
				}
				if absent == nil {
					g.app.note("job %s is gone", job)
				} else {
					g.app.note("there is no job %s; what was left under its id is gone", job)
				}
				if g.app.machine() {
					return output.Value(g.app.sys.Stdout, g.app.output, map[string]any{"job_id": job, "deleted": true})
				}
				return nil
			})
		},
	}
	c.Flags().BoolVar(&force, "force", false, "stop it first if it has not ended")
	return c
}
