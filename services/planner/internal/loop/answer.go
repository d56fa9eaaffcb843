package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events/store"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
	jobrun "github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/pkg/service/queue"
)

// source is the CloudEvents source of all events of the planner.
const source = "jobgraph/planner"

// answer plans one piece of work and builds its event.
func (l *Loop) answer(work, intake context.Context, d *queue.Delivery, w *events.Work, fault *events.Fault) (events.Event, Outcome, error) {
	var raw []byte
	if fault == nil {
		var err error
		if raw, fault, err = l.given(work, w); err != nil {
			return events.Event{}, Outcome{}, err
		}
	}
	var v verdict
	if fault != nil {
		v = rejected(*fault)
	} else {
		var err error
		if v, err = l.converse(work, intake, d, w, raw); err != nil {
			v, err = instead(&v, err)
		}
		if err != nil {
			return events.Event{}, Outcome{}, err
		}
	}
	return l.fact(work, w, v)
}

// fact builds the event of a verdict.
func (l *Loop) fact(ctx context.Context, w *events.Work, v verdict) (events.Event, Outcome, error) {
	e := events.Event{Job: w.Job, SubJob: w.SubJob, Run: w.Run, Source: source, Born: jobrun.BornOf(w)}
	o := Outcome{Drafts: v.drafts, Cache: v.cache}
	var err error
	if w.SubJob == events.FinalID && v.end != nil {
		v.end = reported(v.end)
	}
	if v.ask != nil {
		ask := *v.ask
		ask.Spent, e.Kind, e.Data = v.spent, events.KindInputRequested, &ask
	} else {
		e.Data, err = l.payload(ctx, w, &v)
		e.Kind, o.Faults, o.Author, o.Rounds = v.end.Kind, v.end.Faults, v.end.Author, v.end.Rounds
		for i := range v.end.Remarks {
			o.Remarks = append(o.Remarks, v.end.Remarks[i].Kind)
		}
		if v.end.Plan != nil && v.end.Kind == events.KindGraphCreated {
			o.Steps, o.EnoughContext = len(v.end.Plan.SubJobs), v.end.Plan.HasEnoughContext
		}
	}
	o.Kind = e.Kind
	e.ID = jobrun.EventID(w.Job, e.Kind, w.SubJob, w.Run)
	return e, o, err
}

// errDraining gives back work that waits for an expert: another planner can wait longer.
var errDraining = errors.New("the planner ends while the plan waits for an expert")

// payload builds the event's data. A plan that is too large for a message is stored first.
func (l *Loop) payload(ctx context.Context, w *events.Work, v *verdict) (any, error) {
	end := v.end
	switch end.Kind {
	case events.KindJobAnswered:
		answer, err := json.Marshal(end.Answer)
		return &events.JobAnswered{Answer: answer, Outcome: end.Outcome, Spent: v.spent}, err
	case events.KindPlanRejected:
		return l.refusal(ctx, w, v)
	case events.KindSubJobReported:
		return l.report(ctx, w, v)
	}
	end.Plan = schedule.Routed(end.Plan) // Done here and not in planning, whose old records must fold to the same state.
	created := &events.GraphCreated{
		PlanVersion: w.PlanVersion, Plan: end.Plan, Finalize: end.Finalize, Warnings: end.Warnings, Notices: end.Notices,
		FailurePolicy: end.FailurePolicy, Fallback: string(end.Fallback), Spent: v.spent,
	}
	if end.Final != nil {
		created.FinalPool, created.FinalPure = end.Final.Pool, end.Final.Pure
		if created.FinalPool == "" {
			created.FinalPool = events.DefaultPool
		}
	}
	text, err := events.Marshal(end.Plan)
	if err != nil {
		return nil, fmt.Errorf("write plan: %w", err)
	}
	if len(text) <= events.MaxInline {
		return created, nil
	}
	if err := l.Hook.at(AtBlob); err != nil {
		return nil, err
	}
	ref, err := l.Blobs.Put(ctx, w.Job, text)
	if errors.Is(err, store.ErrTooLarge) {
		*v = rejected(events.Fault{Code: events.CodeTooLarge, Field: "plan", Message: fmt.Sprintf("the plan takes %d bytes", len(text)), Cause: err.Error(), Hint: "hand large data over as inputs or attachments"})
		return &events.PlanRejected{Faults: v.end.Faults}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("store plan: %w", err)
	}
	created.Plan, created.PlanRef = nil, &ref
	return created, nil
}

// refusal builds the payload of a rejection. The model's last text is stored, and the first fault refers to it.
func (l *Loop) refusal(ctx context.Context, w *events.Work, v *verdict) (any, error) {
	faults := slices.Clone(v.end.Faults)
	if v.end.Raw != "" && len(faults) > 0 && faults[0].RawRef == nil {
		ref, err := l.Blobs.Put(ctx, w.Job, []byte(v.end.Raw))
		if err != nil {
			return nil, fmt.Errorf("keep what the model wrote: %w", err)
		}
		ref.MediaType = "text/plain"
		faults[0].RawRef = &ref
	}
	v.end.Faults = faults
	return &events.PlanRejected{Faults: faults, Spent: v.spent}, nil
}
