package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
)

// deadLetters are the commands about dead letters.
type deadLetters struct{ app *app }

// command returns the commands about what could not be handled: quarantined jobs, rejected requests, work that
// names no run, and notices that no webhook took.
func (g deadLetters) command() *cobra.Command {
	list := &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List dead letters: jobs in quarantine, rejected requests, malformed work, unsent webhooks", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return g.app.with(g.list)
		},
	}
	show := &cobra.Command{
		Use: "show ID", Short: "Show a dead letter and the reason for it", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return g.with(args[0], func(_ context.Context, _ *client.Client, d client.Dead) error { return g.show(d) })
		},
	}
	retry := &cobra.Command{
		Use: "retry ID", Short: "Retry a dead letter", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return g.with(args[0], g.retry) },
	}
	return group("dlq", "Dead letters: show and retry what could not be handled", list, show, retry)
}

func (g deadLetters) with(id string, do func(context.Context, *client.Client, client.Dead) error) error {
	return g.app.with(func(ctx context.Context, c *client.Client) error {
		d, err := c.DeadLetters().Get(ctx, id)
		if err != nil {
			return err
		}
		return do(ctx, c, d)
	})
}

func (g deadLetters) list(ctx context.Context, c *client.Client) error {
	list, err := c.DeadLetters().List(ctx)
	if err != nil {
		return err
	}
	table := output.Table{Head: []string{"ID", "KIND", "SINCE", "CODE", "MESSAGE"}, WideHead: []string{"SUBJECT", "HINT"}}
	for _, d := range list {
		table.Rows = append(table.Rows, output.Row{
			Name: d.ID, Value: d,
			Cells: []string{d.ID, d.Kind, moment(d.Since), string(d.Fault.Code), short(d.Fault.Error(), 100)},
			Wide:  []string{dash(d.Subject), dash(d.Fault.Hint)},
		})
	}
	if len(table.Rows) == 0 && !g.app.machine() && g.app.output != "name" {
		g.app.note("nothing was set aside")
		return nil
	}
	return g.app.write(table)
}

func (g deadLetters) show(d client.Dead) error {
	if g.app.machine() {
		return output.Value(g.app.sys.Stdout, g.app.output, d)
	}
	if g.app.output == "name" {
		return g.app.printf("%s\n", d.ID)
	}
	text := d.ID + " was set aside at " + moment(d.Since) + "\n" + reason(&d.Fault) + "\n"
	if d.Subject != "" {
		text += "published on " + d.Subject + "\n"
	}
	if len(d.Body) > 0 {
		text += short(readable(d.Body), 4000) + "\n"
	}
	return g.app.printf("%s", output.Clean(text))
}

// retry handles a dead letter again and reports the result as far as it is known at once.
func (g deadLetters) retry(ctx context.Context, c *client.Client, d client.Dead) error {
	job, err := c.DeadLetters().Retry(ctx, d)
	if err != nil {
		return err
	}
	switch d.Kind {
	case client.DeadJob:
		g.app.note("the scheduler resumes job %s; `jobgraph get %s` shows whether it fails again", job, job)
	case bus.DeadWebhook:
		g.app.note("a gateway that knows the webhook sends it again")
	case bus.DeadWork:
		g.app.note("queued again on %s", d.Subject)
	}
	if g.app.machine() {
		return output.Value(g.app.sys.Stdout, g.app.output, map[string]string{"id": d.ID, "job_id": job})
	}
	if job == "" {
		job = d.ID
	}
	return g.app.printf("%s\n", job)
}
