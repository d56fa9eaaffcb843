package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/joblog"
)

// shown selects what of a session is shown.
type shown struct {
	user         string
	jobs, follow bool
	limit        int
	before       uint64
}

func (g sessions) showCommand() *cobra.Command {
	var what shown
	c := g.app.connected("show ID", "Show what was said in a session, or its jobs", cobra.ExactArgs(1), func(ctx context.Context, c *client.Client, args []string) error {
		if what.limit < 0 {
			return usageError{fmt.Errorf("--limit %d: want 0 or more", what.limit)}
		}
		s, err := c.Sessions().As(what.user).Get(ctx, args[0])
		switch {
		case err != nil:
			return err
		case g.app.output == "name":
			return g.app.printf("%s\n", s.ID)
		case what.jobs:
			if what.limit > 0 && len(s.Jobs) > what.limit {
				s.Jobs = s.Jobs[len(s.Jobs)-what.limit:]
			}
			return g.show(s)
		}
		return g.converse(ctx, c.Conversation(s.ID, what.user), s, what)
	})
	asUser(c, &what.user)
	c.Flags().BoolVar(&what.jobs, "jobs", false, "show its jobs instead of the conversation")
	c.Flags().BoolVarP(&what.follow, "follow", "f", false, "keep showing new items")
	c.Flags().IntVar(&what.limit, "limit", 0, "only this many of the latest items, or jobs; 0 for 50 items, or all stored jobs")
	c.Flags().Uint64Var(&what.before, "before", 0, "only items before this sequence")
	return c
}

// show shows a session with its jobs.
func (g sessions) show(s *client.Session) error {
	if g.app.machine() {
		return output.Value(g.app.sys.Stdout, g.app.output, s)
	}
	if err := g.head(s); err != nil {
		return err
	}
	table := output.Table{Head: []string{"JOB", "STATUS", "CREATED", "GOAL"}, WideHead: []string{"THREAD", "SUBJOB", "HANDED OFF TO"}}
	for _, j := range s.Jobs {
		table.Rows = append(table.Rows, output.Row{
			Name: j.ID, Value: j, Cells: []string{j.ID, string(j.Status), moment(j.Created), dash(j.Goal)},
			Wide: []string{dash(j.Thread), dash(j.SubJob), dash(strings.Join(j.Handed, ","))},
		})
	}
	return g.app.write(table)
}

// head shows the owner and the state of a session.
func (g sessions) head(s *client.Session) error {
	text := fmt.Sprintf("%s  %s\n", s.ID, s.State)
	for _, field := range []struct{ name, value string }{
		{"title", s.Title},
		{"user", s.User},
		{"parent", s.Parent},
		{"threads", strings.Join(s.Threads, ", ")},
		{"created", moment(s.Created)},
		{"updated", moment(s.Updated)},
		{"jobs", fmt.Sprint(s.Total)},
	} {
		if field.value != "" {
			text += fmt.Sprintf("%-8s %s\n", field.name, field.value)
		}
	}
	return g.app.printf("%s", output.Clean(text))
}

// pageOf is how many items are shown without --limit.
const pageOf = 50

// converse shows a page of the conversation, and follows it if asked to.
func (g sessions) converse(ctx context.Context, talk client.Conversation, s *client.Session, what shown) error {
	if what.limit == 0 {
		what.limit = pageOf
	}
	page, err := talk.Page(ctx, what.before, what.limit)
	if err != nil {
		return err
	}
	if g.app.machine() {
		return output.Value(g.app.sys.Stdout, g.app.output, conversationOf{s.ID, s.User, s.Title, s.State, page})
	}
	if err := g.head(s); err != nil {
		return err
	}
	if page.Earlier {
		g.app.note("there is more: `jobgraph sessions show %s --before %d`", s.ID, page.Items[0].Seq)
	}
	last := uint64(0)
	for _, e := range joblog.Latest(page.Items) {
		if err := g.tell(&e); err != nil {
			return err
		}
		last = e.Seq
	}
	if !what.follow {
		return nil
	}
	for e, err := range talk.Follow(ctx, last) {
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if err := g.tell(&e); err != nil {
			return err
		}
	}
	return nil
}

// conversationOf is a page of a session's conversation as JSON.
type conversationOf struct {
	ID    string `json:"id"`
	User  string `json:"user,omitempty"`
	Title string `json:"title,omitempty"`
	State string `json:"state"`
	client.ConversationPage
}

// tell shows an item as a line of a chat: the speaker and the text.
func (g sessions) tell(e *item.Entry) error {
	text := strings.TrimRight(e.Text, "\n")
	if e.Truncated > 0 {
		text += fmt.Sprintf(" … (%d bytes more; `jobgraph get %s`)", e.Truncated, e.Job)
	}
	if e.Type == item.Question {
		text += optionsOf(e)
	}
	if text == "" {
		text = e.Component
	}
	indent := "\n" + strings.Repeat(" ", 10)
	line := fmt.Sprintf("%s  %s\n", e.At.UTC().Format(time.TimeOnly), voice(e)+strings.ReplaceAll(text, "\n", indent))
	return g.app.printf("%s", output.Clean(line))
}

// voice names the speaker of an item, and its kind if it is neither a message nor an answer.
func voice(e *item.Entry) string {
	who := e.Expert
	switch e.Type {
	case item.Message:
		if who = e.User; who == "" {
			who = "you"
		}
		return who + ": "
	case item.Answer:
		if who = e.User; who == "" {
			who = "answer"
		}
		return who + ": "
	case item.Schedule:
		return map[bool]string{true: "schedule, done: ", false: "schedule, begins: "}[e.Done]
	case item.Result:
		if status := statusOf(e); status != "" && status != "FINISHED" {
			return strings.ToLower(status) + ": "
		}
		return "result: "
	case item.Component:
		return "[" + e.Component + "] " + handoffOf(e)
	}
	if who == "" {
		return string(e.Type) + ": "
	}
	return who + ", " + string(e.Type) + ": "
}

func handoffOf(e *item.Entry) string {
	var about struct{ Session, Phase string }
	if e.Component == joblog.Handoff && json.Unmarshal(e.Data, &about) == nil {
		return about.Phase + " of session " + about.Session
	}
	return e.SubJob
}

func statusOf(e *item.Entry) string {
	var about struct{ Status string }
	if json.Unmarshal(e.Data, &about) != nil {
		return ""
	}
	return about.Status
}

// optionsOf lists the choices of a question.
func optionsOf(e *item.Entry) string {
	var about struct{ Options []string }
	if json.Unmarshal(e.Data, &about) != nil || len(about.Options) == 0 {
		return ""
	}
	return " [" + strings.Join(about.Options, " | ") + "]"
}
