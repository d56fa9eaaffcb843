package cli

import (
	"cmp"
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
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/pkg/schema"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// questions lists the open requests of a job.
func questions(h *joblog.Log) []verb.Question {
	var list []verb.Question
	s := h.Job.View()
	for _, in := range s.Inputs {
		if in.Kind == events.InputTimer || in.Closing != "" {
			continue
		}
		q := verb.Question{JobID: s.ID, Request: in.Request, SubJob: in.SubJob, Kind: in.Kind, User: in.User, Expires: in.Expires}
		if e := h.At(in.Seq); e != nil {
			if r, ok := e.Data.(*events.InputRequested); ok {
				q.Prompt, q.Options, q.Schema = r.Prompt, r.Options, r.Schema
			}
		}
		list = append(list, q)
	}
	return list
}

// askedJob returns the job whose requests are meant: requests have ids of their own, so a SubJob is a fault.
func askedJob(text string) (string, error) {
	return jobOf("a request", text, "name the request: jobgraph inputs JOB lists those that are open")
}

// inputs are the commands about requests for input: answer, approve, reject, inputs.
type inputs struct{ app *app }

// answer closes a request of a job: the named one, or the only one.
func (g inputs) answer(job, request, user string, build func(q verb.Question) (any, error)) error {
	job, err := askedJob(job)
	if err != nil {
		return err
	}
	return g.app.with(func(ctx context.Context, c *client.Client) error {
		h, err := g.app.load(ctx, c, target{job: job})
		if err != nil {
			return err
		}
		q, err := choose(questions(h), job, request)
		if was := putTo(h, request); err != nil && was != nil {
			q, err = *was, nil // It is closed. The same answer again succeeds; another one is a conflict.
		}
		if err != nil {
			return err
		}
		value, err := build(q)
		if err != nil {
			return err
		}
		by, err := g.answerer(q, user)
		if err != nil {
			return err
		}
		if err := c.Answer(ctx, job, q.Request, value, by); err != nil {
			return err
		}
		if g.app.machine() {
			return output.Value(g.app.sys.Stdout, g.app.output, map[string]string{"job_id": job, "request": q.Request})
		}
		return g.app.printf("%s answered\n", q.Request)
	})
}

// answerer returns the name to record: the given user, else the one whose key signs, else the user logged in here. A question for another
// person needs an explicit user.
func (g inputs) answerer(q verb.Question, user string) (string, error) {
	if user == "" && g.app.by() == "" {
		return "", nil
	}
	if user == "" {
		user, _ = g.app.sys.Env("USER")
	}
	if q.User == "" || q.User == user {
		return user, nil
	}
	f := &events.Fault{
		Code: events.CodeNotPermitted, Field: "user", Message: fmt.Sprintf("request %s is for %s, not for %s", q.Request, q.User, user),
		Hint: "only " + q.User + " may answer it, with --user " + q.User,
	}
	if user == "" {
		f.Message = fmt.Sprintf("request %s is for %s, and the answering person is not named", q.Request, q.User)
	}
	return "", fmt.Errorf("%w: %w", bus.ErrNotPermitted, f)
}

// userFlag declares the flag that says who answers.
func userFlag(c *cobra.Command, user *string) {
	c.Flags().StringVar(user, "user", "", "who answers, for the record (USER of the environment); only the user may answer a question for one user")
}

// choose finds the open request that is meant: the named one, or the only one.
func choose(open []verb.Question, job, request string) (verb.Question, error) {
	var ids []string
	for _, q := range open {
		if q.Request == request || request == "" && len(open) == 1 {
			return q, nil
		}
		ids = append(ids, q.Request)
	}
	if request == "" && len(open) > 1 {
		return verb.Question{}, usageError{fmt.Errorf("job %s asks %d things, name one: %s", job, len(open), strings.Join(ids, ", "))}
	}
	if request == "" {
		return verb.Question{}, fmt.Errorf("%w: %w", bus.ErrNotFound, &events.Fault{
			Code: events.CodeNotFound, Field: "request", Message: "job " + job + " asks for nothing", Hint: "jobgraph why " + job,
		})
	}
	return verb.Question{}, notFound("request", request, ids, "jobgraph inputs "+job)
}

func (g inputs) answerCommand() *cobra.Command {
	var file, user string
	c := &cobra.Command{
		Use: "answer ID [REQUEST] TEXT | answer ID [REQUEST] -f FILE", Short: "Answer a pending request of a job", Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			request, text, err := g.answerArgs(args[1:], file)
			if err != nil {
				return err
			}
			return g.answer(args[0], request, user, func(q verb.Question) (any, error) { return parseAnswer(q, text) })
		},
	}
	c.Flags().StringVarP(&file, "file", "f", "", "the answer, JSON or text; - reads standard input")
	userFlag(c, &user)
	return c
}

