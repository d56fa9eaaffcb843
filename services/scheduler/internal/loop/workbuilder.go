package loop

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/batch"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// workBuilder makes work messages and the results of jobs from the events that an order refers to.
type workBuilder struct {
	*env
	folder *folder
	facts  *facts
	// buffer is the work being built. The next work reuses its memory: dependencies, results and brief.
	buffer  events.Work
	briefer joblog.Briefer
}

// build makes the work message of a run. Its trace is that of the job's request unless another one is given.
func (b *workBuilder) build(ctx context.Context, j *job, cmd *graph.Command, trace string) (m batch.Member, err error) {
	requested, admitted, err := b.requested(ctx, j)
	if err != nil {
		return m, err
	}
	w, err := b.resolveOrder(ctx, j, cmd, requested)
	if err != nil {
		return m, err
	}
	if err := b.addBrief(ctx, j, &requested.Request, w); err != nil {
		return m, err
	}
	body, err := b.fit(ctx, w)
	if err != nil {
		return m, err
	}
	return batch.Member{
		Subject: b.Names.WorkFor(cmd.Order.Pool, cmd.Order.Expert, j.id, cmd.SubJob, cmd.Run),
		ID:      run.WorkID(j.born(), cmd.SubJob, cmd.Run), Trace: cmp.Or(trace, admitted), Work: body,
	}, nil
}

// resolveOrder resolves an order into the buffer, which the next call overwrites.
func (b *workBuilder) resolveOrder(ctx context.Context, j *job, cmd *graph.Command, requested *events.JobRequested) (_ *events.Work, err error) {
	o, r := cmd.Order, &requested.Request
	w := &b.buffer
	*w = events.Work{
		Spec: events.SubJob{Dependencies: w.Spec.Dependencies[:0]}, Results: emptied(w.Results), Brief: w.Brief[:0],
		Kind: o.Kind, Job: j.id, SubJob: cmd.SubJob, Run: cmd.Run, Attempt: o.Attempt, ResumeOf: o.ResumeOf,
		Goal: r.Goal, Context: r.Context, Inputs: r.Inputs, InputsRef: r.InputsRef, Attachments: r.Attachments,
		Select: o.Select, LifeCycle: o.LifeCycle, Deadline: o.Deadline, Budget: joblog.Budget(&j.state.Rules, j.state.Cost),
		Session: r.Session, Thread: r.Thread, User: r.User, Locale: r.Locale,
		ReportSubject:  b.Names.RunEventOf(j.id, events.KindSubJobReported, cmd.SubJob, cmd.Run, b.pooled(o.Pool)),
		IdempotencyKey: run.ID(j.born(), cmd.SubJob, cmd.Run),
		ClaimSubject:   b.Names.JournalOf(j.id, cmd.SubJob), Lease: requested.Rules.Lease,
		ItemSubject:   item.LiveSubjects(b.Names).In(j.id, cmd.SubJob, b.pooled(o.Pool)),
		CancelSubject: b.Names.Cancel(j.id, cmd.SubJob),
	}
	b.claimInPool(j, cmd, w)
	w.ReportID = w.IdempotencyKey
	if o.Session != "" {
		w.Session, w.Parent = o.Session, r.Session
	}
	if o.Kind == events.WorkExecute {
		w.History, w.HistoryRef = requested.History, requested.HistoryRef
		w.Evaluator, w.Model, w.Knowledge = r.Evaluator, r.Models["expert"], r.Knowledge
		if !r.Tools.IsZero() {
			w.Tools = &r.Tools
		}
	}
	if o.Spec.Seq != 0 {
		if err := b.fillSpec(ctx, j, o, cmd.SubJob, w); err != nil {
			return nil, err
		}
	}
	if err := b.addResults(ctx, j, o.Inputs, w); err != nil {
		return nil, err
	}
	if err := b.addHistory(ctx, j, o, w); err != nil {
		return nil, err
	}
	if o.Kind == events.WorkPlan || o.Kind == events.WorkReplan || o.Kind == events.WorkSplit {
		if r.Timezone == "" && requested.Rules.Timezone != "" {
			zoned := *r // The request belongs to a cached event, which others read as well.
			zoned.Timezone = requested.Rules.Timezone
			r = &zoned
		}
		w.Request, w.PlanVersion, w.MaxSteps, w.Finished = r, o.PlanVersion, requested.Rules.MaxSteps, o.Finished
		w.Inputs, w.InputsRef, w.Attachments = nil, nil, nil // The request has them already.
	}
	if o.Finalize != "" {
		return w, b.finalizeRequest(ctx, j, o, r, w)
	}
	return w, nil
}

// changeover is how long schedulers may still issue work without the pool in its claim subject after runners have been restricted to
// the subjects of their pools: it takes a while until every scheduler has the new list of signers.
const changeover = 24 * time.Hour

// claimInPool makes a run be claimed on the journal subject of its pool if runners may write to no other. Runs of a job that is older
// than that restriction may have records on the subject without a pool, so their work names that subject as well.
func (b *workBuilder) claimInPool(j *job, cmd *graph.Command, w *events.Work) {
	pool := b.pooled(cmd.Order.Pool)
	if pool == "" {
		return
	}
	since, ok := b.Journaled()
	if !ok {
		return
	}
	w.ClaimSubject, w.Former = b.Names.JournalIn(j.id, cmd.SubJob, pool), cmd.Order.Former
	if j.state.Created.Before(since.Add(changeover)) {
		w.Former = append(slices.Clip(w.Former), events.Tenure{Run: cmd.Run})
	}
}

