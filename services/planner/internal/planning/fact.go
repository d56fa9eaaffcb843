package planning

import (
	"encoding/json"
	"slices"
	"unicode/utf8"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// FactKind is the kind of a Fact.
type FactKind string

// The kinds of facts. Each answers one kind of command.
const (
	Answered FactKind = "answered" // The model answered a Call.
	Failed   FactKind = "failed"   // A Call or an Investigate failed.
	Found    FactKind = "found"    // An Investigate returned findings.
	Closed   FactKind = "closed"   // A person answered an Ask, or it expired or was cancelled.
	Cards    FactKind = "cards"    // The cards have changed, or the wait is over.
)

// Class is why a model call failed.
type Class string

// The classes. The caller has already waited for failures that pass by themselves; here they mean that waiting did not
// help.
const (
	ClassUnavailable Class = "unavailable"      // No answer, rate limits, overload, timeouts.
	ClassAuth        Class = "auth"             // The key is rejected or missing.
	ClassQuota       Class = "quota"            // The account has run out of credit.
	ClassNotFound    Class = "not_found"        // The provider has no such model.
	ClassUnnamed     Class = "not_configured"   // No model of this name is configured.
	ClassTooLong     Class = "context_too_long" // The prompt does not fit.
	ClassFilter      Class = "content_filter"   // The provider withholds the answer.
	ClassRefusal     Class = "refusal"          // The model refuses.
	ClassCut         Class = "cut"              // The answer exceeds its length limit.
	ClassBroken      Class = "stream_cut"       // The connection ended in the middle of the answer.
	ClassMalformed   Class = "malformed"        // The provider's reply cannot be read.
	ClassBadRequest  Class = "bad_request"      // The provider rejects the call as malformed.
)

// Fact is one thing that happened, recorded in the journal in this form.
type Fact struct {
	// Key is the key of the command that the fact answers.
	Key  string   `json:"key"`
	Kind FactKind `json:"kind"`
	// Run is the planning run that produced the fact and Spent its cost; see Planning.Spent.
	Run int `json:"run,omitempty"`
	events.Spent
	// Text is what the model wrote, including an answer that was cut or refused. Model names the model.
	Text  string `json:"text,omitempty"`
	Model string `json:"model,omitempty"`
	// Class and Message say why something failed.
	Class   Class  `json:"class,omitempty"`
	Message string `json:"message,omitempty"`
	// Findings are the results of an investigation. Faults, shown to people, lists what failed.
	Findings []Finding     `json:"findings,omitempty"`
	Faults   events.Faults `json:"faults,omitempty"`
	// Action and Answer are those of the closed request; By says who closed it.
	Action events.InputAction `json:"action,omitempty"`
	Answer json.RawMessage    `json:"answer,omitempty"`
	By     string             `json:"by,omitempty"`
	// Cards are the experts at that time. Waited is true once there is no more waiting.
	Cards  []events.Card `json:"cards,omitempty"`
	Waited bool          `json:"waited,omitempty"`
}

// clean replaces invalid UTF-8 in every text, so that a fact equals what is read back from the journal: JSON cannot hold
// other bytes.
func (f *Fact) clean() {
	f.Text, f.Message = valid(f.Text), valid(f.Message)
	for i := range f.Findings {
		if g := &f.Findings[i]; !utf8.ValidString(g.Text + g.Title + g.Source) {
			f.Findings = slices.Clone(f.Findings)
			f.Findings[i] = Finding{Source: valid(g.Source), Title: valid(g.Title), Text: valid(g.Text)}
		}
	}
}

// valid replaces each invalid byte by the replacement character, as encoding/json does.
func valid(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return string([]rune(text))
}
