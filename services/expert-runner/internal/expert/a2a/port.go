package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// peer is an agent that can be talked to. An error ends a sequence and is a *refusal, errUnsent, errBudget, or whatever broke
// the connection.
type peer interface {
	// Send hands over a message and gives what is told in return, as it comes if the message asks for it.
	Send(ctx context.Context, m *message) iter.Seq2[*update, error]
	// Follow gives what becomes of a task: everything from now on, or only how it is now.
	Follow(ctx context.Context, f *following) iter.Seq2[*update, error]
	// Cancel asks that a task be given up.
	Cancel(ctx context.Context, task string) error
}

// message is what is said to an agent.
type message struct {
	// ID is the same in every attempt to send it.
	ID string
	// Task and Context are those that it continues, empty for a new task.
	Task, Context string
	// Answers is the mark of the request for input that it answers, Made what the task had made until then.
	Answers string
	Made    []artifact
	Parts   []part
	Meta    map[string]any
	// Live asks for events as they come; otherwise the agent is asked to answer at once, with a task.
	Live bool
	// Modes are the media types that are wanted, any when empty.
	Modes []string
	Push  *notify
}

// following names a task to hear of.
type following struct {
	task string
	live bool
	// push is where the agent is told again to send notifications; nil when it need not.
	push *notify
}

// notify is where an agent sends notifications, and the secret that proves that they are its own.
type notify struct{ url, token string }

// update is one thing that an agent has told.
type update struct {
	// Task and Context are what it is about.
	Task, Context string
	// State is that of the task, in lower case ("input-required"); empty when nothing is said of it.
	State state
	// Mark tells one stay in a state from another, as far as the agent does: when it began and what was said to it.
	Mark string
	// Said is a message: that of the state, or the answer of an agent without tasks.
	Said []part
	// Artifacts are results: all of the task, or one when it is told as it grows.
	Artifacts []artifact
	// Whole is true for the task as it is, Append for more of an artifact that is known.
	Whole, Append bool
	// Meta is what the agent has noted at it.
	Meta map[string]any
}

// artifact is one result of a task.
type artifact struct {
	ID    string `json:"id"`
	Name  string `json:"name,omitempty"`
	Parts []part `json:"parts"`
}

// part is a piece of content. One of Text, Data, Bytes and URL is set.
type part struct {
	Text  string          `json:"text,omitempty"`
	Data  json.RawMessage `json:"data,omitempty"`
	Bytes []byte          `json:"bytes,omitempty"`
	URL   string          `json:"url,omitempty"`
	// Name and Type are those of a file.
	Name string `json:"name,omitempty"`
	Type string `json:"media_type,omitempty"`
}

// state is that of a remote task.
type state string

// The states that lead anywhere. Of the others only those in between are known.
const (
	stateSubmitted state = "submitted"
	stateWorking   state = "working"
	stateInput     state = "input-required"
	stateAuth      state = "auth-required"
	stateCompleted state = "completed"
	stateFailed    state = "failed"
	stateRejected  state = "rejected"
	stateCanceled  state = "canceled"
	// stateAnswered is ours: the agent has answered without making a task.
	stateAnswered state = "answered"
)

// terminal reports whether nothing can follow.
func (s state) terminal() bool {
	switch s {
	case stateCompleted, stateFailed, stateRejected, stateCanceled, stateAnswered:
		return true
	}
	return false
}

// under reports whether the agent is at work.
func (s state) under() bool { return s == stateSubmitted || s == stateWorking }

// refusal is a definite answer that is no result: the agent, or what stands in front of it, said no.
type refusal struct {
	Code       events.Code     `json:"code"`
	Message    string          `json:"message"`
	Cause      string          `json:"cause,omitempty"`
	Hint       string          `json:"hint,omitempty"`
	RetryAfter events.Duration `json:"retry_after,omitempty"`
}

// Error implements error.
func (r *refusal) Error() string {
	if r.Cause == "" {
		return r.Message
	}
	return r.Message + ": " + r.Cause
}

// garbled is the refusal for an answer that cannot be read, with what there is of it.
func garbled(what, evidence string) *refusal {
	return &refusal{Code: events.CodeMalformed, Message: "the agent's answer cannot be read: " + what, Cause: clip(evidence, maxEvidence), Hint: "see that the agent speaks the version of A2A that its card says"}
}

var (
	// errUnsent marks a message of which nothing has left.
	errUnsent = errors.New("not sent")
	// errBudget marks an agent that sends more than it may.
	errBudget = errors.New("over the limit")
	// errSilent ends a stream on which nothing comes.
	errSilent = errors.New("silent for too long")
)

// maxEvidence is how much of what was wrong is kept, in bytes.
const maxEvidence = 2 << 10

func over(limit string, value any) error { return fmt.Errorf("%w: %s is %v", errBudget, limit, value) }
