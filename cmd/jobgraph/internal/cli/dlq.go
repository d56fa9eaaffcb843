package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/render"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
)

// dlqCommand is about what could not be handled: jobs that the scheduler leaves alone, requests that were rejected, and work
// that names no run.
func (a *app) dlqCommand() *cobra.Command {
	list := &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List what was set aside: jobs in quarantine, rejected requests, malformed work", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := a.form(); err != nil {
				return err
			}
			return a.with(a.deadList)
		},
	}
	show := &cobra.Command{
		Use: "show ID", Short: "Show why something was set aside, and what it is", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.withDead(args[0], func(_ context.Context, _ *client.Client, d client.Dead) error { return a.showDead(d) })
		},
	}
	retry := &cobra.Command{
		Use: "retry ID", Short: "Let something that was set aside be tried again", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return a.withDead(args[0], a.retryDead) },
	}
	return group("dlq", "What could not be handled: see it, and try it again", list, show, retry)
}

func (a *app) withDead(id string, do func(context.Context, *client.Client, client.Dead) error) error {
	if err := a.form(); err != nil {
		return err
	}
	return a.with(func(ctx context.Context, c *client.Client) error {
		d, err := c.DeadBy(ctx, id)
		if err != nil {
			return err
		}
		return do(ctx, c, d)
	})
}

func (a *app) deadList(ctx context.Context, c *client.Client) error {
	list, err := c.Dead(ctx)
	if err != nil {
		return err
	}
	table := render.Table{Head: []string{"ID", "KIND", "SINCE", "CODE", "MESSAGE"}, WideHead: []string{"SUBJECT", "HINT"}}
	for _, d := range list {
		table.Rows = append(table.Rows, render.Row{
			Name: d.ID, Value: d,
			Cells: []string{d.ID, d.Kind, d.Since.UTC().Format(time.RFC3339), string(d.Fault.Code), short(d.Fault.Error(), 100)},
			Wide:  []string{dash(d.Subject), dash(d.Fault.Hint)},
		})
	}
	if len(table.Rows) == 0 && !a.machine() && a.output != "name" {
		a.note("nothing was set aside")
		return nil
	}
	return table.Write(a.sys.Stdout, a.output)
}

func (a *app) showDead(d client.Dead) error {
	if a.machine() {
		return render.Value(a.sys.Stdout, a.output, d)
	}
	if a.output == "name" {
		return a.printf("%s\n", d.ID)
	}
	text := d.ID + " was set aside at " + d.Since.UTC().Format(time.RFC3339) + "\n" + reason(&d.Fault) + "\n"
	if d.Subject != "" {
		text += "published on " + d.Subject + "\n"
	}
	if len(d.Body) > 0 {
		text += short(readable(d.Body), 4000) + "\n"
	}
	return a.printf("%s", render.Clean(text))
}

// retryDead tries again and says what came of it, as far as that is known at once.
func (a *app) retryDead(ctx context.Context, c *client.Client, d client.Dead) error {
	job, err := c.RetryDead(ctx, d)
	if err != nil {
		return err
	}
	switch {
	case d.Kind == client.DeadJob:
		a.note("the scheduler takes job %s up again; `jobgraph get %s` shows whether it stumbles again", job, job)
	case job == "" && d.Kind == bus.AsideRequest:
		a.note("no scheduler answers: the request waits in its queue")
	case d.Kind == bus.AsideWork:
		a.note("queued again on %s", d.Subject)
	}
	if a.machine() {
		return render.Value(a.sys.Stdout, a.output, map[string]string{"id": d.ID, "job_id": job})
	}
	if job == "" {
		job = d.ID
	}
	return a.printf("%s\n", job)
}
