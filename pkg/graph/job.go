package graph

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Errors of New and Fold.
var (
	// ErrNoRequest means that the first event is not job.requested.
	ErrNoRequest = errors.New("the log does not begin with job.requested")
	// ErrRules means that a newer version decides this job.
	ErrRules = errors.New("the job is decided by newer rules")
)

// Job is the state of one job, changed in place by Step. It has one owner and is not safe for concurrent use. It must not be copied,
// since its parts refer to each other.
//
// Each part owns what it derives from the saved State, and calls only those before it in this list: that is the order of the fields.
type Job struct {
	State
	// now is the event that is being applied, the zero event between steps.
	now       events.Event
	dag       dag
	outbox    outbox
	queues    queues
	waits     waits
	runs      runs
	lifecycle lifecycle
	outline   outline
	finale    finale
	outcomes  outcomes
	planning  planning
	requests  requests
	commands  commands
}

// newJob makes a job around a state; nodes are added later.
func newJob(s State) *Job {
	j := &Job{State: s}
	j.assemble()
	return j
}

// assemble connects each part with the parts that it uses.
func (j *Job) assemble() {
	if j.Counts == nil {
		j.Counts = map[events.Status]int{}
	}
	job, now := &j.State, &j.now
	g, o, q, w, r, l := &j.dag, &j.outbox, &j.queues, &j.waits, &j.runs, &j.lifecycle
	j.dag.ids = map[string]int32{}
	j.outbox.job = job
	j.queues.dag, j.queues.outbox = g, o
	j.waits.job, j.waits.inputs = job, map[string]*InputState{}
	j.runs = runs{job: job, now: now, dag: g, queues: q, waits: w, outbox: o}
	j.lifecycle = lifecycle{job: job, now: now, dag: g, runs: r, outbox: o}
	j.outline = outline{job: job, dag: g}
	j.finale = finale{job: job, now: now, dag: g, runs: r, lifecycle: l}
	j.outcomes = outcomes{job: job, now: now, dag: g, runs: r, waits: w, finale: &j.finale, lifecycle: l}
	j.planning = planning{job: job, now: now, dag: g, runs: r, waits: w, outbox: o, outcomes: &j.outcomes, lifecycle: l}
	j.requests = requests{job: job, now: now, dag: g, runs: r, waits: w, outbox: o, outcomes: &j.outcomes, planning: &j.planning, lifecycle: l}
	j.commands = commands{job: job, dag: g, outbox: o, queues: q, waits: w, finale: &j.finale}
}

// New makes the state of a job from its job.requested: CREATED.
func New(e events.Event) (*Job, error) {
	r, ok := e.Data.(*events.JobRequested)
	if !ok {
		return nil, ErrNoRequest
	}
	if r.Rules.Version > events.RulesVersion {
		return nil, fmt.Errorf("%w: version %d, this one knows %d", ErrRules, r.Rules.Version, events.RulesVersion)
	}
	j := newJob(State{
		Fold: FoldVersion, ID: e.Job, Status: events.Created, Goal: cut(r.Request.Goal, 500), Profile: r.Request.Profile,
		Session: r.Request.Session, Thread: r.Request.Thread, User: r.Request.User, Labels: r.Request.Labels, Seq: e.Seq, EventID: e.ID,
		Created: e.Time, Changed: e.Time, RequestSeq: e.Seq, Epoch: 1, Rules: r.Rules,
	})
	j.now = e
	j.lifecycle.setDeadline()
	j.dag.add(SubJobState{ID: events.PlanID, Status: events.Created, Expert: events.PlannerExpert, Pool: events.PlannerPool, RetryLimit: r.Rules.Retries})
	j.planning.start(events.WorkPlan)
	j.runs.drain()
	j.now = events.Event{}
	return j, nil
}

// Fold folds a whole log. An event that must not be skipped is an error.
func Fold(seq iter.Seq2[events.Event, error]) (*Job, error) {
	var j *Job
	for e, err := range seq {
		if err != nil {
			return j, err
		}
		if j == nil {
			if j, err = New(e); err != nil {
				return nil, err
			}
			continue
		}
		if effect := j.Step(e); effect.Verdict == Poisoned {
			return j, fmt.Errorf("event %d of job %s: %s", e.Seq, j.State.ID, effect.Reason)
		}
	}
	if j == nil {
		return nil, ErrNoRequest
	}
	return j, nil
}

// View returns the state; it is valid until the next Step and must not be changed.
func (j *Job) View() *State {
	j.State.SubJobs = j.State.SubJobs[:0]
	for _, n := range j.dag.nodes {
		j.State.SubJobs = append(j.State.SubJobs, n.SubJobState)
	}
	j.dag.count(j.Counts)
	j.Progress = Progress{Done: j.dag.number(events.Finished), Total: j.dag.size()}
	j.waits.view()
	return &j.State
}

// AtRest reports whether nothing is in flight: no live run, and no timer except those of people's answers.
func (j *Job) AtRest() bool {
	if j.Status.Terminal() || j.Status == events.Waiting {
		return true
	}
	if j.runs.open > 0 || j.dag.plan().Open || j.dag.number(events.Ready) > 0 {
		return false
	}
	final := j.dag.find(events.FinalID)
	return final == nil || !final.Open
}

// Transitions returns the transitions of SubJobs since the last call, and forgets them.
func (j *Job) Transitions() []events.Transition {
	t := j.runs.transitions
	j.runs.transitions = nil
	return t
}

// fault makes the reason for a job or a SubJob.
func fault(code events.Code, message string) *events.Fault {
	return &events.Fault{Code: code, Message: message}
}

func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
