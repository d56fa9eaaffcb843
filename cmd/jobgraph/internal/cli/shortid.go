package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// lastJob stands for the newest job in every command about a job. A job with this id takes precedence.
const lastJob = "last"

// mostCandidates limits the ids that are listed if a prefix is ambiguous.
const mostCandidates = 5

// aboutJobs are the commands whose first argument is a job or one of its SubJobs, by path below the program. The value is true for
// commands that cannot be undone: without a person at the terminal they require the whole id.
var aboutJobs = map[string]bool{
	"get": false, "describe": false, "watch": false, "tail": false, "logs": false, "events": false, "graph": false, "why": false, "replay": false, "export": false,
	"fork": false, "diff": false, "recover": false, "retry": false, "rerun": false, "answer": false, "approve": false, "reject": false,
	"budgets": false, "inputs": false, "inputs cancel": false, "artifacts list": false, "artifacts get": false,
	"stop": true, "fail": true, "delete": true,
}

// shortIDs lets commands about jobs accept a unique prefix of an id, and "last"; it also completes ids.
func (a *app) shortIDs(c *cobra.Command, path string) {
	for _, child := range c.Commands() {
		a.shortIDs(child, strings.TrimSpace(path+" "+child.Name()))
	}
	final, about := aboutJobs[path]
	if !about || c.RunE == nil {
		return
	}
	run := c.RunE
	c.RunE = func(cmd *cobra.Command, args []string) error {
		args = slices.Clone(args)
		for i := range min(len(args), jobArguments(path)) {
			whole, err := a.wholeID(args[i], final)
			if err != nil {
				return err
			}
			args[i] = whole
		}
		return run(cmd, args)
	}
	c.ValidArgsFunction = a.completeJob
}

// jobArguments returns how many arguments of a command are jobs.
func jobArguments(path string) int {
	if path == "diff" {
		return 2
	}
	return 1
}

// wholeID resolves an argument to a job with an optional SubJob. It returns the text unchanged if such a job exists or none
// matches. Problems with the bus are left to the command.
func (a *app) wholeID(text string, final bool) (string, error) {
	job, subjob, part := strings.Cut(text, "/")
	if !events.ValidToken(job) || len(job) == len("00000000-0000-0000-0000-000000000000") {
		return text, nil
	}
	if _, err := os.Stat(text); err == nil {
		return text, nil // A file, for commands that accept one.
	}
	c, err := a.connect()
	if err != nil {
		a.unreached = err // The command reports it, unless it finds another fault first; it does not try again.
		return text, nil
	}
	defer c.Close()
	if final {
		if stored, err := c.Bus().Blobs().Any(a.soft, job); stored && err == nil {
			return text, nil // There may be no such job, and something to delete.
		}
	}
	found, err := a.meant(a.soft, c, job)
	if err != nil || found == job {
		return text, err
	}
	if final && !a.sys.Typing {
		return "", usageError{events.Faults{{
			Code: events.CodeInvalid, Field: text, Message: "this cannot be undone: where no person types the id of the job, it must be the whole id", Hint: "did you mean " + found + "?",
		}}}
	}
	if part {
		found += "/" + subjob
	}
	return found, nil
}

// meant returns the job that an id, a prefix of one, or "last" refers to; the text itself if none does.
func (a *app) meant(ctx context.Context, c *client.Client, text string) (string, error) {
	if _, err := c.Head(ctx, text); !errors.Is(err, bus.ErrNotFound) || errors.Is(err, client.ErrNotAdmitted) {
		return text, nil // Such a job exists, or the bus cannot say.
	}
	if text == lastJob {
		newest, err := c.List(ctx, client.Query{Limit: 1})
		if err != nil || len(newest) == 0 {
			return text, err
		}
		return newest[0].ID, nil
	}
	ids, err := c.IDs(ctx)
	if err != nil {
		return text, nil
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return !strings.HasPrefix(id, text) })
	switch {
	case len(ids) == 0 || slices.Contains(ids, text):
		return text, nil
	case len(ids) == 1:
		return ids[0], nil
	}
	shown := strings.Join(ids[:min(len(ids), mostCandidates)], ", ")
	if more := len(ids) - mostCandidates; more > 0 {
		shown += fmt.Sprintf(" and %d more", more)
	}
	return "", usageError{events.Faults{{
		Code: events.CodeInvalid, Field: text, Message: fmt.Sprintf("%d jobs begin with %s: %s", len(ids), text, shown), Hint: "write more of the id",
	}}}
}
