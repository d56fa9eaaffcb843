package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// ErrPoisoned marks an event that must not be skipped and that this program does not understand.
var ErrPoisoned = errors.New("an event cannot be understood")

// History is a log with its fold.
type History struct {
	// Aside is why the scheduler leaves the job alone, when it does; the fold may end before the log then.
	Aside error
	// Events are those that were folded, in order.
	Events []events.Event
	// Job is the fold; nil before the first event.
	Job *graph.Job
	// Effect is what the last event did.
	Effect graph.Effect

	places map[uint64]int
}

// New is a history without events.
func New() *History { return &History{places: map[uint64]int{}} }

// Step folds one more event. An event that must not be skipped and cannot be understood is an error.
func (h *History) Step(e events.Event) error {
	h.places[e.Seq] = len(h.Events)
	h.Events = append(h.Events, e)
	if h.Job == nil {
		job, err := graph.New(e)
		if err != nil {
			return fmt.Errorf("event %d of job %s: %w", e.Seq, e.Job, err)
		}
		h.Job, h.Effect = job, graph.Effect{Verdict: graph.Applied}
		return nil
	}
	h.Effect = h.Job.Step(e)
	if h.Effect.Verdict == graph.Poisoned {
		return fmt.Errorf("%w: %w", ErrPoisoned, &events.Fault{
			Code: events.CodeMustUnderstand, Message: fmt.Sprintf("event %d of job %s cannot be folded", e.Seq, e.Job), Cause: h.Effect.Reason,
			Hint: "it is from a later version: use the program of that version, or upgrade",
		})
	}
	return nil
}

// Fold folds a whole log, up to and with a sequence; 0 means to its end.
func Fold(log iter.Seq2[events.Event, error], until uint64) (*History, error) {
	if until == 0 {
		until = math.MaxUint64
	}
	h := New()
	for e, err := range log {
		if err != nil {
			return h, err
		}
		if e.Seq > until {
			break
		}
		if err := h.Step(e); err != nil {
			return h, err
		}
	}
	if h.Job == nil {
		return h, fmt.Errorf("no event up to sequence %d", until)
	}
	return h, nil
}

// Load folds a job's log as it stands on the bus.
func Load(ctx context.Context, c *client.Client, job string, until uint64) (*History, error) {
	return Fold(c.Events(ctx, job, 0), until)
}

// Recorded gives the events of an export file, with plans by reference filled in from its blobs.
func Recorded(x *client.Export) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		for e, err := range x.Events() {
			if err == nil {
				if ref, fill := client.PlanRef(&e); ref != nil {
					text, found := x.Blobs[ref.Digest]
					if !found {
						err = fmt.Errorf("%w: blob %s is not in the file", client.ErrExport, ref.Digest)
					} else {
						err = fill(text)
					}
				}
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// At is the event with a sequence, or nil.
func (h *History) At(seq uint64) *events.Event {
	if i, ok := h.places[seq]; ok {
		return &h.Events[i]
	}
	return nil
}

// Request is what was asked for.
func (h *History) Request() *events.JobRequested {
	r, _ := h.Events[0].Data.(*events.JobRequested)
	return r
}

// Text is a SubJob as planned and edited; ok is false when its plan is not in the history.
func (h *History) Text(at graph.Spec) (s events.SubJob, ok bool) {
	for _, candidate := range h.plan(at.Seq) {
		if candidate.ID == at.ID {
			s, ok = candidate, true
		}
	}
	for _, seq := range at.Edits {
		if e := h.At(seq); e != nil {
			if edit, is := e.Data.(*events.RerunRequested); is && len(edit.Edit) > 0 {
				_ = json.Unmarshal(edit.Edit, &s) // The core has ignored an edit that cannot be read.
			}
		}
	}
	return s, ok
}

func (h *History) plan(seq uint64) []events.SubJob {
	e := h.At(seq)
	if e == nil {
		return nil
	}
	var plan *events.Plan
	switch data := e.Data.(type) {
	case *events.GraphCreated:
		plan = data.Plan
	case *events.PlanEdited:
		plan = data.Plan
	}
	if plan == nil {
		return nil
	}
	return plan.SubJobs
}

// Result is what a SubJob handed over, inline or by reference; both are nil when there is none.
func (h *History) Result(n *graph.SubJobState) (json.RawMessage, *events.Ref) {
	if n.Skipped {
		return nil, nil
	}
	if n.Given {
		text, _ := h.Text(n.Spec)
		return text.ExecutionRes, text.ExecutionRef
	}
	e := h.At(n.ResultSeq)
	if e == nil {
		return nil, nil
	}
	if answer, ok := e.Data.(*events.JobAnswered); ok {
		return answer.Answer, nil
	}
	report := e.Report()
	return report.Output, report.OutputRef
}
