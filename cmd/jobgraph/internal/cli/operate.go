package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/render"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
)

func (a *app) initCommand() *cobra.Command {
	var replicas int
	c := &cobra.Command{
		Use: "init", Short: "Create the streams and buckets, or check those that are there", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if replicas < 1 || replicas > 5 {
				return usageError{fmt.Errorf("--replicas %d: use 1 to 5", replicas)}
			}
			o, err := a.address()
			if err != nil {
				return err
			}
			o.Replicas = replicas
			c, err := a.dial(o, reach)
			if err != nil {
				return err
			}
			defer c.Close()
			if err := c.Bus().Init(a.soft); err != nil {
				return err
			}
			facts, err := c.Bus().Streams(a.soft)
			if err != nil {
				return err
			}
			names := make([]string, len(facts))
			for i, f := range facts {
				names[i] = f.Name
			}
			if a.machine() {
				return render.Value(a.sys.Stdout, a.output, map[string]any{"streams": names})
			}
			return a.printf("%d streams and buckets are there under prefix %s\n", len(names), c.Names().Prefix())
		},
	}
	c.Flags().IntVar(&replicas, "replicas", 1, "copies of each stream that is created; 3 in a cluster")
	return c
}

func (a *app) configCommand() *cobra.Command {
	validate := &cobra.Command{
		Use: "validate [FILE]", Short: "Check the settings of environment and configuration file", Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				a.config = args[0]
				if err := a.check(a); err != nil {
					return err
				}
			}
			if _, err := a.address(); err != nil {
				return err
			}
			return a.printf("the settings are good\n")
		},
	}
	show := &cobra.Command{
		Use: "print", Short: "Print every setting, its value and where it came from; secrets are masked", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := a.form(); err != nil {
				return err
			}
			table := render.Table{Head: []string{"SETTING", "VALUE", "SOURCE", "VARIABLE"}, WideHead: []string{"DEFAULT", "MEANING"}}
			for _, s := range a.flags.List() {
				table.Rows = append(table.Rows, render.Row{
					Name: s.Name, Value: s, Cells: []string{s.Name, dash(s.Value), string(s.Source), s.Env}, Wide: []string{dash(s.Default), s.Usage},
				})
			}
			return table.Write(a.sys.Stdout, a.output)
		},
	}
	return group("config", "Check and print the settings", validate, show)
}

// dlqCommand is about what could not be handled: jobs that the scheduler leaves alone.
func (a *app) dlqCommand() *cobra.Command {
	list := &cobra.Command{
		Use: "ls", Short: "List the jobs that the scheduler leaves alone", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := a.form(); err != nil {
				return err
			}
			return a.with(a.quarantined)
		},
	}
	show := &cobra.Command{
		Use: "show ID", Short: "Show why a job is left alone", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.with(func(ctx context.Context, c *client.Client) error {
				j, err := a.dead(ctx, c, args[0])
				if err != nil {
					return err
				}
				if a.machine() {
					return render.Value(a.sys.Stdout, a.output, j.Quarantined)
				}
				return a.printf("%s: %s\n", j.ID, render.Clean(reason(j.Quarantined)))
			})
		},
	}
	retry := &cobra.Command{
		Use: "retry ID", Short: "Let the scheduler try a job again", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.with(func(ctx context.Context, c *client.Client) error {
				if _, err := a.dead(ctx, c, args[0]); err != nil {
					return err
				}
				if err := c.Recover(ctx, args[0], events.RecoverRequested{By: "cli"}); err != nil {
					return err
				}
				a.note("job %s is tried again", args[0])
				return nil
			})
		},
	}
	return group("dlq", "What could not be handled: see it, and try it again", list, show, retry)
}

func (a *app) quarantined(ctx context.Context, c *client.Client) error {
	jobs, err := c.List(ctx, client.Query{})
	if err != nil {
		return err
	}
	table := render.Table{Head: []string{"JOB", "CODE", "MESSAGE"}, WideHead: []string{"HINT"}}
	for _, j := range jobs {
		if q := j.Quarantined; q != nil {
			table.Rows = append(table.Rows, render.Row{
				Name: j.ID, Value: map[string]any{"job_id": j.ID, "fault": q},
				Cells: []string{j.ID, string(q.Code), short(q.Error(), 100)}, Wide: []string{dash(q.Hint)},
			})
		}
	}
	if len(table.Rows) == 0 && !a.machine() && a.output != "name" {
		a.note("nothing is left alone")
		return nil
	}
	return table.Write(a.sys.Stdout, a.output)
}

// dead is a job that is left alone.
func (a *app) dead(ctx context.Context, c *client.Client, id string) (*client.Job, error) {
	j, err := c.Get(ctx, id)
	if err != nil {
		return nil, a.missing(ctx, c, id, err)
	}
	if j.Quarantined == nil {
		return nil, notFound("quarantined job", id, nil)
	}
	return j, nil
}
