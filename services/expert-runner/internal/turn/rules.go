package turn

import (
	"cmp"
	"encoding/json"
	"time"
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

// Rules bound a conversation. The zero value works, except for Read.
type Rules struct {
	// Turns is how often the model may answer; DefaultTurns when 0. A summary at the end is one more.
	Turns int
	// Tokens and Time end the conversation at the first answer that reaches them; 0 is no limit.
	Tokens int64
	Time   time.Duration
	// Observation is how many bytes of a tool's answer the model sees; DefaultObservation when 0.
	Observation int
	// Context is the size of the conversation in tokens, as far as it can be guessed, at which the oldest answers of tools
	// are compressed; DefaultContext when 0.
	Context int
	// Required are tools that must have been called before an answer counts.
	Required []string
	// Tools says that there are any; Structured that the answer has to be of one form.
	Tools, Structured bool
	// Summary lets a conversation whose budget is used up end with a summary that is marked as one. Otherwise it fails.
	Summary bool
	// Read finds the result.
	Read Reader
}

func (r Rules) filled() Rules {
	r.Turns = cmp.Or(r.Turns, DefaultTurns)
	r.Observation = cmp.Or(r.Observation, DefaultObservation)
	r.Context = cmp.Or(r.Context, DefaultContext)
	return r
}
