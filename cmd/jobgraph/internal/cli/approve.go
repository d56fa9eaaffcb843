package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// verdict is the answer to an approval or a review.
type verdict struct {
	Approved bool   `json:"approved"`
	Reason   string `json:"reason,omitempty"`
	// Args replace the arguments in question.
	Args json.RawMessage `json:"args,omitempty"`
}

// verdictCommand makes approve and reject; edits returns the changes that go with the verdict, and is called once a request
// is found.
func (g inputs) verdictCommand(use, short string, approved bool, edits func() (json.RawMessage, error)) *cobra.Command {
	var why, user string
	c := &cobra.Command{
		Use: use + " ID [REQUEST]", Short: short, Args: cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			request := ""
			if len(args) == 2 {
				request = args[1]
			}
			changed, err := edits()
			if err != nil {
				return err
			}
			return g.answer(args[0], request, user, func(q verb.Question) (any, error) {
				v := verdict{approved, why, changed}
				if err := judged(q, v); err != nil {
					return nil, err
				}
				if changed != nil && (q.Kind != events.InputApproval || q.SubJob == events.PlanID) {
					return nil, usageError{fmt.Errorf("request %s is about no call of a tool: there are no arguments to change", q.Request)}
				}
				g.app.note("%s", asks(&q)) // Shows what is being decided.
				return v, nil
			})
		},
	}
	c.Flags().StringVar(&why, "reason", "", "why, for readers of the log, and for the expert whose call is rejected")
	userFlag(c, &user)
	return c
}

// judged returns an error for a question that cannot be approved or rejected: one that wants text, or the approval of a form that
// no verdict fits. Rejecting a form gives the expert a lesson.
func judged(q verb.Question, v verdict) error {
	words := "TEXT"
	switch q.Kind {
	case events.InputApproval, events.InputReview:
		return nil
	case events.InputForm:
		text, err := json.Marshal(v)
		if err != nil || !v.Approved || fits(&q, string(text)) == nil {
			return err
		}
		words = "JSON"
	}
	what := "reject"
	if v.Approved {
		what = "approve"
	}
	if len(q.Options) > 0 {
		words = strings.Join(q.Options, "|")
	}
	return usageError{&events.Fault{
		Code: events.CodeInvalid, Field: "request", Message: fmt.Sprintf("request %s asks a question (%s), there is nothing to %s: %s", q.Request, q.Kind, what, output.Visible(q.Prompt)),
		Hint: fmt.Sprintf("jobgraph answer %s %s %s, or jobgraph inputs cancel %s %s to close it without an answer", q.JobID, q.Request, words, q.JobID, q.Request),
	}}
}

func (g inputs) approveCommand() *cobra.Command {
	var text, file string
	c := g.verdictCommand("approve", "Approve a pending request", true, func() (json.RawMessage, error) {
		return g.editedArgs(text, file)
	})
	c.Flags().StringVar(&text, "args", "", "arguments that replace those of the tool call, a JSON object")
	c.Flags().StringVarP(&file, "file", "f", "", "the arguments from a file; - reads standard input")
	return c
}

func (g inputs) rejectCommand() *cobra.Command {
	return g.verdictCommand("reject", "Reject a pending request", false, func() (json.RawMessage, error) { return nil, nil })
}

// editedArgs returns the replacement arguments; nil without any.
func (g inputs) editedArgs(text, file string) (json.RawMessage, error) {
	if text != "" && file != "" {
		return nil, usageError{errors.New("give the arguments with --args or with -f, not with both")}
	}
	if file != "" {
		data, err := g.app.documents.file(file)
		if err != nil {
			return nil, err
		}
		text = string(data)
	}
	if text == "" && file == "" {
		return nil, nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &object); err != nil || object == nil {
		return nil, usageError{errors.New("the arguments are not a JSON object: give all of them, such as '{\"amount\": 10}'")}
	}
	return json.RawMessage(text), nil
}

// writeAsked prints the open requests of a job, with what to do about each.
func writeAsked(b *strings.Builder, h *joblog.Log) {
	for _, q := range questions(h) {
		fmt.Fprintf(b, "\n%s\n  → %s\n", asks(&q), output.Visible(graph.AnswerCommand(q.JobID, q.Request, q.Kind)))
	}
}

// asks returns a question with its full prompt.
func asks(q *verb.Question) string { return asksIn(q, 0) }

// asksIn is like asks, with a limited width in columns; 0 means no limit.
func asksIn(q *verb.Question, width int) string {
	return output.Visible(fmt.Sprintf("%s asks (%s %s):", q.SubJob, q.Kind, q.Request)) + "\n" + output.QuoteIn(q.Prompt, width)
}
