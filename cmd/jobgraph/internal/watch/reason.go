package watch

import (
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// requeued is the transition of a SubJob that runs again.
const requeued = "requeued"

// delayed is shown like a transition when a run is put off, although the status of its SubJob does not change.
const delayed = "delayed"

// putOff returns what is shown of an event that puts its run off; nil for any other.
func putOff(e *events.Event) *events.Transition {
	p, ok := e.Data.(*events.SubJobProgressed)
	if !ok || p.Until.IsZero() {
		return nil
	}
	return &events.Transition{SubJob: e.SubJob, Run: e.Run, Transition: delayed}
}

// reason says why an event makes a SubJob run again, or later; "" if the SubJob's own error says it, or if there is nothing to say.
func reason(e *events.Event, t *events.Transition) string {
	if p, ok := e.Data.(*events.SubJobProgressed); ok && t.Transition == delayed {
		return "until " + p.Until.Local().Format(time.TimeOnly) + ": " + p.Message
	}
	if t.Transition != requeued {
		return ""
	}
	by := func(text, by string) string {
		if by != "" {
			text += " by " + by
		}
		return text
	}
	switch d := e.Data.(type) {
	case *events.SubJobReported:
		return sentBack(e, d, t.SubJob)
	case *events.RerunRequested:
		if d.SubJob != t.SubJob {
			return by(d.SubJob+" is run again", d.By)
		}
		return by("a rerun was asked for", d.By)
	case *events.RetryRequested:
		return by("a retry was asked for", d.By)
	case *events.RecoverRequested:
		return by("the job was recovered", d.By)
	case *events.PlanEdited:
		return by("the plan was edited", d.By)
	case *events.GraphCreated:
		return "the rest of the job was planned again"
	}
	return ""
}

// sentBack returns the reason given for a predecessor whose result another SubJob could not use, and for that SubJob.
func sentBack(e *events.Event, d *events.SubJobReported, subjob string) string {
	if d.Outcome != events.InputDataError {
		return ""
	}
	why := strings.TrimSpace(d.Lesson)
	if why == "" && d.Error != nil {
		why = d.Error.Error()
	}
	text := e.SubJob + " could not use its result"
	if e.SubJob == subjob {
		text = "it could not use its inputs"
	}
	if why != "" {
		text += ": " + why
	}
	return text
}
