package task

import (
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// Decision is what a runner does with a work message.
type Decision struct {
	run.Admission
	// Effects are set for a Claim: what the journal says about the effects of the run.
	run.Effects
	// Ending is set for Replay, and for a Claim that ends without executing.
	Ending *Ending
}

// Decide says what to do with a run, given the journal of its SubJob and its admission, including how a run ends that need not, or
// cannot, continue.
func Decide(o *Order, journal *run.Journal, a run.Admission) Decision {
	d := Decision{Admission: a}
	switch d.Action {
	case run.Replay:
		ending := replayed(d.Report)
		d.Ending = &ending
	case run.Claim:
		d.Effects = journal.Effects(o.Run, o.ResumeOf)
		d.Answer(o.SubJob, o.Answers)
		d.Ending = d.ending(o)
	}
	return d
}

// Settle takes the resolutions of the unknown outcomes, in order; outcomes that stay unknown determine the ending.
func (d *Decision) Settle(o *Order, found []run.Resolution) {
	d.Effects.Settle(found)
	d.Ending = d.ending(o)
}

// ending is how a run ends that need not, or cannot, continue; nil if it continues.
func (d *Decision) ending(o *Order) *Ending {
	if f := d.Failed; f != nil {
		e := Failure(events.CodeExecution, "the effect "+f.Name+" is declared failed", f.Reason, "")
		return &e
	}
	if len(d.Unresolved) > 0 {
		e := o.park(d.Unresolved, strings.Join(append([]string{"The run broke off at work on " + o.SubJob + "."}, d.Undecided...), " "))
		return &e
	}
	if r, done := d.CommandResult(); done {
		return &Ending{Report: &events.SubJobReported{Outcome: events.Success, Output: r.Data, OutputRef: r.Ref}}
	}
	return nil
}

// replayed returns the recorded ending; an unreadable one is an EXECUTION_ERROR, since the work itself was done.
func replayed(r *events.JournalRecord) Ending {
	ending, err := kept(*r)
	if err != nil {
		return Failure(events.CodeInternal, "the journal's record of the report is damaged", err.Error(), "retry the SubJob by hand")
	}
	return ending
}
