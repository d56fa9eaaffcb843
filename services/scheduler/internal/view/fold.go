package view

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

func validID(id string) error {
	if !events.ValidToken(id) {
		return &events.Fault{Code: events.CodeInvalid, Field: "id", Message: fmt.Sprintf("%.80q is no job id", id), Hint: "use 1 to 64 of A-Z a-z 0-9 _ -"}
	}
	return nil
}

// fold gives a job's state as of now: the kept one and what the log has behind it. The job is the caller's own.
func (v *View) fold(ctx context.Context, id string) (*graph.Job, error) {
	if err := validID(id); err != nil {
		return nil, err
	}
	kept, err := v.states.Load(ctx, id)
	if err != nil {
		return nil, err
	}
	if state := (&graph.Job{}); kept.State != nil && !kept.Unsigned && state.UnmarshalJSON(kept.State) == nil {
		return v.foldOn(ctx, id, state, state.Seq)
	}
	return v.foldLog(ctx, id)
}

// foldLog gives a job's state as of now by its log alone: a deletion is never derived from anything else.
func (v *View) foldLog(ctx context.Context, id string) (*graph.Job, error) {
	if err := validID(id); err != nil {
		return nil, err
	}
	return v.foldOn(ctx, id, nil, 0)
}

func (v *View) foldOn(ctx context.Context, id string, job *graph.Job, after uint64) (*graph.Job, error) {
	for e, err := range v.bus.Log().EventsOf(ctx, id, after) {
		if err != nil {
			return nil, err
		}
		if job, err = v.step(ctx, job, e); err != nil {
			return nil, err
		}
	}
	if job == nil {
		return nil, &events.Fault{Code: events.CodeNotFound, Field: "id", Message: "no job " + id, Hint: "jobgraph list"}
	}
	return job, nil
}

func (v *View) step(ctx context.Context, job *graph.Job, e events.Event) (*graph.Job, error) {
	if job == nil && e.Kind != events.KindJobRequested {
		return nil, nil
	}
	if job == nil {
		return graph.New(e)
	}
	if err := v.resolve(ctx, &e); err != nil {
		return nil, err
	}
	if effect := job.Step(e); effect.Verdict == graph.Poisoned {
		return nil, &events.Fault{Code: events.CodeMustUnderstand, Message: fmt.Sprintf("event %d of job %s cannot be understood", e.Seq, e.Job), Cause: effect.Reason, Hint: "upgrade the scheduler"}
	}
	return job, nil
}

// resolve fills in a plan that went by reference.
func (v *View) resolve(ctx context.Context, e *events.Event) error {
	var ref *events.Ref
	var plan **events.Plan
	switch d := e.Data.(type) {
	case *events.GraphCreated:
		ref, plan = d.PlanRef, &d.Plan
	case *events.PlanEdited:
		ref, plan = d.PlanRef, &d.Plan
	}
	if ref == nil || *plan != nil {
		return nil
	}
	data, err := v.bus.Blobs().Get(ctx, e.Job, ref.Digest)
	if errors.Is(err, bus.ErrNotFound) {
		return &events.Fault{Code: events.CodeMissingBlob, Message: fmt.Sprintf("the plan of event %d is gone", e.Seq), RawRef: ref, Cause: err.Error()}
	}
	if err != nil {
		return err
	}
	*plan = &events.Plan{}
	return json.Unmarshal(data, *plan)
}
