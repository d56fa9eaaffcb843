package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
)

func (a *app) listCommand() *cobra.Command {
	var labelArgs, states []string
	var q client.Query
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List jobs, the newest first", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := a.form(); err != nil {
				return err
			}
			if err := query(&q, labelArgs, states); err != nil {
				return err
			}
			return a.with(func(ctx context.Context, c *client.Client) error { return a.list(ctx, c, q) })
		},
	}
	c.Flags().StringArrayVarP(&labelArgs, "label", "l", nil, "only jobs with this label, KEY=VALUE; repeatable")
	c.Flags().StringSliceVar(&states, "state", nil, "only jobs in these states: RUNNING,FAILED,…")
	c.Flags().StringVar(&q.Session, "session", "", "only jobs of this session")
	c.Flags().StringVar(&q.User, "user", "", "only jobs of this person")
	c.Flags().IntVar(&q.Limit, "limit", 0, "at most so many, 0 for all")
	c.Flags().IntVar(&q.Offset, "offset", 0, "leave out so many of the newest")
	return c
}

// query completes what the flags have not filled in themselves.
func query(q *client.Query, labelArgs, states []string) (err error) {
	if q.Limit < 0 || q.Offset < 0 {
		return usageError{fmt.Errorf("--limit %d, --offset %d: must not be negative", q.Limit, q.Offset)}
	}
	if q.Labels, err = pairs("--label", labelArgs); err != nil {
		return err
	}
	known := []events.Status{
		events.Created, events.Planning, events.Running, events.Waiting, events.Finalizing, events.Finished, events.Failed, events.Stopped,
	}
	for _, s := range states {
		status := events.Status(strings.ToUpper(s))
		if !slices.Contains(known, status) {
			return usageError{fmt.Errorf("--state %q: use one of %v", s, known)}
		}
		q.States = append(q.States, status)
	}
	return nil
}

// pairs reads KEY=VALUE arguments.
func pairs(flag string, args []string) (map[string]string, error) {
	m := map[string]string{}
	for _, arg := range args {
		key, value, ok := strings.Cut(arg, "=")
		if !ok || key == "" {
			return nil, usageError{fmt.Errorf("%s %q: write KEY=VALUE", flag, arg)}
		}
		m[key] = value
	}
	return m, nil
}

// labels writes labels in order.
func labels(m map[string]string) string {
	list := make([]string, 0, len(m))
	for k, v := range m {
		list = append(list, k+"="+v)
	}
	slices.Sort(list)
	return strings.Join(list, ",")
}

func (a *app) list(ctx context.Context, c *client.Client, q client.Query) error {
	jobs, err := c.List(ctx, q)
	if err != nil {
		return err
	}
	table := stateTable()
	for _, j := range jobs {
		var steps []string
		for _, n := range j.SubJobs {
			steps = append(steps, n.ID)
		}
		table.Rows = append(table.Rows, a.row(rowOf{
			j.ID, j.Status, j.Progress.Done, j.Progress.Total, j.Created, j.Ended, j.Title, j.Goal, j.Profile, j.Session, steps, j.Labels, j.Seq, j.Error, j.Quarantined != nil,
		}, j.Raw))
	}
	if len(jobs) == 0 && !a.machine() && a.output != "name" {
		a.note("no jobs; `jobgraph submit` makes one")
		return nil
	}
	return table.Write(a.sys.Stdout, a.output)
}