// answerArgs separates REQUEST and TEXT: with a file the argument can only be the request.
func (g inputs) answerArgs(words []string, file string) (request, text string, err error) {
	if file != "" {
		data, err := g.app.documents.file(file)
		if err != nil {
			return "", "", err
		}
		if len(words) > 1 {
			return "", "", usageError{errors.New("with -f there is at most one word: the request")}
		}
		if len(words) == 1 {
			request = words[0]
		}
		return request, strings.TrimRight(string(data), "\n"), nil
	}
	switch len(words) {
	case 0:
		return "", "", usageError{errors.New("say the answer: jobgraph answer ID TEXT")}
	case 1:
		return "", words[0], nil
	}
	return words[0], strings.Join(words[1:], " "), nil
}

// fits returns what is wrong with the answer to a form; nil if it fits, or if its schema cannot be read.
func fits(q *verb.Question, text string) error {
	s, err := schema.Read(q.Schema)
	if q.Kind != events.InputForm || err != nil {
		return nil
	}
	if misfits := s.Misfits(json.RawMessage(text)); len(misfits) > 0 {
		return usageError{events.Faults{{
			Code: events.CodeInvalid, Field: "answer", Message: "it does not fit the schema: " + strings.Join(misfits, "; "),
			Hint: fmt.Sprintf("request %s is still open, and wants %s", q.Request, q.Schema),
		}}}
	}
	return nil
}

// parseAnswer parses JSON if the question expects more than text.
func parseAnswer(q verb.Question, text string) (any, error) {
	structured := q.Kind == events.InputForm || q.Kind == events.InputReview || q.Kind == events.InputApproval ||
		q.Kind == events.InputUnknown && strings.HasPrefix(strings.TrimSpace(text), "{")
	if structured && json.Valid([]byte(text)) {
		return json.RawMessage(text), fits(&q, text)
	}
	if q.Kind == events.InputForm {
		return nil, usageError{fmt.Errorf("request %s wants JSON that fits its schema: %s", q.Request, q.Schema)}
	}
	if q.Kind == events.InputApproval && q.SubJob != events.PlanID {
		return text, nil // Words of approval approve; any other text is the reason of a rejection.
	}
	if len(q.Options) > 0 {
		for _, o := range q.Options {
			if strings.EqualFold(o, text) {
				return o, nil
			}
		}
		if q.SubJob != events.PlanID || q.Kind == events.InputUnknown { // The planner understands other words as well.
			return nil, usageError{fmt.Errorf("%q is not one of the choices: %s", text, strings.Join(q.Options, ", "))}
		}
	}
	return text, nil
}

func (g inputs) inputsCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "inputs [ID]", Short: "List the pending requests of jobs to people", Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			for _, arg := range args {
				if _, err := askedJob(arg); err != nil {
					return err
				}
			}
			return g.app.with(func(ctx context.Context, c *client.Client) error { return g.inputs(ctx, c, args) })
		},
	}
	c.AddCommand(&cobra.Command{
		Use: "cancel ID REQUEST", Short: "Close a request without an answer", Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			job, err := askedJob(args[0])
			if err != nil {
				return err
			}
			return g.app.with(func(ctx context.Context, c *client.Client) error {
				return g.cancelInput(ctx, c, job, args[1])
			})
		},
	})
	return c
}

