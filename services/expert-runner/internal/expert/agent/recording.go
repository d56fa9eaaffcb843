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

// beginning is everything that a conversation starts from. The journal stores it with the first answer, so that the
// conversation can be replayed without card, configuration and workspace.
type beginning struct {
	// Part is the step, or evaluationPart. Next is the part after a result, nil for none.
	Part string  `json:"part,omitempty"`
	Next *string `json:"next,omitempty"`
	// Judges is true for the evaluation, Inputs if the inputs of the run may be at fault.
	Judges bool `json:"judges,omitempty"`
	Inputs bool `json:"inputs,omitempty"`
	// Rules and Opening create the machine, Schema is the form of the result, Tools are the names of the usable tools.
	Rules   conversation.Rules     `json:"rules"`
	Opening []conversation.Message `json:"opening"`
	Tools   []string               `json:"tools,omitempty"`
	Schema  json.RawMessage        `json:"schema,omitempty"`
	seq     uint64                 // The sequence of its record.
}

// machine starts the conversation, in a run with earlier conversations.
func (b *beginning) machine(had conversation.Before) (*conversation.Machine, error) {
	rules := b.Rules
	rules.Before, rules.Delivered = had, delivered
	careful := func() bool { return b.Rules.Careful }
	rules.Read = evaluationReader(b.Inputs, careful, nil)
	if b.Judges {
		rules.Before = conversation.Before{Questions: had.Questions}
		return conversation.New(rules, b.Opening), nil
	}
	read, err := newForm(b.Schema)
	if err != nil {
		return nil, err
	}
	read.careful, rules.Read = careful, read.read
	return conversation.New(rules, b.Opening), nil
}

// other returns the recorded beginning of a conversation if its opening differs; nil if there is no difference.
func (b *beginning) other(recorded *beginning) *beginning {
	same := func(x, y conversation.Message) bool { return x.Role == y.Role && x.Text == y.Text }
	if b == nil || recorded == nil || slices.EqualFunc(b.Opening, recorded.Opening, same) {
		return nil
	}
	return recorded
}

// Recording holds the records of an agent's runs of one SubJob.
type Recording struct {
	// SubJob is its id, Journal the whole journal, oldest record first.
	SubJob  string
	Journal []jobrun.Entry
	// Answers are the answers of people, by request.
	Answers map[string]events.InputClosed
	// Blob reads payloads stored as blobs.
	Blob func(ref events.Ref) ([]byte, error)
}

// Conversations returns the last run of each conversation with a model, in order; a run that another one continues is part
// of that one.
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

// kept holds the records of one conversation.
type kept struct {
	run int
	// begun, done and failed are intents and results by key: the first intent and the last result of each.
	begun, done, failed map[string]*jobrun.Entry
	// since is when an effect was last begun.
	since map[string]time.Time
	// ended is the record of how the last run ended, or why it was closed; nil if there is neither.
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

// questions returns the keys of the answered model calls, in order.
func (k *kept) questions() []string {
	numbers := make([]int, 0, len(k.done))
	for key := range k.done { // any order: sorted below.
		if text, is := strings.CutPrefix(key, questions); is {
			n, _ := strconv.Atoi(text) // Our keys are numbers.
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

// report returns the report of the last run; nil if there is none.
func (k *kept) report() *events.SubJobReported {
	var r events.SubJobReported
	if k.ended == nil || events.Kind(k.ended.Name) != events.KindSubJobReported || json.Unmarshal(k.ended.Data, &r) != nil {
		return nil
	}
	return &r
}

// took returns the duration of an effect, in milliseconds.
func (k *kept) took(key string) int64 {
	if k.done[key] == nil || k.since[key].IsZero() {
		return 0
	}
	return k.done[key].Time.Sub(k.since[key]).Milliseconds()
}

// data returns the result of an effect, inline or from a blob.
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

// ErrNoBeginning means that a journal cannot be replayed.
var ErrNoBeginning = errors.New("the journal does not say what the conversation began with: it is of an earlier version")

// beginnings returns the beginnings of a run's conversations, in order. The remaining budget is that of the last run that
// called the model.
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
