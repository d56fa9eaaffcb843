package joblog

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// Call is one effect of a run, according to the journal of its SubJob: a call of a model, a tool or a service.
type Call struct {
	// Run is the run that began it. Key identifies it within its conversation. Name says what it is: "model", "tool fetch",
	// "http".
	Run  int    `json:"run"`
	Key  string `json:"key"`
	Name string `json:"name"`
	// Args are its arguments, as far as the journal has them.
	Args json.RawMessage `json:"args,omitempty"`
	// Outcome is "done", "failed", or "open" while no result is recorded. Reason says why it failed.
	Outcome string `json:"outcome"`
	Reason  string `json:"reason,omitempty"`
	// Begun counts how often it was begun: more than once only if its runner died during the call.
	Begun int `json:"begun"`
	// Model is the model that answered, and Spent the cost.
	Model string `json:"model,omitempty"`
	events.Spent
	// Asked is when it was first begun. TookMS is how long it took from when it was last begun until its result was
	// recorded, in milliseconds.
	Asked  time.Time `json:"asked"`
	TookMS int64     `json:"took_ms"`
	// Recorded is the result in the journal, inline, or RecordedRef by reference; nil while there is none.
	Recorded    json.RawMessage `json:"-"`
	RecordedRef *events.Ref     `json:"-"`
	began       time.Time
}

// The outcomes of a Call.
const (
	CallDone   = "done"
	CallFailed = "failed"
	CallOpen   = "open"
)

// Calls lists the effects of all runs in a SubJob's journal, in the order in which they began. If get leaves out a model's
// answer, model and cost stay empty. Errors: those of get.
func Calls(journal []run.Entry, get Payloads) ([]Call, error) {
	var all []Call
	for i := range journal {
		e := &journal[i]
		at := slices.IndexFunc(all, func(x Call) bool { return x.Key == e.Key && x.Run == e.Run })
		switch {
		case e.Key == "":
		case e.Type == events.JournalIntent && at < 0:
			all = append(all, Call{Run: e.Run, Key: e.Key, Name: e.Name, Args: e.Data, Outcome: CallOpen, Begun: 1, Asked: e.Time, began: e.Time})
		case e.Type == events.JournalIntent:
			all[at].Begun++
			all[at].began = e.Time
		case e.Type == events.JournalResult && at >= 0:
			if err := all[at].close(e, get); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// close adds the outcome to a call.
func (x *Call) close(e *run.Entry, get Payloads) error {
	x.TookMS = e.Time.Sub(x.began).Milliseconds()
	x.Recorded, x.RecordedRef = e.Data, e.Ref
	if e.Reason != "" {
		x.Outcome, x.Reason = CallFailed, strings.TrimPrefix(e.Reason, "failed: ")
		return nil
	}
	x.Outcome = CallDone
	if x.Name != "model" {
		return nil
	}
	data, err := recorded(e, get)
	if err != nil {
		return err
	}
	var answer struct {
		Model string `json:"model"`
		Usage struct {
			Prompt     int64 `json:"prompt"`
			Completion int64 `json:"completion"`
		} `json:"usage"`
		CostUSD float64 `json:"cost_usd"`
	}
	if json.Unmarshal(data, &answer) == nil { // An unreadable answer has no known cost.
		x.Model, x.Tokens, x.CostUSD = answer.Model, answer.Usage.Prompt+answer.Usage.Completion, answer.CostUSD
	}
	return nil
}

// recorded returns the content of a journal record, inline or by reference.
func recorded(e *run.Entry, get Payloads) ([]byte, error) {
	if e.Ref == nil {
		return e.Data, nil
	}
	data, err := get(*e.Ref)
	if err != nil {
		return nil, fmt.Errorf("read what was answered: %w", err)
	}
	return data, nil
}