// cancelInput closes a request without an answer. A request that was never made is not found: closing it would block a
// later request with that id.
func (g inputs) cancelInput(ctx context.Context, c *client.Client, job, request string) error {
	h, err := g.app.load(ctx, c, target{job: job})
	if err != nil {
		return err
	}
	if err := made(h, request); err != nil {
		return err
	}
	if err := c.CancelInput(ctx, job, request, g.app.by()); err != nil {
		return err
	}
	g.app.note("%s is closed without an answer", request)
	if g.app.machine() {
		return output.Value(g.app.sys.Stdout, g.app.output, map[string]string{"job_id": job, "request": request})
	}
	return nil
}

// made returns an error for a request that the job never made, listing the open ones.
func made(h *joblog.Log, request string) error {
	if putTo(h, request) != nil {
		return nil
	}
	_, err := choose(questions(h), h.Job.ID, request)
	return err
}

// putTo returns a request for input, open or closed; nil if there was none.
func putTo(h *joblog.Log, request string) *verb.Question {
	for i := range h.Events {
		e := &h.Events[i]
		if r, ok := e.Data.(*events.InputRequested); ok && r.Request == request {
			return &verb.Question{
				JobID: e.Job, Request: r.Request, SubJob: e.SubJob, Kind: r.Kind, User: r.User, Prompt: r.Prompt, Options: r.Options, Schema: r.Schema,
			}
		}
	}
	return nil
}

// inputs lists the requests of all jobs or of the given ones. In the list of all, jobs that cannot be read are left out.
func (g inputs) inputs(ctx context.Context, c *client.Client, ids []string) error {
	named := len(ids) > 0
	if !named {
		jobs, err := c.List(ctx, client.Query{States: []events.Status{events.Waiting, events.Running, events.Planning}})
		if err != nil {
			return err
		}
		for _, j := range jobs {
			ids = append(ids, j.ID)
		}
	} else if _, err := c.Head(ctx, ids[0]); err != nil {
		return g.app.views.missing(ctx, c, ids[0], err)
	}
	table := output.Table{Head: []string{"JOB", "REQUEST", "KIND", "SUBJOB", "PROMPT"}, WideHead: []string{"OPTIONS", "USER"}}
	var longer []verb.Question // Those whose prompts do not fit into a line.
	for _, id := range ids {
		h, err := c.Logs().Fold(ctx, id, 0)
		if errors.Is(err, bus.ErrNotFound) {
			continue // The job was deleted in the meantime.
		}
		if err != nil {
			aside, lookErr := g.app.quarantine(ctx, c, id, true)
			if aside == nil || named {
				return errors.Join(aside, cmp.Or(lookErr, err))
			}
			g.app.note("left out: %v", aside)
			continue
		}
		for _, q := range questions(h) {
			line := short(output.Visible(strings.ReplaceAll(q.Prompt, "\n", " ")), 80)
			if line != q.Prompt {
				longer = append(longer, q)
			}
			table.Rows = append(table.Rows, output.Row{
				Name: q.Request, Value: q, Cells: []string{q.JobID, q.Request, string(q.Kind), q.SubJob, line},
				Wide: []string{dash(strings.Join(q.Options, "|")), dash(q.User)},
			})
		}
	}
	if len(table.Rows) == 0 && !g.app.machine() && g.app.output != "name" {
		g.app.note("no question is open")
		return nil
	}
	if err := g.app.write(table); err != nil || g.app.machine() || g.app.output == "name" {
		return err
	}
	return g.writeLonger(longer, named)
}

// writeLonger prints the full prompts that the list shortened, for a named job. For the list of all it only says where to
// find them.
func (g inputs) writeLonger(longer []verb.Question, named bool) error {
	if len(longer) > 0 && !named {
		g.app.note("prompts are cut here: `jobgraph inputs %s` shows them whole", longer[0].JobID)
		return nil
	}
	for _, q := range longer {
		if err := g.app.printf("\n%s\n", asks(&q)); err != nil {
			return err
		}
	}
	return nil
}
