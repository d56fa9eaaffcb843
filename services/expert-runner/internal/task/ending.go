package task

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/clip"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// Maximum lengths of texts in a report, in bytes: with an output by reference, no report comes near events.MaxMessage.
const (
	maxLesson = 16 << 10
	maxCause  = 8 << 10
)

// Ending is how a run ends for its runner: with a report, or parked until an answer arrives. Exactly one is set.
type Ending struct {
	// Report is one of the four outcomes.
	Report *events.SubJobReported
	// Park gives the work message back; the SubJob continues in a new run.
	Park *events.InputRequested
	// Unsafe is true for an ending that must not be journaled: the run was closed while it was executing.
	Unsafe bool
	// Cut says why the execution was interrupted, empty if it was not. The run is left to another delivery, which finds its intent
	// open: it repeats what may be repeated, and asks a person about anything else.
	Cut string
}

// Failure is an EXECUTION_ERROR with a fault; the lesson is its text.
func Failure(code events.Code, message, cause, hint string) Ending {
	fault := &events.Fault{Code: code, Message: message, Cause: cause, Hint: hint}
	return Ending{Report: &events.SubJobReported{Outcome: events.ExecutionError, Error: fault, Lesson: fault.Error()}}
}

// Cancelled is the report of a cancelled run.
func Cancelled(reason string) Ending {
	e := Failure(events.CodeCancelled, "the run was cancelled", reason, "")
	e.Report.Lesson, e.Unsafe = "", true
	return e
}

// Charged returns a failure that replaces the ending and reports its cost.
func (e Ending) Charged(instead Ending) Ending {
	switch {
	case instead.Report != nil:
		e.Report.Spent = instead.Report.Spent
	case instead.Park != nil:
		e.Report.Spent = instead.Park.Spent
	}
	return e
}

// Sound returns an ending that the log accepts: one with neither report nor request, or with a request that cannot be answered,
// becomes a failure of the expert.
func (e Ending) Sound() Ending {
	switch {
	case e.Park != nil && !events.ValidToken(e.Park.Request):
		return Failure(events.CodeInvalid, "the expert asked under a request id that does not fit", e.Park.Request, "use A-Z a-z 0-9 _ -")
	case e.Park == nil && e.Report == nil:
		return Failure(events.CodeInternal, "the expert ended without a report", "", "")
	}
	return e
}

// Sign records who ended the run and when, and cuts long texts.
func (e Ending) Sign(owner string, started, ended time.Time) {
	r := e.Report
	if r == nil {
		return
	}
	if !r.Outcome.Valid() {
		raw, _ := json.Marshal(string(r.Outcome)) // A string always marshals.
		r.Outcome, r.Output = events.ExecutionError, nil
		r.Error = &events.Fault{
			Code: events.CodeMalformed, Message: "unknown outcome " + string(raw),
			Hint: "use SUCCESS, EXECUTION_ERROR, INPUT_DATA_ERROR or JOB_TOO_COMPLICATED_ERROR",
		}
	}
	r.Owner, r.Started, r.DurationMS = owner, started, max(0, ended.Sub(started).Milliseconds())
	r.Job, r.SubJob, r.Run, r.Malformed = "", "", 0, ""
	r.Lesson = clip.Text(r.Lesson, maxLesson)
	if r.Error != nil {
		r.Error.Message, r.Error.Cause = clip.Text(r.Error.Message, maxCause), clip.Text(r.Error.Cause, maxCause)
		r.Error.Hint, r.Error.Field = clip.Text(r.Error.Hint, maxCause), clip.Text(r.Error.Field, maxCause)
	}
}

// Kind is the kind of event that the ending is published as.
func (e Ending) Kind() events.Kind {
	if e.Park != nil {
		return events.KindInputRequested
	}
	return events.KindSubJobReported
}

// Event is the ending as an event of the run. The id is deterministic.
func (o *Order) Event(e Ending, source string) events.Event {
	event := events.Event{Kind: e.Kind(), Job: o.Job, SubJob: o.SubJob, Run: o.Run, Pool: o.Facts, Source: source, Born: run.BornOf(&o.Work)}
	if e.Park != nil {
		event.ID, event.Data = run.EventID(o.Job, event.Kind, o.SubJob, o.Run), e.Park
		return event
	}
	event.ID, event.Data = run.ReportID(&o.Work), e.Report
	return event
}

// Record is the ending as a journal record.
func (o *Order) Record(e Ending, owner string, body json.RawMessage) events.JournalRecord {
	return run.Reported(o.Run, owner, e.Kind(), body)
}

// kept reads an ending back from the journal.
func kept(r events.JournalRecord) (Ending, error) {
	var e Ending
	if events.Kind(r.Name) == events.KindInputRequested {
		e.Park = &events.InputRequested{}
		return e, unmarshal(r.Data, e.Park)
	}
	e.Report = &events.SubJobReported{}
	return e, unmarshal(r.Data, e.Report)
}

func unmarshal(data json.RawMessage, into any) error {
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("read the kept ending: %w", err)
	}
	return nil
}
