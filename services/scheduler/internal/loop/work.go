package loop

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/batch"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// work builds the work of a run out of what its order refers to.
func (p *Partition) work(ctx context.Context, j *job, cmd *graph.Command) (m batch.Member, err error) {
	w, err := p.order(ctx, j, cmd)
	if err != nil {
		return m, err
	}
	body, err := p.fit(ctx, w)
	if err != nil {
		return m, err
	}
	return batch.Member{
		Subject: p.Names.WorkFor(cmd.Order.Pool, cmd.Order.Expert, j.id, cmd.SubJob, cmd.Run),
		ID:      run.WorkID(j.born(), cmd.SubJob, cmd.Run), Trace: j.cause(), Work: body,
	}, nil
}

// issueRun publishes the work of a run, by itself or in a batch.
func (p *Partition) issueRun(ctx context.Context, j *job, cmd *graph.Command) (Ack, error) {
	m, err := p.work(ctx, j, cmd)
	if err != nil {
		return nil, err
	}
	to := address{cmd.Order.Pool, cmd.Order.Expert}
	if p.packs(to) {
		return p.packer.add(to, j.id, m)
	}
	return p.publishAs(m.Message(), Expect{})
}

// order resolves an order. The work is written on the partition's one sheet: the next order takes it again.
func (p *Partition) order(ctx context.Context, j *job, cmd *graph.Command) (*events.Work, error) {
	o := cmd.Order
	requested, err := p.requested(ctx, j)
	if err != nil {
		return nil, err
	}
	r := &requested.Request
	w := &p.sheet
	*w = events.Work{
		Spec: events.SubJob{Dependencies: w.Spec.Dependencies[:0]},
		Kind: o.Kind, Job: j.id, SubJob: cmd.SubJob, Run: cmd.Run, Attempt: o.Attempt, ResumeOf: o.ResumeOf,
		Goal: r.Goal, Context: r.Context, Inputs: r.Inputs, InputsRef: r.InputsRef, Attachments: r.Attachments,
		Select: o.Select, LifeCycle: o.LifeCycle, Deadline: o.Deadline, Budget: budget(&j.state.Rules, j.state.Cost),
		Session: r.Session, Thread: r.Thread, User: r.User, Locale: r.Locale,
		ReportSubject:  p.Names.RunEvent(j.id, events.KindSubJobReported, cmd.SubJob, cmd.Run),
		IdempotencyKey: run.ID(j.born(), cmd.SubJob, cmd.Run),
		ClaimSubject:   p.Names.JournalOf(j.id, cmd.SubJob), Lease: requested.Rules.Lease,
		CancelSubject: p.Names.Cancel(j.id, cmd.SubJob),
	}
	w.ReportID = w.IdempotencyKey
	if o.Session != "" {
		w.Session = o.Session
	}
	if o.Kind == events.WorkExecute {
		w.Evaluator, w.Model = r.Evaluator, r.Models["expert"]
	}
	if o.Spec.Seq != 0 {
		if err := p.specify(ctx, j.id, o, cmd.SubJob, w); err != nil {
			return nil, err
		}
	}
	if w.Results, err = p.results(ctx, j.id, o.Inputs); err != nil {
		return nil, err
	}
	if err := p.recall(ctx, j.id, o, w); err != nil {
		return nil, err
	}
	if o.Kind == events.WorkPlan || o.Kind == events.WorkReplan || o.Kind == events.WorkSplit {
		w.Request, w.PlanVersion, w.MaxSteps, w.Finished = r, o.PlanVersion, requested.Rules.MaxSteps, o.Finished
		w.Inputs, w.InputsRef, w.Attachments = nil, nil, nil // The request has them.
	}
	if o.Finalize != "" {
		return w, p.word(ctx, j.id, o, r, w)
	}
	return w, nil
}

// requested is what was asked for.
func (p *Partition) requested(ctx context.Context, j *job) (*events.JobRequested, error) {
	seq := j.state.RequestSeq
	f, err := p.recallFact(ctx, j.id, seq)
	if err != nil {
		return nil, err
	}
	r, ok := f.data.(*events.JobRequested)
	if !ok {
		return nil, unreadable(seq, "job.requested")
	}
	j.trace = f.trace
	return r, nil
}

