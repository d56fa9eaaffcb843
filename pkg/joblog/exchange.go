package joblog

import (
	"encoding/json"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// Exchange is one thing that a planning run has asked of a model or an expert, as its journal tells.
type Exchange struct {
	// SubJob is what was planned: "~plan" the job, "~final" its result in words, else the SubJob that was split. Run is the run
	// that asked, Key what for: a stage and the how manyeth of it, "draft/1".
	SubJob string `json:"subjob"`
	Run    int    `json:"run"`
	Key    string `json:"key"`
	// Kind is "call" for a model, "investigate" for an expert; Model is who answered.
	Kind  string `json:"kind"`
	Model string `json:"model,omitempty"`
	// Outcome is "answered", "found", the class of the failure, or "open" while no answer is recorded.
	Outcome string `json:"outcome"`
	events.Spent
	// Asked is when the question was recorded, TookMS how many milliseconds later the answer was, both by the log's clock.
	Asked  time.Time `json:"asked"`
	TookMS int64     `json:"took_ms"`
}

// Exchanges lists what the planning runs of a SubJob have asked, in order, out of its journal. Of an answer that get leaves out the outcome
// is "unreadable". Errors: those of get.
func Exchanges(subjob string, journal []run.Entry, get Payloads) ([]Exchange, error) {
	var all []Exchange
	for i := range journal {
		e := &journal[i]
		x := find(all, e.Key)
		switch {
		case e.Type == events.JournalIntent && (x == nil || x.Run != e.Run): // Else it is asked again after a crash.
			all = append(all, Exchange{SubJob: subjob, Run: e.Run, Key: e.Key, Kind: e.Name, Outcome: "open", Asked: e.Time})
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

// find gives the last exchange with a key that is open.
func find(all []Exchange, key string) *Exchange {
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Key == key && all[i].Outcome == "open" {
			return &all[i]
		}
	}
	return nil
}

// answered puts into an exchange what came of it.
func (x *Exchange) answered(e *run.Entry, data []byte) {
	var fact struct {
		Kind, Model, Class string
		events.Spent
	}
	if json.Unmarshal(data, &fact) != nil {
		fact.Kind = "unreadable"
	}
	x.Outcome, x.Model, x.Spent, x.TookMS = fact.Kind, fact.Model, fact.Spent, e.Time.Sub(x.Asked).Milliseconds()
	if fact.Class != "" {
		x.Outcome = fact.Class
	}
}
