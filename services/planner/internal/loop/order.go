package loop

import (
	"context"
	"errors"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/events/store"

	"github.com/jobgraph/jobgraph/pkg/events"
	jobrun "github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/pkg/service/queue"
)

// order reads a work message. ok is false if its subject names no run, so that no report is possible. fault says what is
// wrong with the body. The subject alone decides which run it is about.
func (l *Loop) order(d *queue.Delivery) (w *events.Work, fault *events.Fault, ok bool) {
	at, err := jobrun.ReadAddress(l.Names, d.Subject)
	if err != nil || !events.ValidID(at.Job) {
		return nil, nil, false
	}
	w = &events.Work{}
	err = events.ReadWork(d.Body, w)
	if err == nil && (w.Job != at.Job || w.SubJob != at.SubJob || w.Run != at.Run) {
		err = fmt.Errorf("body is about %.80q/%.80q run %d, subject about %s/%s run %d", w.Job, w.SubJob, w.Run, at.Job, at.SubJob, at.Run)
	}
	if err != nil {
		return &events.Work{Job: at.Job, SubJob: at.SubJob, Run: at.Run}, &events.Fault{Code: events.CodeMalformed, Field: "work", Message: "the planning work cannot be read", Cause: err.Error()}, true
	}
	return w, nil, true
}

// given returns the request's plan, resolving a reference. A fault is reported to the sender; an error means: try again.
func (l *Loop) given(ctx context.Context, w *events.Work) (raw []byte, fault *events.Fault, err error) {
	r := w.Request
	if r == nil || w.Kind != events.WorkPlan && w.Kind != events.WorkFinalize {
		return nil, nil, nil
	}
	if r.PlanRef == nil {
		if string(r.Plan) == "null" {
			return nil, nil, nil
		}
		return r.Plan, nil, nil
	}
	raw, err = l.Blobs.Get(ctx, w.Job, r.PlanRef.Digest)
	if errors.Is(err, store.ErrNotFound) {
		return nil, &events.Fault{
			Code: events.CodeMissingBlob, Field: "plan_ref", Message: fmt.Sprintf("no plan is stored under %.80q", r.PlanRef.Digest),
			Cause: err.Error(), Hint: "submit the job again",
		}, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read plan: %w", err)
	}
	if len(raw) == 0 {
		raw = []byte(" ") // The plan exists but is empty.
	}
	return raw, nil, nil
}
