package cli

import (
	"context"
	"fmt"
	"iter"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/drawing"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

func (g views) eventsCommand() *cobra.Command {
	var follow, transitions bool
	var from uint64
	c := &cobra.Command{
		Use: "events ID", Short: "Print a job's events in order", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			job, err := jobOf("events", args[0], "jobgraph events JOB shows those of all its SubJobs", "jobgraph describe JOB/SUBJOB")
			if err != nil {
				return err
			}
			return g.app.with(func(ctx context.Context, c *client.Client) error {
				if _, err := c.Head(ctx, job); err != nil {
					return g.missing(ctx, c, job, err)
				}
				return g.events(ctx, c, job, from, follow, transitions)
			})
		},
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "keep printing new events")
	c.Flags().Uint64Var(&from, "from-seq", 0, "start at this sequence of the log")
	c.Flags().BoolVar(&transitions, "transitions", false, "print what happened to SubJobs instead, derived from the events")
	return c
}

// missing converts the absence of a job to an error that suggests similar ids.
func (g views) missing(ctx context.Context, c *client.Client, job string, err error) error {
	if exitCode(ctx, err) == ExitNotFound {
		return g.app.unknownJob(ctx, c, job)
	}
	return err
}

func (g views) events(ctx context.Context, c *client.Client, job string, from uint64, follow, transitions bool) error {
	log := c.Events(ctx, job, 0)
	if follow {
		g.app.followed()
		log = c.Watch(ctx, job, 0)
	}
	if transitions {
		return g.transitions(log, from)
	}
	var rows []output.Row
	for e, err := range log {
		if err != nil {
			return err
		}
		if e.Seq < from {
			continue
		}
		row := eventRow(e)
		if follow || g.app.output == "jsonl" || g.app.output == "" {
			if err := g.printRow(row); err != nil {
				return err
			}
			continue
		}
		rows = append(rows, row)
	}
	if rows == nil {
		return nil
	}
	return g.app.write(output.Table{Head: eventHead(), Rows: rows})
}

func eventHead() []string { return []string{"SEQ", "TIME", "KIND", "SUBJOB", "RUN", "WHAT"} }

// printRow prints one row at once, as a line of text or of JSON.
func (g views) printRow(r output.Row) error {
	if g.app.machine() {
		return output.Line(g.app.sys.Stdout, r.Value)
	}
	return g.printLine(fmt.Sprintf("%6s  %s  %-18s  %-16s  %3s  %s", cleaned(r.Cells)...))
}

// printLine prints a line of text; on a terminal, as much of it as fits a row, unless -o wide wants all of it.
func (g views) printLine(line string) error {
	if width, _, terminal := g.app.size(); terminal && g.app.output != "wide" {
		line = drawing.Cut(line, width)
	}
	return g.app.printf("%s\n", line)
}

func cleaned(cells []string) []any {
	list := make([]any, len(cells))
	for i, c := range cells {
		list[i] = output.Clean(c)
	}
	return list
}

func eventRow(e events.Event) output.Row {
	run := ""
	if e.Run > 0 {
		run = fmt.Sprint(e.Run)
	}
	return output.Row{
		Name:  fmt.Sprint(e.Seq),
		Value: verb.EventOf(&e),
		Cells: []string{fmt.Sprint(e.Seq), e.Time.Format("15:04:05.000"), string(e.Kind), e.SubJob, run, short(summary(e), 100)},
	}
}

// summary describes an event in a few words.
func summary(e events.Event) string {
	if e.Fault != nil {
		return e.Fault.Error()
	}
	switch d := e.Data.(type) {
	case *events.JobRequested:
		return d.Request.Goal
	case *events.GraphCreated:
		if d.Plan != nil {
			return fmt.Sprintf("%d SubJobs", len(d.Plan.SubJobs))
		}
	case *events.PlanRejected:
		return d.Faults.Error()
	case *events.SubJobReported:
		text := string(d.Outcome)
		if d.Lesson != "" {
			text += ": " + d.Lesson
		} else if d.Error != nil {
			text += ": " + d.Error.Error()
		}
		return text
	case *events.SubJobProgressed:
		return fmt.Sprintf("%d/%d %s", d.Done, d.Total, d.Message)
	case *events.SubJobStarted:
		return "by " + d.Owner
	case *events.InputRequested:
		return string(d.Kind) + ": " + d.Prompt
	case *events.InputClosed:
		return string(d.Action) + " " + string(d.Answer)
	case *events.JobMoved:
		return string(d.Status) + " " + d.Reason
	case *events.SessionMoved:
		return d.Session + " " + string(d.Status)
	case *events.JobEnded:
		return string(d.Status) + " " + d.Reason
	case *events.JobAdvanced:
		return fmt.Sprintf("%d transitions", len(d.Transitions))
	case *events.StopRequested:
		return d.SubJob + " " + d.Reason
	case *events.FailRequested:
		return d.SubJob + " " + d.Reason
	case *events.TimerFired:
		return d.Timer
	}
	return e.Key
}

// transitions derives the transitions of SubJobs by folding.
func (g views) transitions(log iter.Seq2[events.Event, error], from uint64) error {
	h := joblog.New()
	for e, err := range log {
		if err != nil {
			return err
		}
		if err := h.Step(e); err != nil {
			return err
		}
		for _, t := range h.Job.Transitions() {
			if t.Cause < from {
				continue
			}
			if g.app.machine() {
				err = output.Line(g.app.sys.Stdout, t)
			} else {
				err = g.printLine(fmt.Sprintf("%6d  %s  %-10s %s run %d", t.Cause, e.Time.Format("15:04:05.000"), t.Transition, t.SubJob, t.Run))
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
