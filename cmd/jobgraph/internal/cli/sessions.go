package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/render"
	"github.com/jobgraph/jobgraph/pkg/client"
)

// sessionsCommand is about conversations.
func (a *app) sessionsCommand() *cobra.Command {
	return group("sessions", "Conversations: the jobs that belong together",
		a.sessionListCommand(), a.sessionShowCommand(), a.sessionRenameCommand(), a.sessionStopCommand(), a.sessionDeleteCommand(), a.knowledgeCommand())
}

// session makes a command about one session.
func (a *app) session(use, short string, args cobra.PositionalArgs, do func(ctx context.Context, c *client.Client, args []string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: args,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := a.form(); err != nil {
				return err
			}
			return a.with(func(ctx context.Context, c *client.Client) error { return do(ctx, c, args) })
		},
	}
}

func (a *app) sessionListCommand() *cobra.Command {
	var q client.SessionQuery
	var limit int
	c := a.session("list", "List sessions, the one that changed last first", cobra.NoArgs, func(ctx context.Context, c *client.Client, _ []string) error {
		states := []string{"", client.SessionActive, client.SessionWaiting, client.SessionStopped}
		if !slices.Contains(states, q.State) {
			return usageError{fmt.Errorf("--state %q: use one of %s", q.State, strings.Join(states[1:], ", "))}
		}
		return a.sessionList(ctx, c, q, limit)
	})
	c.Aliases = []string{"ls"}
	c.Flags().StringVar(&q.User, "user", "", "only sessions of this user")
	c.Flags().StringVar(&q.State, "state", "", "only sessions that are active, waiting or stopped")
	c.Flags().BoolVar(&q.All, "all", false, "those of SubJobs that were handed off, too")
	c.Flags().IntVar(&limit, "limit", 0, "at most so many, 0 for all")
	return c
}

func (a *app) sessionList(ctx context.Context, c *client.Client, q client.SessionQuery, limit int) error {
	list, err := c.Sessions(ctx, q)
	if err != nil {
		return err
	}
	if limit > 0 && len(list) > limit {
		list = list[:limit]
	}
	table := render.Table{Head: []string{"ID", "STATE", "JOBS", "USER", "UPDATED", "TITLE"}, WideHead: []string{"PARENT", "THREADS", "LAST"}}
	for _, s := range list {
		last := s.Jobs[len(s.Jobs)-1]
		table.Rows = append(table.Rows, render.Row{
			Name: s.ID, Value: s.Raw,
			Cells: []string{s.ID, s.State, fmt.Sprint(s.Total), dash(s.User), s.Updated.UTC().Format(time.RFC3339), dash(s.Title)},
			Wide:  []string{dash(s.Parent), dash(strings.Join(s.Threads, ",")), dash(short(last.Goal, 60))},
		})
	}
	if len(list) == 0 && !a.machine() && a.output != "name" {
		a.note("no sessions; `jobgraph run --session ID …` begins one")
		return nil
	}
	return table.Write(a.sys.Stdout, a.output)
}

func (a *app) sessionShowCommand() *cobra.Command {
	var limit int
	c := a.session("show ID", "Show a session and its latest jobs", cobra.ExactArgs(1), func(ctx context.Context, c *client.Client, args []string) error {
		s, err := c.Session(ctx, args[0])
		if err != nil {
			return err
		}
		if limit > 0 && len(s.Jobs) > limit {
			s.Jobs = s.Jobs[len(s.Jobs)-limit:]
		}
		return a.showSession(s)
	})
	c.Flags().IntVar(&limit, "limit", 0, "only so many jobs, the latest; 0 for all that are kept")
	return c
}

func (a *app) showSession(s *client.Session) error {
	switch {
	case a.machine():
		return render.Value(a.sys.Stdout, a.output, s)
	case a.output == "name":
		return a.printf("%s\n", s.ID)
	}
	text := fmt.Sprintf("%s  %s\n", s.ID, s.State)
	for _, field := range []struct{ name, value string }{
		{"title", s.Title},
		{"user", s.User},
		{"parent", s.Parent},
		{"threads", strings.Join(s.Threads, ", ")},
		{"created", s.Created.UTC().Format(time.RFC3339)},
		{"updated", s.Updated.UTC().Format(time.RFC3339)},
		{"jobs", fmt.Sprint(s.Total)},
	} {
		if field.value != "" {
			text += fmt.Sprintf("%-8s %s\n", field.name, field.value)
		}
	}
	if err := a.printf("%s", render.Clean(text)); err != nil {
		return err
	}
	table := render.Table{Head: []string{"JOB", "STATUS", "CREATED", "GOAL"}, WideHead: []string{"THREAD", "SUBJOB", "HANDED OFF TO"}}
	for _, j := range s.Jobs {
		table.Rows = append(table.Rows, render.Row{
			Name: j.ID, Value: j, Cells: []string{j.ID, string(j.Status), j.Created.UTC().Format(time.RFC3339), dash(j.Goal)},
			Wide: []string{dash(j.Thread), dash(j.SubJob), dash(strings.Join(j.Handed, ","))},
		})
	}
	return table.Write(a.sys.Stdout, a.output)
}

func (a *app) sessionRenameCommand() *cobra.Command {
	return a.session("rename ID TITLE…", "Give a session a title that no job changes", cobra.MinimumNArgs(2), func(ctx context.Context, c *client.Client, args []string) error {
		title := strings.Join(args[1:], " ")
		if strings.TrimSpace(title) == "" {
			return usageError{fmt.Errorf("the title is empty")}
		}
		if err := c.RenameSession(ctx, args[0], title); err != nil {
			return err
		}
		return a.didSession(args[0], "renamed", map[string]any{"id": args[0], "title": title})
	})
}

func (a *app) sessionStopCommand() *cobra.Command {
	var reason string
	c := a.session("stop ID", "Stop the jobs of a session that are under way; it can be gone on with", cobra.ExactArgs(1), func(ctx context.Context, c *client.Client, args []string) error {
		jobs, err := c.StopSession(ctx, args[0], reason, "cli")
		if err != nil {
			return err
		}
		if len(jobs) == 0 {
			a.note("no job of session %s is under way", args[0])
		}
		for _, id := range jobs {
			a.note("job %s is stopped", id)
		}
		return a.didSession(args[0], "stopped", map[string]any{"id": args[0], "stopped": jobs})
	})
	c.Flags().StringVar(&reason, "reason", "", "why, for people; it is kept in the state of each job")
	return c
}

func (a *app) sessionDeleteCommand() *cobra.Command {
	var jobs bool
	c := a.session("delete ID", "Forget a session; its jobs stay until their retention has passed", cobra.ExactArgs(1), func(ctx context.Context, c *client.Client, args []string) error {
		deleted, err := c.DeleteSession(ctx, args[0], jobs)
		if err != nil {
			return err
		}
		if len(deleted) > 0 {
			a.note("deleted with it: %s", strings.Join(deleted, ", "))
		}
		return a.didSession(args[0], "deleted", map[string]any{"id": args[0], "deleted": true, "jobs": deleted})
	})
	c.Flags().BoolVar(&jobs, "jobs", false, "delete its jobs with everything of them, too")
	return c
}

// didSession says what was done with a session.
func (a *app) didSession(id, what string, value any) error {
	if a.machine() {
		return render.Value(a.sys.Stdout, a.output, value)
	}
	if a.output == "name" {
		return a.printf("%s\n", id)
	}
	return a.printf("%s", render.Clean(fmt.Sprintf("%s %s\n", id, what)))
}
