package joblog

import (
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// ErrPoisoned means that this program does not understand an event that must not be skipped.
var ErrPoisoned = errors.New("an event cannot be understood")

// Log holds the events of a job and their fold.
type Log struct {
	// Aside says why the job is in quarantine, nil if it is not; then the fold may end before the log does.
	Aside error
	// Events are the folded events, in order.
	Events []events.Event
	// Job is the folded state; nil before the first event.
	Job *graph.Job
	// Effect is what the fold did with the last event.
	Effect graph.Effect

	places map[uint64]int
	texts  Texts
}

// New returns a log without events.
func New() *Log { return &Log{places: map[uint64]int{}} }

// Step folds the next event of the log; a plan in it must be resolved. Errors: ErrPoisoned with an *events.Fault, and those
// of a first event that starts no job.
func (l *Log) Step(e events.Event) (err error) {
	l.places[e.Seq] = len(l.Events)
	l.Events = append(l.Events, e)
	l.texts.Take(&e)
	l.Job, l.Effect, err = Step(l.Job, &e)
	return err
}

// Step folds one event into a job; a nil job is started by its first event. It returns the job and the effect of the event.
// Errors: ErrPoisoned with an *events.Fault, and those of a first event that starts no job.
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

// Advance folds events into a job without keeping them. A nil job starts with the first request among them; without one it
// stays nil. Errors: those of the log and of Step.
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

// Fold folds a log up to and including a sequence; 0 means all of it.
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

// At returns the event with a sequence, or nil.
func (l *Log) At(seq uint64) *events.Event {
	if i, ok := l.places[seq]; ok {
		return &l.Events[i]
	}
	return nil
}

// Last returns the sequence of the last event; 0 before the first.
func (l *Log) Last() uint64 {
	if len(l.Events) == 0 {
		return 0
	}
	return l.Events[len(l.Events)-1].Seq
}

// Request returns the admitted request.
func (l *Log) Request() *events.JobRequested {
	r, _ := l.Events[0].Data.(*events.JobRequested)
	return r
}

// Node returns a SubJob by its id, even one that is no longer part of the graph; nil if there never was one.
func (l *Log) Node(id string) *graph.SubJobState {
	for _, n := range l.Job.View().SubJobs {
		if n.ID == id {
			return n
		}
	}
	return nil
}

// IDs returns the ids of the SubJobs in the present graph, in order.
func (l *Log) IDs() []string {
	var ids []string
	for _, n := range l.Job.View().SubJobs {
		if InGraph(n) {
			ids = append(ids, n.ID)
		}
	}
	return ids
}

// Ignored returns why the last event was illegal in the job's state and changed nothing.
func (l *Log) Ignored() (reason string, ok bool) {
	return l.Effect.Reason, l.Effect.Verdict == graph.Ignored
}

// Text returns a SubJob as planned and edited; ok is false if its plan is not in the log.
func (l *Log) Text(at graph.Spec) (s events.SubJob, ok bool) { return l.texts.Text(at) }

// Rejected returns the faults of the plan for which a job failed, one by one; the job's error contains them as one text.
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
