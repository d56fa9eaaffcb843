package recurring

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/incarnation"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
)

// stepsAtOnce is how many steps are fetched at once; retryStep is the wait before a failed step is tried again.
const (
	stepsAtOnce = 16
	retryStep   = time.Second
)

// Steps creates the schedules of steps that recur, until ctx ends; the current one is finished with work. A step is done once its
// schedule exists: its output names the schedule, and the runs are separate jobs.
func (k *Keeper) Steps(ctx, work context.Context, reader Reader) error {
	if err := each(ctx, reader, stepsAtOnce, func(d *bus.Delivery) { k.serveStep(work, d) }); err != nil {
		return fmt.Errorf("read steps that recur: %w", err)
	}
	return nil
}

func (k *Keeper) serveStep(ctx context.Context, d *bus.Delivery) {
	var w events.Work
	if err := json.Unmarshal(d.Message().Body, &w); err != nil || w.Spec.Schedule == nil {
		if err := d.Term("it is no work of a step that recurs"); err != nil {
			k.Logger.Warn("cannot dead-letter work; it will be redelivered", "error", err)
		}
		return
	}
	report, err := k.make(ctx, &w)
	if err == nil {
		err = k.report(ctx, &w, report)
	}
	if err == nil {
		err = d.Ack()
	} else {
		k.Logger.Warn("retrying recurring step", "job", w.Job, "subjob", w.SubJob, "error", err)
		err = d.Nak(retryStep)
	}
	if err != nil {
		k.Logger.Warn("cannot settle work; it will be redelivered", "job", w.Job, "subjob", w.SubJob, "error", err)
	}
}

// made is the output of a step whose schedule exists.
type made struct {
	ScheduleID string          `json:"schedule_id"`
	Title      string          `json:"title,omitempty"`
	Schedule   events.Schedule `json:"schedule"`
	Next       time.Time       `json:"next,omitzero"`
}

// make creates the schedule of a step. The id depends only on job and step, so that a repeat finds it.
func (k *Keeper) make(ctx context.Context, w *events.Work) (*events.SubJobReported, error) {
	if id, _, run := schedule.RunOf(w.Job); run && k.known(id) {
		return refused(&events.Fault{
			Code: events.CodeInvalid, Field: "schedule", Message: "a run of schedule " + id + " makes no further schedule", Hint: "leave the schedule out of the plan",
		}), nil
	}
	c := schedule.Creation{Spec: schedule.Spec{When: *w.Spec.Schedule, Request: events.Request{
		Goal: w.Goal, Context: w.Context, Expert: w.Spec.Expert, Inputs: w.Inputs, InputsRef: w.InputsRef,
		Attachments: w.Attachments, Session: w.Session, Thread: w.Thread, User: w.User, Locale: w.Locale,
	}}, By: w.Job + "/" + w.SubJob}
	if w.Tools != nil {
		c.Request.Tools = *w.Tools
	}
	s, err := k.Create(ctx, IDFor(w.Job+"-"+w.SubJob), c, "")
	var faults events.Faults
	switch {
	case errors.As(err, &faults):
		return refused(&faults[0]), nil
	case err != nil:
		return nil, err
	}
	output, err := json.Marshal(made{ScheduleID: s.ID, Title: w.Spec.Title, Schedule: s.When, Next: s.Next})
	return &events.SubJobReported{Outcome: events.Success, Output: output}, err
}

func refused(f *events.Fault) *events.SubJobReported {
	return &events.SubJobReported{Outcome: events.ExecutionError, Error: f, Lesson: f.Error()}
}

// report ends the run of a step, unless it has ended already.
func (k *Keeper) report(ctx context.Context, w *events.Work, r *events.SubJobReported) error {
	return k.Reporter.Report(ctx, events.Event{
		Kind: events.KindSubJobReported, ID: w.ReportID, Job: w.Job, SubJob: w.SubJob, Run: w.Run, Source: source, Born: incarnation.Of(w.IdempotencyKey, w.Job), Data: r,
	})
}
