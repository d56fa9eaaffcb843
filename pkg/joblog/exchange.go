package joblog

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// Exchange is one call of a model or an expert by a planning run, according to its journal.
type Exchange struct {
	// SubJob is what was planned: "~plan" for the job, "~final" for its summary or report, else the SubJob that was split.
	// Run is the run that made the call. Key is the stage and a count within it: "draft/1".
	SubJob string `json:"subjob"`
	Run    int    `json:"run"`
	Key    string `json:"key"`
	// Kind is "call" for a model, "investigate" for an expert; Model is the model that answered.
	Kind  string `json:"kind"`
	Model string `json:"model,omitempty"`
	// Outcome is "answered", "found", the error class, or "open" while no answer is recorded.
	Outcome string `json:"outcome"`
	events.Spent
	// Asked is when the call was recorded and TookMS the time until the answer was, in milliseconds, both by the log's
	// clock.
	Asked  time.Time `json:"asked"`
	TookMS int64     `json:"took_ms"`
	// Prompt is what a model was asked, if the job's request has Debug. Answer is what it wrote, as it was.
	Prompt *Prompt `json:"prompt,omitempty"`
	Answer string  `json:"answer,omitempty"`
}

// Prompt is what a planning run asked a model. It is recorded in the journal in this form.
type Prompt struct {
	// Role selected the model; Schema is the name of the schema that the answer had to fit, if any.
	Role     string  `json:"role"`
	Schema   string  `json:"schema,omitempty"`
	Messages []Asked `json:"messages"`
}

// Asked is one message of a Prompt.
type Asked struct {
	// Role is "system", "user" or "assistant". Truncated is how many bytes of the text were not kept.
	Role      string `json:"role"`
	Text      string `json:"text"`
	Truncated int    `json:"truncated,omitempty"`
}

// String is the prompt for people.
func (p *Prompt) String() string {
	var b strings.Builder
	for i, m := range p.Messages {
		if i > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString("[" + m.Role + "]\n" + strings.TrimSuffix(m.Text, "\n"))
		if m.Truncated > 0 {
			fmt.Fprintf(&b, "\n… %d more bytes", m.Truncated)
		}
	}
	return b.String()
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

// prompt returns what the intent of a call says that is asked; nil if it does not.
func prompt(e *run.Entry, get Payloads) (*Prompt, error) {
	data, err := recorded(e, get)
	if err != nil || len(data) == 0 {
		return nil, err
	}
	var p Prompt
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