// addBrief adds the brief to work that is otherwise complete: what the run should know about its job.
func (b *workBuilder) addBrief(ctx context.Context, j *job, r *events.Request, w *events.Work) error {
	if j.brief == nil {
		j.brief = &joblog.JobBrief{}
	}
	made, err := b.briefer.Make(j.brief, j.state, r, w, func(at graph.Spec) (string, error) {
		spec, err := b.spec(ctx, j, at)
		if isQuarantine(err) {
			return "", nil // The step no longer has a title. If it is to run, its own work says so.
		}
		return spec.Goal, err
	})
	if err != nil {
		return err
	}
	w.BriefRef, err = j.brief.Refer(r, func(data []byte) (events.Ref, error) { return b.Blobs.PutBlob(ctx, j.id, data) })
	if err != nil {
		return fmt.Errorf("store the brief: %w", err)
	}
	w.Brief, err = made.Append(w.Brief)
	return err
}

// requested returns the request of a job, with its traceparent.
func (b *workBuilder) requested(ctx context.Context, j *job) (r *events.JobRequested, trace string, err error) {
	seq := j.state.RequestSeq
	f, err := b.loadEvent(ctx, j, seq)
	if err != nil {
		return nil, "", err
	}
	r, ok := f.data.(*events.JobRequested)
	if !ok {
		return nil, "", unreadable(seq, "job.requested")
	}
	return r, f.trace, nil
}

// fillSpec puts the text of a SubJob into its work: as planned, with later edits, under the ids of the current graph.
func (b *workBuilder) fillSpec(ctx context.Context, j *job, o *graph.Order, subjob string, w *events.Work) error {
	spec, err := b.spec(ctx, j, o.Spec)
	if err != nil {
		return err
	}
	spec.ID, spec.Expert, spec.Pool = subjob, o.Expert, o.Pool
	spec.ExecutionRes, spec.ExecutionRef, spec.Artifacts = nil, nil, nil
	spec.Dependencies = w.Spec.Dependencies
	for i := range o.Inputs {
		spec.Dependencies = append(spec.Dependencies, o.Inputs[i].SubJob)
	}
	w.Spec = spec
	w.Goal, w.Context, w.CompletionCriteria = spec.Goal, spec.Context, spec.CompletionCriteria
	return nil
}

// spec reads the text of a SubJob from its plan, with later edits.
func (b *workBuilder) spec(ctx context.Context, j *job, s graph.Spec) (events.SubJob, error) {
	f, err := b.loadEvent(ctx, j, s.Seq)
	if err != nil {
		return events.SubJob{}, err
	}
	planned := f.plan[s.ID]
	if planned == nil {
		return events.SubJob{}, unreadable(s.Seq, "a plan with SubJob "+s.ID)
	}
	spec := *planned
	for _, seq := range s.Edits {
		edit, err := b.loadEvent(ctx, j, seq)
		if err != nil {
			return spec, err
		}
		rerun, ok := edit.data.(*events.RerunRequested)
		if ok {
			spec, err = joblog.Edited(spec, rerun.Edit)
		}
		if !ok || err != nil {
			return spec, unreadable(seq, "an edit of SubJob "+s.ID)
		}
	}
	return spec, nil
}

// addHistory adds lessons and answers to work.
func (b *workBuilder) addHistory(ctx context.Context, j *job, o *graph.Order, w *events.Work) error {
	for _, seq := range o.Lessons {
		f, err := b.loadEvent(ctx, j, seq)
		if err != nil {
			return err
		}
		if lesson := joblog.Lesson(f.data); lesson != "" {
			w.Lessons = append(w.Lessons, lesson)
		}
	}
	for _, seq := range o.Answers {
		f, err := b.loadEvent(ctx, j, seq)
		if err != nil {
			return err
		}
		if closed, ok := f.data.(*events.InputClosed); ok {
			if w.Answers == nil {
				w.Answers = map[string]events.InputClosed{}
			}
			w.Answers[f.key] = *closed
		}
	}
	return nil
}

// loadEvent returns an event that work refers to, from the cache or from the log.
func (b *workBuilder) loadEvent(ctx context.Context, j *job, seq uint64) (*fact, error) {
	if f := b.facts.get(seq); f != nil {
		return f, nil
	}
	e, err := b.folder.eventAt(ctx, j.id, seq)
	if err != nil {
		return nil, err
	}
	if err := b.folder.resolve(ctx, &e); err != nil {
		return nil, err
	}
	f := b.keep(j, &e)
	if f == nil {
		return nil, unreadable(seq, "something that work can refer to")
	}
	return f, nil
}

// keep caches an event for the work of its job; nil if work cannot refer to it.
func (b *workBuilder) keep(j *job, e *events.Event) *fact {
	f := b.facts.keep(e)
	if f != nil {
		j.facts = append(j.facts, f.seq)
	}
	return f
}
