package loop

import (
	"context"
	"errors"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/events/store"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/joblog"
)

// folder reads and folds jobs' events. It has no state of its own, and may be used outside the loop.
type folder struct{ *env }

// fold returns the state after one more event; without a state the event must be the request. It may be called outside the loop.
// said are the items for the conversation of the job's session.
func (f *folder) fold(ctx context.Context, job string, state *graph.Job, e *events.Event) (_ *graph.Job, said []Said, err error) {
	if state == nil {
		if state, err = f.begin(job, e); err == nil {
			said = saidOf(state, e)
		}
		return state, said, err
	}
	if err := f.resolve(ctx, e); err != nil {
		return state, nil, err
	}
	effect := state.Step(*e)
	switch effect.Verdict {
	case graph.Applied:
		said = saidOf(state, e)
	case graph.Poisoned:
		return state, nil, &quarantine{events.Fault{
			Code: events.CodeMustUnderstand, Message: fmt.Sprintf("event %d (%s) cannot be understood", e.Seq, e.Kind),
			Cause: effect.Reason, Hint: upgrade,
		}}
	case graph.Ignored:
		f.Meter.Count(Ignored, string(e.Kind))
		f.Logger.Info("event ignored", "job", job, "subjob", e.SubJob, "run", e.Run, "kind", string(e.Kind), "seq", e.Seq, "reason", effect.Reason)
	}
	return state, said, nil
}

// upgrade is the hint for a job that this scheduler does not understand.
const upgrade = "upgrade the schedulers: one of a release that understands it takes the job up by itself"

// begin makes the state from job.requested.
func (f *folder) begin(job string, e *events.Event) (*graph.Job, error) {
	state, err := graph.New(*e)
	if err == nil && !f.knows(state) {
		err = fmt.Errorf("%w: version %d, this one knows %d", graph.ErrRules, state.Rules.Version, f.Rules)
	}
	switch {
	case errors.Is(err, graph.ErrRules):
		return nil, &quarantine{events.Fault{
			Code: events.CodeMustUnderstand, Message: "the job is decided by newer rules",
			Cause: err.Error(), Hint: upgrade,
		}}
	case err != nil:
		if e.Fault != nil {
			err = e.Fault
		}
		f.Meter.Count(Malformed, "")
		return nil, &quarantine{events.Fault{
			Code: events.CodeMalformed, Message: "job.requested cannot be read", Cause: err.Error(),
			Hint: "`jobgraph delete " + job + "`, then submit the job again",
		}}
	}
	return state, nil
}

// knows reports whether this scheduler knows the decision rules of a job.
func (f *folder) knows(state *graph.Job) bool { return state.Rules.Version <= f.Rules }

// resolve fills in a plan that is stored as a blob.
func (f *folder) resolve(ctx context.Context, e *events.Event) error {
	plan := joblog.PlanRef(e)
	if plan == nil { // For almost every event, so the fold allocates nothing.
		return nil
	}
	err := joblog.Resolve(e, func(events.Ref) ([]byte, error) { return f.blob(ctx, e.Job, plan) })
	if errors.Is(err, joblog.ErrPlan) {
		return &quarantine{events.Fault{
			Code: events.CodeMalformed, Message: fmt.Sprintf("the plan of event %d cannot be read", e.Seq),
			Cause: err.Error(), RawRef: plan, Hint: "submit the job again",
		}}
	}
	return err
}

// blob reads a payload; a missing one quarantines the job.
func (f *folder) blob(ctx context.Context, job string, ref *events.Ref) ([]byte, error) {
	data, err := f.Blobs.GetBlob(ctx, job, ref.Digest)
	if errors.Is(err, store.ErrNotFound) {
		return nil, &quarantine{events.Fault{
			Code: events.CodeMissingBlob, Message: "a payload that the log names is gone",
			RawRef: ref, Cause: err.Error(), Hint: "restore the object store, or `jobgraph import` an export of the job, then `jobgraph dlq retry " + job + "`",
		}}
	}
	if err != nil {
		return nil, fmt.Errorf("read payload: %w", err)
	}
	return data, nil
}

// eventAt reads an event of a job; a missing one quarantines the job.
func (f *folder) eventAt(ctx context.Context, job string, seq uint64) (events.Event, error) {
	e, err := f.Log.EventAt(ctx, seq)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return e, &quarantine{events.Fault{
			Code: events.CodeMissingBlob, Message: fmt.Sprintf("event %d, which the state names, is gone", seq),
			Cause: err.Error(), Hint: "restore the log, then `jobgraph dlq retry " + job + "`",
		}}
	case err != nil:
		return e, fmt.Errorf("read event %d: %w", seq, err)
	case e.Job != job:
		return e, unreadable(seq, "an event of this job")
	}
	return e, nil
}

func unreadable(seq uint64, what string) error {
	return &quarantine{events.Fault{
		Code: events.CodeInternal, Message: fmt.Sprintf("event %d is not %s", seq, what),
		Hint: "the log was changed under the job: restore it, or submit the job again",
	}}
}
