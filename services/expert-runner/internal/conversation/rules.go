package conversation

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Defaults of Rules.
const (
	// DefaultTurns is how often a model may answer.
	DefaultTurns = 20
	// DefaultObservation is how many bytes of a tool's answer the model sees.
	DefaultObservation = 10_000
	// DefaultContext is the size of a conversation at which old answers of tools are compressed, in tokens.
	DefaultContext = 100_000
	// MaxCalls is how many tools one answer may call; further calls are answered, not made.
	MaxCalls = 32
)

// Reader finds the result in what the model wrote last. faults, one a line, say why it does not count.
type Reader func(text string) (output json.RawMessage, faults []string)

// Rules bound a conversation. The zero value works, except for Read. A journal keeps them.
type Rules struct {
	// Mode is who speaks; one voice when there is none. With several of them only a text that is Delivered counts as the answer.
	Mode Mode `json:"mode,omitempty"`
	// Delivered reports whether a text says that it has the result; needed for several voices. It is not written.
	Delivered func(text string) bool `json:"-"`
	// Before is what earlier conversations of the same run have had.
	Before Before `json:"before,omitzero"`
	// Turns is how often the model may answer; DefaultTurns for each voice when 0. A summary at the end is one more.
	Turns int `json:"turns,omitempty"`
	// Tokens and Time end the conversation at the first answer that reaches them; 0 is no limit.
	Tokens int64         `json:"tokens,omitempty"`
	Time   time.Duration `json:"time,omitempty"`
	// Left is what the job may still spend: the conversation ends at the first answer with which this run has spent that; a zero is
	// no bound.
	Left events.Spent `json:"left,omitzero"`
	// Observation is how many bytes of a tool's answer the model sees; DefaultObservation when 0.
	Observation int `json:"observation,omitempty"`
	// Context is the size of the conversation in tokens, as far as it can be guessed, at which the oldest answers of tools
	// are compressed; DefaultContext when 0.
	Context int `json:"context,omitempty"`
	// Required are tools that must have been called before an answer counts.
	Required []string `json:"required,omitempty"`
	// Tools says that there are any; Structured that the answer has to be of one form.
	Tools      bool `json:"tools,omitempty"`
	Structured bool `json:"structured,omitempty"`
	// Summary lets a conversation whose budget is used up end with a summary that is marked as one. Otherwise it fails.
	Summary bool `json:"summary,omitempty"`
	// Careful asks again for what can be read in more than one way. It is unset in journals of older runners, which took the
	// likeliest reading.
	Careful bool `json:"careful,omitempty"`
	// Read finds the result. It is not written.
	Read Reader `json:"-"`
}

// Before is what a run has had when a conversation begins.
type Before struct {
	// Questions is the number of the last question, Tokens what all answers took.
	Questions int   `json:"questions,omitempty"`
	Tokens    int64 `json:"tokens,omitempty"`
	// Spent is what this run had spent at the last answer, Elapsed how long the first conversation had begun before.
	Spent   events.Spent  `json:"spent,omitzero"`
	Elapsed time.Duration `json:"elapsed,omitempty"`
}

func (r Rules) filled() Rules {
	r.Turns = cmp.Or(r.Turns, DefaultTurns*r.Mode.number())
	r.Observation = cmp.Or(r.Observation, DefaultObservation)
	r.Context = cmp.Or(r.Context, DefaultContext)
	return r
}
