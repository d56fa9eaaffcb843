package conversation

import (
	"encoding/json"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// CommandKind says what is to be done.
type CommandKind string

// The commands.
const (
	Ask CommandKind = "ask" // Ask the model, and state Answered or Failed.
	Use CommandKind = "use" // Call the tools, in any order, and state Observed for each.
	End CommandKind = "end" // It is over.
)

// Choices of Command.Choice beside a tool's name.
const (
	ChoiceFree = ""     // The model may call tools.
	ChoiceNone = "none" // It must not.
)

// Command is what is to be done next.
type Command struct {
	Kind CommandKind
	// Number counts the questions to the model from 1, or from those of conversations before: with the index of a call it names an effect, the same in every
	// replay of the same facts.
	Number int
	// Messages is the conversation, Choice what the model may call, Form that the answer is to be in the wanted form.
	Messages []Message
	Choice   string
	Form     bool
	// Voice names who is asked, empty when there is one alone; Advises that it has no tools.
	Voice   string
	Advises bool
	// Compressed lists answers of tools that were compressed since the last question.
	Compressed []Compression
	// Calls are those of the last answer; Pending are the indexes of those that are to be made.
	Calls   []Call
	Pending []int
	// Ending is how it ended.
	Ending Ending
}

// Compression is an answer of a tool that was made shorter.
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
	// Incomplete says that the output is a summary, since the budget was used up.
	Incomplete bool
	// Fault and Lesson say what went wrong.
	Fault  *events.Fault
	Lesson string
	// RetryAfter is when another attempt may succeed; 0 when unknown.
	RetryAfter time.Duration
}
