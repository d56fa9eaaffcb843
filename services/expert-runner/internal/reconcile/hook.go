package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
)

// DefaultTimeout is how long a hook may take to answer.
const DefaultTimeout = 30 * time.Second

// goal is the question to a hook.
const goal = "Say whether this effect took place, without making it"

// Hook asks a runner. It may be asked from any number of goroutines.
type Hook struct {
	// Runner is the expert that is asked.
	Runner expert.Runner
	// Timeout bounds the answer; DefaultTimeout when 0.
	Timeout time.Duration
}

// Question is the input of a hook, named "effect".
type Question struct {
	// Key identifies the effect within the run that began it, Name says what it is: "http", "command", "tool pay".
	Key  string `json:"key"`
	Name string `json:"name"`
	// Args are the arguments of the call in the journal.
	Args json.RawMessage `json:"args,omitempty"`
	// Run is the run that began it, IdempotencyKey the key of that run.
	Run            int    `json:"run"`
	IdempotencyKey string `json:"idempotency_key"`
}

// Answer is the answer of a hook.
type Answer struct {
	// State is done, not_done or unknown; Result is the result of an effect that is done.
	State  run.Outcome     `json:"state"`
	Result json.RawMessage `json:"result"`
	// Reason tells people why the hook gives this answer.
	Reason string `json:"reason"`
}

// Reconcile implements expert.Reconciler.
func (h *Hook) Reconcile(ctx context.Context, q expert.Inquiry) run.Resolution {
	limit := h.Timeout
	if limit == 0 {
		limit = DefaultTimeout
	}
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	work, err := question(&q)
	if err != nil {
		return unknown("the hook could not be asked: " + err.Error())
	}
	ending := h.Runner.Run(ctx, &expert.Task{Work: work, Log: q.Log, Hand: once{}, Payload: none})
	switch r := ending.Report; {
	case ctx.Err() != nil:
		return unknown(fmt.Sprintf("The hook gave no answer within %s.", limit))
	case r == nil:
		return unknown("The hook gave no answer.")
	case r.Outcome != events.Success:
		return unknown("The hook failed: " + told(r))
	default:
		return read(r.Output)
	}
}

func unknown(why string) run.Resolution { return run.Resolution{State: run.Unknown, Reason: why} }

func told(r *events.SubJobReported) string {
	if r.Error != nil {
		return r.Error.Error()
	}
	return r.Lesson
}

// question returns the effect as work.
func question(q *expert.Inquiry) (*events.Work, error) {
	key := run.KeyOf(q.Work, q.Intent.Run)
	about := Question{Key: q.Intent.Key, Name: q.Intent.Name, Run: q.Intent.Run, IdempotencyKey: key}
	if q.Intent.Type != events.JournalClaimed {
		about.Args = q.Intent.Data
	}
	effect, err := json.Marshal(about)
	if err != nil {
		return nil, err
	}
	return &events.Work{
		Kind: events.WorkExecute, Job: q.Work.Job, SubJob: q.Work.SubJob, Run: q.Intent.Run, Attempt: 1, Goal: goal, Context: q.Work.Goal,
		Inputs: map[string]json.RawMessage{"effect": effect}, Locale: q.Work.Locale, User: q.Work.User, Deadline: q.Work.Deadline,
		Spec: events.SubJob{ID: q.Work.SubJob, Goal: goal, Expert: q.Work.Spec.Expert}, IdempotencyKey: key,
	}, nil
}

// read returns the resolution in an answer; the outcome stays unknown if it has none.
func read(output json.RawMessage) run.Resolution {
	var a Answer
	if err := json.Unmarshal(output, &a); err != nil {
		return unknown(`The hook's answer is not of the form {"state":"done","result":…}.`)
	}
	f := run.Resolution{State: run.Outcome(strings.ToLower(string(a.State))), Result: a.Result, Reason: a.Reason}
	switch f.State {
	case run.Done:
	case run.NotDone:
		if f.Reason == "" {
			f.Reason = "the hook says so"
		}
	case run.Unknown:
		f.Reason = strings.TrimSpace("The hook cannot tell. " + a.Reason)
	default:
		return unknown("The hook's state is none of done, not_done and unknown.")
	}
	return f
}

// once implements the hand of a hook: a hook has no effects, so nothing is journaled or published.
type once struct{}

// Do implements expert.Hand.
func (once) Do(ctx context.Context, _ expert.Effect, call func(context.Context) (json.RawMessage, error)) (json.RawMessage, error) {
	return call(ctx)
}

// Progress implements expert.Hand.
func (once) Progress(events.SubJobProgressed) {}

// Live implements expert.Hand.
func (once) Live([]byte) {}

var errNoFiles = errors.New("a hook has no files")

func none(context.Context, events.Ref, io.Writer) error { return errNoFiles }
