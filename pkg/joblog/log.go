package joblog

import (
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// ErrPoisoned marks an event that must not be skipped and that this program does not understand.
var ErrPoisoned = errors.New("an event cannot be understood")

// Log is the events of a job with their fold.
type Log struct {
	// Aside is why the scheduler leaves the job alone, when it does; the fold may end before the log then.
	Aside error
	// Events are those that were folded, in order.
	Events []events.Event
	// Job is the fold; nil before the first event.
	Job *graph.Job
	// Effect is what the last event did.
	Effect graph.Effect

	places map[uint64]int
	texts  Texts
}

// New is a log without events.
func New() *Log { return &Log{places: map[uint64]int{}} }

// Step folds one more event, in the order of the log and with its plan filled in. Errors: ErrPoisoned with an *events.Fault, and
// those of a first event that begins no job.
func (l *Log) Step(e events.Event) (err error) {
	l.places[e.Seq] = len(l.Events)
	l.Events = append(l.Events, e)
	l.texts.Take(&e)
	l.Job, l.Effect, err = Step(l.Job, &e)
	return err
}

// Step folds one more event into a job; the first event begins it, and the job is nil before. It gives the job, and what the event did.
// Errors: ErrPoisoned with an *events.Fault, and those of a first event that begins no job.
func Step(job *graph.Job, e *events.Event) (*graph.Job, graph.Effect, error) {
	if job == nil {
		job, err := graph.New(*e)
		if err != nil {
			return nil, graph.Effect{}, fmt.Errorf("event %d of job %s: %w", e.Seq, e.Job, err)
		}
		return job, graph.Effect{Verdict: graph.Applied}, nil
	}
	effect := job.Step(*e)
	if effect.Verdict == graph.Poisoned {
		return job, effect, fmt.Errorf("%w: %w", ErrPoisoned, &events.Fault{
			Code: events.CodeMustUnderstand, Message: fmt.Sprintf("event %d of job %s cannot be folded", e.Seq, e.Job), Cause: effect.Reason,
			Hint: "it is from a later version: use the program of that version, or upgrade",
		})
	}
	return job, effect, nil
}

// Advance folds events into a job and keeps none of them. A nil job begins with the first request among them; it stays nil without one.
// Errors: those of the log and of Step.
func Advance(job *graph.Job, log iter.Seq2[events.Event, error]) (*graph.Job, error) {
	for e, err := range log {
		if err == nil && (job != nil || e.Kind == events.KindJobRequested) {
			job, _, err = Step(job, &e)
		}
		if err != nil {
			return nil, err
		}
	}
	return job, nil
}

// Fold folds a whole log, up to and with a sequence; 0 means to its end.
func Fold(log iter.Seq2[events.Event, error], until uint64) (*Log, error) {
	if until == 0 {
		until = math.MaxUint64
	}
	l := New()
	for e, err := range log {
		if err != nil {
			return l, err
		}
		if e.Seq > until {
			break
		}
		if err := l.Step(e); err != nil {
			return l, err
		}
	}
	if l.Job == nil {
		return l, fmt.Errorf("no event up to sequence %d", until)
	}
	return l, nil
}

// At is the event with a sequence, or nil.
func (l *Log) At(seq uint64) *events.Event {
	if i, ok := l.places[seq]; ok {
		return &l.Events[i]
	}
	return nil
}

// Last is the sequence of the last event; 0 before the first.
func (l *Log) Last() uint64 {
	if len(l.Events) == 0 {
		return 0
	}
	return l.Events[len(l.Events)-1].Seq
}

// Request is what was asked for.
func (l *Log) Request() *events.JobRequested {
	r, _ := l.Events[0].Data.(*events.JobRequested)
	return r
}

// Node is a SubJob of the job by its id, also one that is not part of the graph any more; nil when there never was one.
func (l *Log) Node(id string) *graph.SubJobState {
	for _, n := range l.Job.View().SubJobs {
		if n.ID == id {
			return n
		}
	}
	return nil
}

// IDs are those of the SubJobs of the graph as it stands, in its order.
func (l *Log) IDs() []string {
	var ids []string
	for _, n := range l.Job.View().SubJobs {
		if InGraph(n) {
			ids = append(ids, n.ID)
		}
	}
	return ids
}

// Ignored is why the last event changed nothing, when it was not legal as the job stood.
func (l *Log) Ignored() (reason string, ok bool) {
	return l.Effect.Reason, l.Effect.Verdict == graph.Ignored
}

// Text is a SubJob as planned and edited; ok is false when its plan is not in the log.
func (l *Log) Text(at graph.Spec) (s events.SubJob, ok bool) { return l.texts.Text(at) }

// Rejected is everything that is wrong with the plan of a job that failed for it; the job's error has it as one text.
func (l *Log) Rejected() events.Faults {
	if e := l.Job.View().Error; e == nil || e.Code != events.CodeRejected {
		return nil
	}
	for i := len(l.Events) - 1; i >= 0; i-- {
		if r, ok := l.Events[i].Data.(*events.PlanRejected); ok {
			return r.Faults
		}
	}
	return nil
}
