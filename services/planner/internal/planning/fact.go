package planning

import (
	"encoding/json"
	"slices"
	"unicode/utf8"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// FactKind says what happened.
type FactKind string

// The kinds of facts. Each answers one kind of command.
const (
	Answered FactKind = "answered" // The model answered a Call.
	Failed   FactKind = "failed"   // A Call or an Investigate came to nothing.
	Found    FactKind = "found"    // An Investigate gave something.
	Closed   FactKind = "closed"   // A person answered an Ask, it expired or it was cancelled.
	Cards    FactKind = "cards"    // The cards have changed, or the wait is over.
)

// Class is why a call of a model came to nothing.
type Class string

// The classes. Those that pass by themselves are waited for outside; here they mean that waiting did not help.
const (
	ClassUnavailable Class = "unavailable"      // No answer, rate limits, overload, timeouts.
	ClassAuth        Class = "auth"             // The key is refused, or there is none.
	ClassQuota       Class = "quota"            // The account has run out of credit.
	ClassNotFound    Class = "not_found"        // The provider has no such model.
	ClassUnnamed     Class = "not_configured"   // No model of this name is configured.
	ClassTooLong     Class = "context_too_long" // The prompt does not fit.
	ClassFilter      Class = "content_filter"   // The provider withholds the answer.
	ClassRefusal     Class = "refusal"          // The model refuses.
	ClassCut         Class = "cut"              // The answer is longer than it may be.
	ClassBroken      Class = "stream_cut"       // The connection ended in the middle of the answer.
	ClassMalformed   Class = "malformed"        // The provider's reply cannot be read.
	ClassBadRequest  Class = "bad_request"      // The provider refuses the call as it is.
)

// Fact is one thing that happened, recorded in the journal as it is here.
type Fact struct {
	// Key is that of the command it answers.
	Key  string   `json:"key"`
	Kind FactKind `json:"kind"`
	// Run is the planning run that brought it about, and Spent what that cost; see Session.Spent.
	Run int `json:"run,omitempty"`
	events.Spent
	// Text is what the model wrote, kept too of an answer that was cut or refused. Model names who wrote it.
	Text  string `json:"text,omitempty"`
	Model string `json:"model,omitempty"`
	// Class and Message say why something failed.
	Class   Class  `json:"class,omitempty"`
	Message string `json:"message,omitempty"`
	// Findings are what an investigation gave, Faults what of it came to nothing, for the person's eyes.
	Findings []Finding     `json:"findings,omitempty"`
	Faults   events.Faults `json:"faults,omitempty"`
	// Action and Answer are those of the closed request, By who closed it.
	Action events.InputAction `json:"action,omitempty"`
	Answer json.RawMessage    `json:"answer,omitempty"`
	By     string             `json:"by,omitempty"`
	// Cards are the experts there are now. Waited is true when no more are worth waiting for.
	Cards  []events.Card `json:"cards,omitempty"`
	Waited bool          `json:"waited,omitempty"`
}

// clean makes every text what it will be when it is read back from the journal: JSON has no place for bytes that are no
// UTF-8.
func (f *Fact) clean() {
	f.Text, f.Message = valid(f.Text), valid(f.Message)
	for i := range f.Findings {
		if g := &f.Findings[i]; !utf8.ValidString(g.Text + g.Title + g.Source) {
			f.Findings = slices.Clone(f.Findings)
			f.Findings[i] = Finding{Source: valid(g.Source), Title: valid(g.Title), Text: valid(g.Text)}
		}
	}
}

// valid puts the replacement character in place of each such byte, as encoding/json does.
func valid(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return string([]rune(text))
}