// specify puts the text of a SubJob into its work: as planned, as edited since, under the ids of the present graph.
func (p *Partition) specify(ctx context.Context, job string, o *graph.Order, subjob string, w *events.Work) error {
	spec, err := p.spec(ctx, job, o.Spec)
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

// spec reads a SubJob as it stands in its plan with the edits since.
func (p *Partition) spec(ctx context.Context, job string, s graph.Spec) (events.SubJob, error) {
	f, err := p.recallFact(ctx, job, s.Seq)
	if err != nil {
		return events.SubJob{}, err
	}
	planned := f.plan[s.ID]
	if planned == nil {
		return events.SubJob{}, unreadable(s.Seq, "a plan with SubJob "+s.ID)
	}
	spec := *planned
	for _, seq := range s.Edits {
		edit, err := p.recallFact(ctx, job, seq)
		if err != nil {
			return spec, err
		}
		rerun, ok := edit.data.(*events.RerunRequested)
		if !ok || json.Unmarshal(rerun.Edit, &spec) != nil {
			return spec, unreadable(seq, "an edit of SubJob "+s.ID)
		}
	}
	return spec, nil
}

// recall puts lessons and answers into work.
func (p *Partition) recall(ctx context.Context, job string, o *graph.Order, w *events.Work) error {
	for _, seq := range o.Lessons {
		f, err := p.recallFact(ctx, job, seq)
		if err != nil {
			return err
		}
		if lesson := f.lesson(); lesson != "" {
			w.Lessons = append(w.Lessons, lesson)
		}
	}
	for _, seq := range o.Answers {
		f, err := p.recallFact(ctx, job, seq)
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

// lesson is what an event teaches the next run.
func (f *fact) lesson() string {
	switch d := f.data.(type) {
	case *events.SubJobReported:
		if d.Lesson == "" && d.Error != nil {
			return d.Error.Error()
		}
		return d.Lesson
	case *events.PlanRejected:
		return d.Faults.Error()
	case *events.TimerFired:
		return "The run took longer than it may."
	case *events.Fault: // Of what ended a run and cannot be read.
		return "What the run stated could not be read: " + d.Error()
	}
	return ""
}

// fit writes work as a message that is not too large: what does not fit goes by reference, the results first.
func (p *Partition) fit(ctx context.Context, w *events.Work) ([]byte, error) {
	body, err := events.Marshal(w)
	if err != nil {
		return nil, fmt.Errorf("encode work: %w", err)
	}
	if len(body) <= events.MaxMessage {
		return body, nil
	}
	return p.shrink(ctx, w, body)
}

// shrink moves what work can do without into blobs, until it fits a message or nothing is left to move.
func (p *Partition) shrink(ctx context.Context, w *events.Work, body []byte) (_ []byte, err error) {
	steps := []func() error{
		func() (err error) {
			w.ResultsRef, err = p.refer(ctx, w.Job, w.Results, len(w.Results) == 0)
			w.Results = nil
			return err
		},
		func() (err error) {
			ref, err := p.refer(ctx, w.Job, w.Inputs, len(w.Inputs) == 0)
			if ref != nil {
				w.InputsRef, w.Inputs = ref, nil
			}
			return err
		},
		func() error { // The same stands twice; a planner reads request and spec.
			if w.Request != nil {
				w.Goal, w.Context, w.CompletionCriteria = "", "", ""
				return nil
			}
			w.Spec.Goal, w.Spec.Context, w.Spec.CompletionCriteria = "", "", ""
			return nil
		},
	}
	for _, step := range steps {
		if len(body) <= events.MaxMessage {
			break
		}
		if err := step(); err != nil {
			return nil, err
		}
		if body, err = events.Marshal(w); err != nil {
			return nil, fmt.Errorf("encode work: %w", err)
		}
	}
	return body, nil
}

// refer keeps a value as a blob, unless it is empty.
func (p *Partition) refer(ctx context.Context, job string, value any, empty bool) (*events.Ref, error) {
	if empty {
		return nil, nil
	}
	data, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode payload: %w", err)
	}
	ref, err := p.Blobs.PutBlob(ctx, job, data)
	if err != nil {
		return nil, fmt.Errorf("store payload: %w", err)
	}
	return &ref, nil
}

// refuse reports a run in its worker's place whose work does not fit a message at all.
func (p *Partition) refuse(ctx context.Context, j *job, cmd *graph.Command, cause error) error {
	report := &events.SubJobReported{Outcome: events.ExecutionError, Error: &events.Fault{
		Code: events.CodeTooLarge, Message: "the work does not fit a message", Cause: cause.Error(),
		Hint: "shorten goal and context of the SubJob, or hand long texts over as inputs",
	}}
	m, err := events.Encode(p.Names, events.Event{
		Kind: events.KindSubJobReported, ID: run.ID(j.born(), cmd.SubJob, cmd.Run),
		Job: j.id, SubJob: cmd.SubJob, Run: cmd.Run, Source: source, Data: report,
	})
	if err != nil {
		return err
	}
	ack, err := p.publishAs(m, Expect{})
	if err != nil {
		return err
	}
	if _, err = ack.Wait(ctx); isConflict(err) {
		return nil
	}
	return err
}
