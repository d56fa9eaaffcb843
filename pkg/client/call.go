package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// Call is one effect of a run, as the journal of its SubJob tells: a question to a model, a call of a tool or of a service.
type Call struct {
	// Run is the run that began it, Key names it within its conversation, Name says what it is: "model", "tool fetch", "http".
	Run  int    `json:"run"`
	Key  string `json:"key"`
	Name string `json:"name"`
	// Args are what the journal has of its arguments.
	Args json.RawMessage `json:"args,omitempty"`
	// Outcome is "done", "failed", or "open" while nothing that came back is recorded. Reason says why it failed.
	Outcome string `json:"outcome"`
	Reason  string `json:"reason,omitempty"`
	// Begun counts how often it was about to be made: more than once only for one that was under way when its runner died.
	Begun int `json:"begun"`
	// Model is who answered a question, and Spent what that took.
	Model string `json:"model,omitempty"`
	events.Spent
	// Asked is when it was first begun, TookMS how many milliseconds after it was last begun its result was recorded.
	Asked  time.Time `json:"asked"`
	TookMS int64     `json:"took_ms"`
	began  time.Time
}

// The outcomes of a Call.
const (
	CallDone   = "done"
	CallFailed = "failed"
	CallOpen   = "open"
)

// Journals reads what the runs of a SubJob have recorded: calls, and what agents and models have said.
type Journals struct{ client *Client }

// Calls lists the effects of all runs of a SubJob, in the order in which they were begun. Errors: those of the bus.
func (j Journals) Calls(ctx context.Context, job, subjob string) ([]Call, error) {
	if err := checkID(job); err != nil {
		return nil, err
	}
	entries, _, err := j.client.bus.Journal(job, subjob).Read(ctx)
	if err != nil {
		return nil, err
	}
	var all []Call
	for i := range entries {
		e := &entries[i]
		at := slices.IndexFunc(all, func(x Call) bool { return x.Key == e.Key && x.Run == e.Run })
		switch {
		case e.Key == "":
		case e.Type == events.JournalIntent && at < 0:
			all = append(all, Call{Run: e.Run, Key: e.Key, Name: e.Name, Args: e.Data, Outcome: CallOpen, Begun: 1, Asked: e.Time, began: e.Time})
		case e.Type == events.JournalIntent:
			all[at].Begun++
			all[at].began = e.Time
		case e.Type == events.JournalResult && at >= 0:
			if err := j.closes(ctx, job, &all[at], e); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// closes puts into a call what came of it.
func (j Journals) closes(ctx context.Context, job string, x *Call, e *run.Entry) error {
	x.TookMS = e.Time.Sub(x.began).Milliseconds()
	if e.Reason != "" {
		x.Outcome, x.Reason = CallFailed, strings.TrimPrefix(e.Reason, "failed: ")
		return nil
	}
	x.Outcome = CallDone
	if x.Name != "model" {
		return nil
	}
	data := []byte(e.Data)
	if e.Ref != nil {
		var err error
		if data, err = j.client.Blob(ctx, job, *e.Ref); err != nil && !errors.Is(err, ErrNotFound) {
			return fmt.Errorf("read what was answered: %w", err)
		}
	}
	var answer struct {
		Model string `json:"model"`
		Usage struct {
			Prompt     int64 `json:"prompt"`
			Completion int64 `json:"completion"`
		} `json:"usage"`
		CostUSD float64 `json:"cost_usd"`
	}
	if json.Unmarshal(data, &answer) == nil { // One that cannot be read tells no cost.
		x.Model, x.Tokens, x.CostUSD = answer.Model, answer.Usage.Prompt+answer.Usage.Completion, answer.CostUSD
	}
	return nil
}
