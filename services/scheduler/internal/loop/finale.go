package loop

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// finalizeRequest fills in work that summarises a job. The planner gets the request with the completed plan; an expert that stands
// in for the model gets the planner's question as its goal.
func (b *workBuilder) finalizeRequest(ctx context.Context, j *job, o *graph.Order, r *events.Request, w *events.Work) error {
	if o.Pool != events.PlannerPool {
		if last := len(w.Lessons) - 1; last >= 0 {
			w.Goal, w.Context, w.Lessons = w.Lessons[last], r.Goal, nil
		}
		return nil
	}
	text, err := b.completedPlan(ctx, j, o)
	if err != nil {
		return err
	}
	asked := *r
	asked.Plan, asked.PlanRef, asked.Finalize = text, nil, o.Finalize
	asked.Inputs, asked.InputsRef, asked.Attachments = nil, nil, nil
	if len(text) > events.MaxInline {
		asked.Plan = nil
		if asked.PlanRef, err = b.refer(ctx, j.id, text, false); err != nil {
			return err
		}
	}
	w.Request = &asked
	return nil
}

// completedPlan is the plan of all SubJobs with a result, reduced to what the summarising planner or expert needs.
func (b *workBuilder) completedPlan(ctx context.Context, j *job, o *graph.Order) (json.RawMessage, error) {
	plan := events.Plan{SubJobs: make([]events.SubJob, len(o.Steps))}
	if o.PlanSeq != 0 {
		f, err := b.loadEvent(ctx, j, o.PlanSeq)
		if err != nil {
			return nil, err
		}
		if given := f.given(); given != nil {
			plan.Title, plan.Locale, plan.Thought, plan.OrigQuery = given.Title, given.Locale, given.Thought, given.OrigQuery
		}
	}
	for i := range o.Steps {
		spec, err := b.spec(ctx, j, o.Steps[i].Spec)
		if err != nil {
			return nil, err
		}
		plan.SubJobs[i] = events.SubJob{ID: o.Steps[i].ID, Title: spec.Title, Goal: spec.Goal, Type: spec.Type, Dependencies: o.Steps[i].Deps}
	}
	text, err := events.Marshal(&plan)
	if err != nil {
		return nil, fmt.Errorf("write plan: %w", err)
	}
	return text, nil
}

// given returns the plan that an event contains; nil if it contains none.
func (f *fact) given() *events.Plan {
	switch d := f.data.(type) {
	case *events.GraphCreated:
		return d.Plan
	case *events.PlanEdited:
		return d.Plan
	}
	return nil
}
