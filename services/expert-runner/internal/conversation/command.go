package conversation

import (
	"encoding/json"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// CommandKind says what the caller of a Machine has to do next.
type CommandKind string

// The kinds of commands.
const (
	Ask CommandKind = "ask" // Ask the model, and report Answered or Failed.
	Use CommandKind = "use" // Call the tools, in any order, and report Observed for each.
	End CommandKind = "end" // The conversation is over.
)

// Values of Command.Choice other than the name of a tool.
const (
	ChoiceFree = ""     // The model may call tools.
	ChoiceNone = "none" // The model must not call tools.
)

// Command is what a Machine needs next from its caller.
type Command struct {
	Kind CommandKind
	// Number counts the model calls from 1, or from those of previous conversations: with the index of a tool call it names an
	// effect, the same in every replay of the same facts.
	Number int
	// Messages is the conversation, Choice the tool choice, Form asks for the required output form.
	Messages []Message
	Choice   string
	Form     bool
	// Voice names the role, empty if there is only one; Advises means that it has no tools.
	Voice   string
	Advises bool
	// Compressed lists tool answers that were compressed since the last model call.
	Compressed []Compression
	// Calls are those of the last answer; Pending are the indexes of the calls to make.
	Calls   []Call
	Pending []int
	// Ending is how the conversation ended, for End.
	Ending Ending
}

// Compression is a shortened tool answer.
type Compression struct {
	// Call is the id of the call; From and To are bytes.
	Call string `json:"call"`
	From int    `json:"from"`
	To   int    `json:"to"`
}

// Ending is how a conversation ended.
type Ending struct {
	// Outcome is one of the four, Output the result of a SUCCESS.
	Outcome events.Outcome
	Output  json.RawMessage
	// Incomplete means that the output is a summary because the budget was used up.
	Incomplete bool
	// Fault and Lesson describe what went wrong.
	Fault  *events.Fault
	Lesson string
	// RetryAfter is when another attempt may succeed; 0 when unknown.
	RetryAfter time.Duration
}
