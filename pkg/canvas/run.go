package canvas

import (
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// outcomeWaiting is the outcome of a run that parked to wait for a person or a time.
const outcomeWaiting = "waiting"

// line returns the run of a SubJob.
func (c *Canvas) line(id string, run int) *verb.RunLine {
	s := c.of(id)
	at, ok := s.runs[run]
	if !ok {
		at = len(c.runs)
		s.runs[run] = at
		c.runs = append(c.runs, verb.RunLine{SubJob: id, Run: run})
	}
	return &c.runs[at]
}

// queued records that a run was issued.
func (c *Canvas) queued(id string, run int) {
	if r := c.line(id, run); r.Queued == nil {
		r.Queued = c.at(c.now.Time)
	}
}

func (c *Canvas) at(t time.Time) *int64 {
	ms := c.since(t)
	return &ms
}

// worked records what an event says about a run.
func (c *Canvas) worked(e *events.Event) {
	if e.Run == 0 {
		return
	}
	c.of(e.SubJob).changed = e.Seq
	switch d := e.Data.(type) {
	case *events.SubJobStarted:
		r := c.line(e.SubJob, e.Run)
		r.Owner, r.Started = d.Owner, c.at(e.Time)
		c.of(e.SubJob).owner = d.Owner
	case *events.SubJobProgressed:
		c.of(e.SubJob).progress = d
	case *events.GraphCreated:
		c.ended(e, string(events.Success), d.Spent)
	case *events.JobAnswered:
		c.ended(e, string(events.Success), d.Spent)
	case *events.PlanRejected:
		c.ended(e, string(events.ExecutionError), d.Spent)
	case *events.InputRequested:
		c.ended(e, outcomeWaiting, d.Spent)
	case *events.SubJobClosed:
		c.ended(e, "closed", events.Spent{})
	default:
		if e.Kind == events.KindSubJobReported {
			c.reported(e, e.Report())
		}
	}
}

// reported records a report, which says by the runner's clock how long the work took.
func (c *Canvas) reported(e *events.Event, d *events.SubJobReported) {
	r := c.line(e.SubJob, e.Run)
	if r.Ended != nil {
		return // The report was late.
	}
	if r.Started == nil || d.DurationMS > 0 {
		begun := c.since(e.Time) - d.DurationMS
		if r.Queued != nil {
			begun = max(begun, *r.Queued)
		}
		r.Started = &begun // The event of the start is stored some time later.
	}
	s := c.of(e.SubJob)
	if d.Owner != "" {
		r.Owner, s.owner = d.Owner, d.Owner
	}
	if d.Outcome == events.Success {
		s.files = len(d.Artifacts)
	}
	c.ended(e, string(d.Outcome), d.Spent)
}

// ended records the end of a run. The first end counts, as in the core.
func (c *Canvas) ended(e *events.Event, outcome string, spent events.Spent) {
	r := c.line(e.SubJob, e.Run)
	if r.Ended != nil {
		return
	}
	r.Ended, r.Outcome, r.Spent, r.Seq = c.at(e.Time), outcome, spent, e.Seq
	s := c.of(e.SubJob)
	s.spent.Tokens += spent.Tokens
	s.spent.CostUSD += spent.CostUSD
}

// CallLine describes a call of a run for the timeline of a job that began at created.
func CallLine(subjob string, x *joblog.Call, created time.Time) verb.CallLine {
	return verb.CallLine{
		SubJob: subjob, Run: x.Run, Name: x.Name, Model: x.Model, Begun: x.Asked.Sub(created).Milliseconds(), TookMS: x.TookMS, Outcome: x.Outcome, Spent: x.Spent,
	}
}
