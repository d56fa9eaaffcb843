package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// Exchanges lists what the planning runs of a SubJob have asked, in order. Errors: those of the bus.
func (j Journals) Exchanges(ctx context.Context, job, subjob string) ([]Exchange, error) {
	if err := checkID(job); err != nil {
		return nil, err
	}
	entries, _, err := j.client.bus.Journal(job, subjob).Read(ctx)
	if err != nil {
		return nil, err
	}
	var all []Exchange
	for i := range entries {
		e := &entries[i]
		x := find(all, e.Key)
		switch {
		case e.Type == events.JournalIntent && (x == nil || x.Run != e.Run): // Else it is asked again after a crash.
			all = append(all, Exchange{SubJob: subjob, Run: e.Run, Key: e.Key, Kind: e.Name, Outcome: "open", Asked: e.Time})
		case e.Type == events.JournalResult && x != nil:
			if err := j.answered(ctx, job, x, e); err != nil {
				return nil, err
			}
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
func (j Journals) answered(ctx context.Context, job string, x *Exchange, e *run.Entry) error {
	data := []byte(e.Data)
	if e.Ref != nil {
		var err error
		if data, err = j.client.Blob(ctx, job, *e.Ref); err != nil && !errors.Is(err, ErrNotFound) {
			return fmt.Errorf("read what was answered: %w", err)
		}
	}
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
	return nil
}
