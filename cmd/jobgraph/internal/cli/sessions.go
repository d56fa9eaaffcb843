package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/pkg/client"
)

// sessions are the commands about sessions and their documents.
type sessions struct{ app *app }

// command returns the commands about sessions.
func (g sessions) command() *cobra.Command {
	return group("sessions", "Conversations: jobs that belong together",
		g.listCommand(), g.showCommand(), g.renameCommand(), g.stopCommand(), g.deleteCommand(), g.knowledgeCommand())
}

func (g sessions) listCommand() *cobra.Command {
	var q client.SessionQuery
	var limit int
	c := g.app.connected("list", "List sessions, the one that changed last first", cobra.NoArgs, func(ctx context.Context, c *client.Client, _ []string) error {
		states := []string{"", client.SessionActive, client.SessionWaiting, client.SessionStopped}
		if !slices.Contains(states, q.State) {
			return usageError{fmt.Errorf("--state %q: use one of %s", q.State, strings.Join(states[1:], ", "))}
		}
		return g.list(ctx, c, q, limit)
	})
	c.Aliases = []string{"ls"}
	c.Flags().StringVar(&q.User, "user", "", "only sessions of this user")
	c.Flags().StringVar(&q.State, "state", "", "only sessions that are active, waiting or stopped")
	c.Flags().BoolVar(&q.All, "all", false, "also list sessions of SubJobs that were handed off")
	c.Flags().IntVar(&limit, "limit", 0, "maximum number; 0 for all")
	return c
}

func (g sessions) list(ctx context.Context, c *client.Client, q client.SessionQuery, limit int) error {
	list, err := c.Sessions().List(ctx, q)
	if err != nil {
		return err
	}
	if limit > 0 && len(list) > limit {
		list = list[:limit]
	}
	table := output.Table{Head: []string{"ID", "STATE", "JOBS", "USER", "UPDATED", "TITLE"}, WideHead: []string{"PARENT", "THREADS", "LAST"}}
	for _, s := range list {
		last := s.Jobs[len(s.Jobs)-1]
		table.Rows = append(table.Rows, output.Row{
			Name: s.ID, Value: s.Raw,
			Cells: []string{s.ID, s.State, fmt.Sprint(s.Total), dash(s.User), moment(s.Updated), dash(s.Title)},
			Wide:  []string{dash(s.Parent), dash(strings.Join(s.Threads, ",")), dash(short(last.Goal, 60))},
		})
	}
	if len(list) == 0 && !g.app.machine() && g.app.output != "name" {
		g.app.note("no sessions; `jobgraph run --session ID …` begins one")
		return nil
	}
	return g.app.write(table)
}

func (g sessions) renameCommand() *cobra.Command {
	var user string
	c := g.app.connected("rename ID TITLE…", "Give a session a title that no job changes", cobra.MinimumNArgs(2), func(ctx context.Context, c *client.Client, args []string) error {
		title := strings.Join(args[1:], " ")
		if strings.TrimSpace(title) == "" {
			return usageError{fmt.Errorf("the title is empty")}
		}
		if err := c.Sessions().As(user).Rename(ctx, args[0], title); err != nil {
			return err
		}
		return g.did(args[0], "renamed", map[string]any{"id": args[0], "title": title})
	})
	asUser(c, &user)
	return c
}

// asUser adds the flag for the user in whose name a session is read or changed.
func asUser(c *cobra.Command, user *string) {
	c.Flags().StringVar(user, "user", "", "the user of the session; needed if it belongs to one")
}

func (g sessions) stopCommand() *cobra.Command {
	var reason, user string
	c := g.app.connected("stop ID", "Stop the running jobs of a session; the session can be continued", cobra.ExactArgs(1), func(ctx context.Context, c *client.Client, args []string) error {
		jobs, err := c.Sessions().As(user).Stop(ctx, args[0], reason, g.app.by())
		if err != nil {
			return err
		}
		if len(jobs) == 0 {
			g.app.note("no job of session %s is under way", args[0])
		}
		for _, id := range jobs {
			g.app.note("job %s is stopped", id)
		}
		return g.did(args[0], "stopped", map[string]any{"id": args[0], "stopped": jobs})
	})
	c.Flags().StringVar(&reason, "reason", "", "why, for people; stored in the state of each job")
	asUser(c, &user)
	return c
}

func (g sessions) deleteCommand() *cobra.Command {
	var jobs bool
	var user string
	c := g.app.connected("delete ID", "Delete a session; its jobs stay until their retention has passed", cobra.ExactArgs(1), func(ctx context.Context, c *client.Client, args []string) error {
		deleted, err := c.Sessions().As(user).Delete(ctx, args[0], jobs)
		if err != nil {
			return err
		}
		if len(deleted) > 0 {
			g.app.note("deleted with it: %s", strings.Join(deleted, ", "))
		}
		return g.did(args[0], "deleted", map[string]any{"id": args[0], "deleted": true, "jobs": deleted})
	})
	c.Flags().BoolVar(&jobs, "jobs", false, "also delete its jobs, with all their data")
	asUser(c, &user)
	return c
}

// did reports what was done with a session.
func (g sessions) did(id, what string, value any) error {
	if g.app.machine() {
		return output.Value(g.app.sys.Stdout, g.app.output, value)
	}
	if g.app.output == "name" {
		return g.app.printf("%s\n", id)
	}
	return g.app.printf("%s", output.Clean(fmt.Sprintf("%s %s\n", id, what)))
}
