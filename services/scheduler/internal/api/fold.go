package api

import (
	"context"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/joblog"
)

func validID(id string) error {
	if !events.ValidToken(id) {
		return &events.Fault{Code: events.CodeInvalid, Field: "id", Message: fmt.Sprintf("%.80q is no job id", id), Hint: "use 1 to 64 of A-Z a-z 0-9 _ -"}
	}
	return nil
}

func noJob(id string) *events.Fault {
	return &events.Fault{Code: events.CodeNotFound, Field: "id", Message: "no job " + id, Hint: "jobgraph list"}
}

// fold returns the current state of a job: the saved one plus the log after it. The caller owns the result.
func (v *API) fold(ctx context.Context, id string) (*graph.Job, error) {
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

// foldLog returns the current state of a job from its log alone: deletions rely on nothing else.
func (v *API) foldLog(ctx context.Context, id string) (*graph.Job, error) {
	if err := validID(id); err != nil {
		return nil, err
	}
	return v.foldOn(ctx, id, nil, 0)
}

func (v *API) foldOn(ctx context.Context, id string, job *graph.Job, after uint64) (*graph.Job, error) {
	job, err := joblog.Advance(job, joblog.Resolved(v.bus.Log().EventsOf(ctx, id, after), v.bus.Blobs().Of(ctx, id)))
	if err == nil && job == nil {
		err = noJob(id)
	}
	return job, err
}
