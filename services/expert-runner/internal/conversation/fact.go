package conversation

import (
	"encoding/json"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// FactKind says what has happened.
type FactKind string

// The kinds of facts.
const (
	Answered FactKind = "answered" // The model has answered the last Ask.
	Observed FactKind = "observed" // A tool has answered a call of the last Use.
	Failed   FactKind = "failed"   // The model could not answer the last Ask.
)

// Fact is what a caller reports to a Machine: something that has happened outside of it.
type Fact struct {
	Kind FactKind
	// Text and Calls are the model's answer; Carry is sent back to it unread.
	Text  string
	Calls []Call
	Carry json.RawMessage
	// Unreadable says why an answer could not be read, by the provider or by us: Text is what there is of it, and the model is
	// asked again.
	Unreadable string
	// Tokens is what the call used, Elapsed how long the conversation had lasted when it was answered.
	Tokens  int64
	Elapsed time.Duration
	// Spent is what this run had spent when the call was answered, without earlier runs.
	Spent events.Spent
	// Call is the index of the call that a tool has answered, Result its answer.
	Call   int
	Result string
	// Outcome and Fault say how the conversation ends after a failed call; RetryAfter when another attempt may succeed.
	Outcome    events.Outcome
	Fault      events.Fault
	RetryAfter time.Duration
	// TooLong says that the conversation did not fit the model.
	TooLong bool
}
