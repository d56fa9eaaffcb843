package joblog

import (
	"encoding/json"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// Exchange is one call of a model or an expert by a planning run, according to its journal.
type Exchange struct {
	// SubJob is what was planned: "~plan" for the job, "~final" for its summary or report, else the SubJob that was split. Run is
	// the run that made the call. Key is the stage and a count within it: "draft/1".
	SubJob string `json:"subjob"`
	Run    int    `json:"run"`
	Key    string `json:"key"`
	// Kind is "call" for a model, "investigate" for an expert; Model is the model that answered.
	Kind  string `json:"kind"`
	Model string `json:"model,omitempty"`
	// Outcome is "answered", "found", the error class, or "open" while no answer is recorded.
	Outcome string `json:"outcome"`
	events.Spent
	// Asked is when the call was recorded, TookMS the time until the answer was recorded, in milliseconds, both by the log's clock.
	Asked  time.Time `json:"asked"`
	TookMS int64     `json:"took_ms"`
	// Prompt is the prompt, if the job's request has Debug. Answer is the unchanged text of the model.
	Prompt *events.Prompt `json:"prompt,omitempty"`
	Answer string         `json:"answer,omitempty"`
}

// Exchanges lists the calls in the journal of a SubJob's planning runs, in order. If get leaves out an answer, its outcome
// is "unreadable". Errors: those of get.
func Exchanges(subjob string, journal []run.Entry, get Payloads) ([]Exchange, error) {
	var all []Exchange
	for i := range journal {
		e := &journal[i]
		x := find(all, e.Key)
		switch {
		case e.Type == events.JournalIntent && (x == nil || x.Run != e.Run): // Otherwise it is the same call, repeated after a crash.
			prompt, err := prompt(e, get)
			if err != nil {
				return nil, err
			}
			all = append(all, Exchange{SubJob: subjob, Run: e.Run, Key: e.Key, Kind: e.Name, Outcome: "open", Asked: e.Time, Prompt: prompt})
		case e.Type == events.JournalResult && x != nil:
			data, err := recorded(e, get)
			if err != nil {
				return nil, err
			}
			x.answered(e, data)
		}
	}
	return all, nil
}

// prompt returns the prompt in the intent of a call; nil if it has none.
func prompt(e *run.Entry, get Payloads) (*events.Prompt, error) {
	data, err := recorded(e, get)
	if err != nil || len(data) == 0 {
		return nil, err
	}
	var p events.Prompt
	if json.Unmarshal(data, &p) != nil || len(p.Messages) == 0 {
		return nil, nil
	}
	return &p, nil
}

// find returns the last open exchange with a key.
func find(all []Exchange, key string) *Exchange {
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Key == key && all[i].Outcome == "open" {
			return &all[i]
		}
	}
	return nil
}

// answered adds the outcome to an exchange.
func (x *Exchange) answered(e *run.Entry, data []byte) {
	var fact struct {
		Kind, Model, Class, Text string
		events.Spent
	}
	if json.Unmarshal(data, &fact) != nil {
		fact.Kind = "unreadable"
	}
	x.Answer = fact.Text
	x.Outcome, x.Model, x.Spent, x.TookMS = fact.Kind, fact.Model, fact.Spent, e.Time.Sub(x.Asked).Milliseconds()
	if fact.Class != "" {
		x.Outcome = fact.Class
	}
}
