package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	jobrun "github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/conversation"
)

// beginning is what a conversation begins with. The journal keeps it with the first answer, so that the conversation can be had
// again without card, configuration and workspace.
type beginning struct {
	// Part is the step, or evaluationPart; Next what comes behind a result, nil for nothing.
	Part string  `json:"part,omitempty"`
	Next *string `json:"next,omitempty"`
	// Judges says that it is the evaluation, Inputs that the inputs of the run may be at fault.
	Judges bool `json:"judges,omitempty"`
	Inputs bool `json:"inputs,omitempty"`
	// Rules and Opening make the machine, Schema is the form of the result; Tools are the names of those that it may use.
	Rules   conversation.Rules     `json:"rules"`
	Opening []conversation.Message `json:"opening"`
	Tools   []string               `json:"tools,omitempty"`
	Schema  json.RawMessage        `json:"schema,omitempty"`
	seq     uint64                 // The record that it was read from.
}

// machine has the conversation begin, in a run that has had something before.
func (b *beginning) machine(had conversation.Before) (*conversation.Machine, error) {
	rules := b.Rules
	rules.Before, rules.Delivered = had, delivered
	rules.Read = func(text string) (json.RawMessage, []string) { return readEvaluation(text, b.Inputs) }
	if b.Judges {
		rules.Before = conversation.Before{Questions: had.Questions}
		return conversation.New(rules, b.Opening), nil
	}
	read, err := newForm(b.Schema)
	if err != nil {
		return nil, err
	}
	rules.Read = read.read
	return conversation.New(rules, b.Opening), nil
}

// Recording is what is left of an agent's runs of one SubJob.
type Recording struct {
	// SubJob is its id, Journal the whole journal, oldest record first.
	SubJob  string
	Journal []jobrun.Entry
	// Answers are what people have answered, by request.
	Answers map[string]events.InputClosed
	// Blob reads what travelled by reference.
	Blob func(ref events.Ref) ([]byte, error)
}

// Conversations are the last runs of all conversations with a model, in order: a run that another one continues is part of that.
func (rec *Recording) Conversations() []int {
	var runs, continued []int
	journal := jobrun.Read(rec.Journal)
	for i := range rec.Journal {
		r := &rec.Journal[i]
		if r.Type == events.JournalClaimed && !slices.Contains(runs, r.Run) {
			runs = append(runs, r.Run)
			continued = append(continued, journal.Lineage(r.Run)[1:]...)
		}
	}
	return slices.DeleteFunc(runs, func(run int) bool { return slices.Contains(continued, run) || len(rec.kept(run).questions()) == 0 })
}

// kept is what a journal has of one conversation.
type kept struct {
	run int
	// begun, done and failed are intents and results by key: the first intent, and the last result.
	begun, done, failed map[string]*jobrun.Entry
	// since is when an effect was last begun.
	since map[string]time.Time
	// ended is how the last run ended for its runner, or why it was closed; nil when neither is told.
	ended *jobrun.Entry
}

// kept collects the records of a run and of those that it continues.
func (rec *Recording) kept(run int) *kept {
	k := &kept{run: run, begun: map[string]*jobrun.Entry{}, done: map[string]*jobrun.Entry{}, failed: map[string]*jobrun.Entry{}, since: map[string]time.Time{}}
	runs := jobrun.Read(rec.Journal).Lineage(run)
	for i := range rec.Journal {
		e := &rec.Journal[i]
		r := e
		switch {
		case r.Type == events.JournalClosed && r.Run >= run && k.ended == nil, r.Type == events.JournalReported && r.Run == run:
			k.ended = e
		case !slices.Contains(runs, r.Run) || r.Key == "":
		case r.Type == events.JournalIntent:
			if k.since[r.Key] = e.Time; k.begun[r.Key] == nil {
				k.begun[r.Key] = e
			}
		case r.Type == events.JournalResult && r.Reason != "":
			k.failed[r.Key] = e
		case r.Type == events.JournalResult:
			k.done[r.Key] = e
		}
	}
	return k
}

// questions are the keys of the questions that were answered, in order.
func (k *kept) questions() []string {
	numbers := make([]int, 0, len(k.done))
	for key := range k.done { // any order: sorted below.
		if text, is := strings.CutPrefix(key, questions); is {
			n, _ := strconv.Atoi(text) // A key of ours is a number.
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	keys := make([]string, len(numbers))
	for i, n := range numbers {
		keys[i] = questionKey(n)
	}
	return keys
}

// report is what the last run has reported; nil when it did not.
func (k *kept) report() *events.SubJobReported {
	var r events.SubJobReported
	if k.ended == nil || events.Kind(k.ended.Name) != events.KindSubJobReported || json.Unmarshal(k.ended.Data, &r) != nil {
		return nil
	}
	return &r
}

// took is how long an effect took.
func (k *kept) took(key string) int64 {
	if k.done[key] == nil || k.since[key].IsZero() {
		return 0
	}
	return k.done[key].Time.Sub(k.since[key]).Milliseconds()
}

// data is the result of an effect, wherever it is.
func (rec *Recording) data(e *jobrun.Entry) (json.RawMessage, error) {
	if e.Ref == nil {
		return e.Data, nil
	}
	raw, err := rec.Blob(*e.Ref)
	if err != nil {
		return nil, fmt.Errorf("read the result of %s: %w", e.Key, err)
	}
	return raw, nil
}

// ErrNoBeginning says that a journal cannot be replayed.
var ErrNoBeginning = errors.New("the journal does not say what the conversation began with: it is of an earlier version")

// beginnings are what the conversations of a run began with, in order; what the job had left is that of the last run that has asked
// something.
func (rec *Recording) beginnings(k *kept) ([]beginning, error) {
	var found []beginning
	last := 0
	var left events.Spent
	for _, key := range k.questions() {
		raw, err := rec.data(k.done[key])
		if err != nil {
			return nil, err
		}
		var a answer
		if err := json.Unmarshal(raw, &a); err != nil {
			return nil, fmt.Errorf("read the answer %s: %w", key, err)
		}
		if a.Began != nil {
			a.Began.seq = k.done[key].Seq
			found = append(found, *a.Began)
		}
		if a.Run >= last {
			last, left = a.Run, a.Left
		}
	}
	if len(found) == 0 {
		return nil, ErrNoBeginning
	}
	for i := range found {
		if !found[i].Judges {
			found[i].Rules.Left = left
		}
	}
	return found, nil
}
