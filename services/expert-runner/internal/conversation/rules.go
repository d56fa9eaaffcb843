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
	// MaxCalls is how many tools one answer may call; further calls get an error.
	MaxCalls = 32
)

// Reader finds the result in the model's last text. faults, one per line, say why it does not count.
type Reader func(text string) (output json.RawMessage, faults []string)

// Rules bound a conversation. The zero value works, except for Read. A journal stores them.
type Rules struct {
	// Mode lists the roles; empty means a single one. With several of them only a text that is Delivered counts as the answer.
	Mode Mode `json:"mode,omitempty"`
	// Delivered reports whether a text claims to have the result; it is needed for several roles. It is not journaled.
	Delivered func(text string) bool `json:"-"`
	// Before is what earlier conversations of the same run have used.
	Before Before `json:"before,omitzero"`
	// Turns is how often the model may answer; 0 means DefaultTurns for each role. A summary at the end is an additional answer.
	Turns int `json:"turns,omitempty"`
	// Tokens and Time end the conversation at the first answer that reaches them; 0 is no limit.
	Tokens int64         `json:"tokens,omitempty"`
	Time   time.Duration `json:"time,omitempty"`
	// Left is what the job may still spend: the conversation ends at the first answer by which this run has spent it; zero is no
	// limit.
	Left events.Spent `json:"left,omitzero"`
	// Observation is how many bytes of a tool's answer the model sees; 0 means DefaultObservation.
	Observation int `json:"observation,omitempty"`
	// Context is the estimated size of the conversation, in tokens, at which the oldest answers of tools are compressed; 0 means
	// DefaultContext.
	Context int `json:"context,omitempty"`
	// Required are tools that must have been called before an answer counts.
	Required []string `json:"required,omitempty"`
	// Tools is true if there are any; Structured if the answer must have a given form.
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

// Before is what a run has used when a conversation begins.
type Before struct {
	// Questions is the number of the last question, Tokens what all answers used.
	Questions int   `json:"questions,omitempty"`
	Tokens    int64 `json:"tokens,omitempty"`
	// Spent is what this run had spent at the last answer; Elapsed is the time since the first conversation began.
	Spent   events.Spent  `json:"spent,omitzero"`
	Elapsed time.Duration `json:"elapsed,omitempty"`
}

func (r Rules) filled() Rules {
	r.Turns = cmp.Or(r.Turns, DefaultTurns*r.Mode.number())
	r.Observation = cmp.Or(r.Observation, DefaultObservation)
	r.Context = cmp.Or(r.Context, DefaultContext)
	return r
}
