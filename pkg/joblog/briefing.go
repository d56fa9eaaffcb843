package joblog

import (
	"cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/brief"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// Brief returns what the last run of a SubJob knew about its job, in full, or what a first run would know now. It is computed from
// the log as the scheduler computes it, with the state in which the run became due. A brief of work that had to wait in a queue has
// the statuses of the time when it was issued. It is nil if there never was such a SubJob. Errors: those of Step.
func (l *Log) Brief(subjob string) (*brief.Brief, error) {
	last := l.Job.SubJob(subjob)
	if last == nil {
		return nil, nil
	}
	job, run := l.Job, last.Run
	if run > 0 {
		job = nil
		for i := range l.Events {
			var err error
			if job, _, err = Step(job, &l.Events[i]); err != nil {
				return nil, err
			}
			if n := job.SubJob(subjob); n != nil && n.Run == run {
				break
			}
		}
	}
	n, r := job.SubJob(subjob), &l.Request().Request
	w := &events.Work{
		Job: job.ID, SubJob: subjob, Deadline: job.Deadline, Budget: Budget(&job.Rules, job.Cost), Session: cmp.Or(n.Session, r.Session),
		Thread: r.Thread, User: r.User, Locale: r.Locale,
	}
	for _, seq := range n.Lessons {
		if e := l.At(seq); e != nil {
			w.Lessons = append(w.Lessons, LessonOf(e))
		}
	}
	m := Briefer{Whole: true}
	return m.Make(&JobBrief{}, job, r, w, func(at graph.Spec) (string, error) {
		planned, _ := l.texts.Planned(at)
		return planned.Goal, nil
	})
}

// LessonOf returns what an event that ended a run teaches the next run; empty if nothing.
func LessonOf(e *events.Event) string {
	switch {
	case e.Kind == events.KindSubJobReported:
		return Lesson(e.Report())
	case e.Data == nil && e.Fault != nil:
		return Lesson(e.Fault)
	}
	return Lesson(e.Data)
}

// Lesson is like LessonOf, for the payload of an event; a fault stands for a payload that cannot be read.
func Lesson(data any) string {
	switch d := data.(type) {
	case *events.SubJobReported:
		if d.Lesson == "" && d.Error != nil {
			return d.Error.Error()
		}
		return d.Lesson
	case *events.PlanRejected:
		return d.Faults.Error()
	case *events.TimerFired:
		return "The run took longer than it may."
	case *events.Fault:
		return "What the run stated could not be read: " + d.Error()
	}
	return ""
}

// The smallest budgets that are passed on: a job that has spent exactly its limit is not over yet, and zero would mean no limit.
const (
	leastTokens = 1
	leastCost   = 1e-6
)

// Budget returns what a job may still spend.
func Budget(r *events.Rules, spent events.Spent) (left events.Spent) {
	if r.Tokens > 0 {
		left.Tokens = max(leastTokens, r.Tokens-spent.Tokens)
	}
	if r.CostUSD > 0 {
		left.CostUSD = max(leastCost, r.CostUSD-spent.CostUSD)
	}
	return left
}
