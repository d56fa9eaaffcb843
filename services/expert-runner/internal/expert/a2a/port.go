package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// peer is a connection to an agent. An error ends a sequence and is a *refusal, errUnsent, errBudget, or an error of the
// connection.
type peer interface {
	// Send sends a message and yields the updates in return, as they arrive if the message asks for that.
	Send(ctx context.Context, m *message) iter.Seq2[*update, error]
	// Follow yields the updates of a task: all from now on, or only its present state.
	Follow(ctx context.Context, f *following) iter.Seq2[*update, error]
	// Cancel asks to cancel a task.
	Cancel(ctx context.Context, task string) error
}

// message is a message to an agent, the same for all versions of the protocol.
type message struct {
	// ID is the same in every attempt to send it.
	ID string
	// Task and Context are those that it continues; empty for a new task.
	Task, Context string
	// Answers is the mark of the request for input that it answers; Made is what the task had produced until then.
	Answers string
	Made    []artifact
	Parts   []part
	Meta    map[string]any
	// Live requests events as they come; otherwise the agent is asked to answer at once, with a task.
	Live bool
	// Modes are the accepted media types, any if empty.
	Modes []string
	Push  *notify
}

// following says how to follow a task: live is true for all updates from now on, false for its present state.
type following struct {
	task string
	live bool
	// push is the address to register again for notifications; nil if that is not necessary.
	push *notify
}

// notify is the address for an agent's notifications, with the secret that authenticates them.
type notify struct{ url, token string }

// update is what one event or answer of an agent says, the same for all versions of the protocol.
type update struct {
	// Task and Context identify its subject.
	Task, Context string
	// State is the state of the task in lower case ("input-required"); empty if the update contains none.
	State state
	// Mark distinguishes one stay in a state from another, as far as the agent does: by its time and its message.
	Mark string
	// Said is a message: that of the state, or the answer of an agent without tasks.
	Said []part
	// Artifacts are results: all of the task, or a single growing one.
	Artifacts []artifact
	// Whole is true for a snapshot of the task, Append for an addition to a known artifact.
	Whole, Append bool
	// Meta is the agent's metadata.
	Meta map[string]any
}

// artifact is one result of a task.
type artifact struct {
	ID    string `json:"id"`
	Name  string `json:"name,omitempty"`
	Parts []part `json:"parts"`
}

// part is a piece of content. Exactly one of Text, Data, Bytes and URL is set.
type part struct {
	Text  string          `json:"text,omitempty"`
	Data  json.RawMessage `json:"data,omitempty"`
	Bytes []byte          `json:"bytes,omitempty"`
	URL   string          `json:"url,omitempty"`
	// Name and Type describe a file.
	Name string `json:"name,omitempty"`
	Type string `json:"media_type,omitempty"`
}

// state is the state of a remote task.
type state string

// The states on which behaviour depends; all others count as in progress.
const (
	stateSubmitted state = "submitted"
	stateWorking   state = "working"
	stateInput     state = "input-required"
	stateAuth      state = "auth-required"
	stateCompleted state = "completed"
	stateFailed    state = "failed"
	stateRejected  state = "rejected"
	stateCanceled  state = "canceled"
	// stateAnswered is our own: the agent answered without creating a task.
	stateAnswered state = "answered"
)

// terminal reports whether the state is final.
func (s state) terminal() bool {
	switch s {
	case stateCompleted, stateFailed, stateRejected, stateCanceled, stateAnswered:
		return true
	}
	return false
}

// under reports whether the agent is working.
func (s state) under() bool { return s == stateSubmitted || s == stateWorking }

// refusal is a definite answer without a result: the agent, or a proxy before it, refused.
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

// garbled is the refusal for an unreadable answer, with an excerpt.
func garbled(what, evidence string) *refusal {
	return &refusal{Code: events.CodeMalformed, Message: "the agent's answer cannot be read: " + what, Cause: clip(evidence, maxEvidence), Hint: "see that the agent speaks the version of A2A that its card says"}
}

var (
	// errUnsent marks a message of which nothing was sent.
	errUnsent = errors.New("not sent")
	// errBudget marks an agent that sends more than allowed.
	errBudget = errors.New("over the limit")
	// errSilent ends a stream without events.
	errSilent = errors.New("silent for too long")
)

// maxEvidence limits the excerpt of a faulty answer, in bytes.
const maxEvidence = 2 << 10

func over(limit string, value any) error { return fmt.Errorf("%w: %s is %v", errBudget, limit, value) }
