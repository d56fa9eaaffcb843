package loop

import (
	"context"
	"errors"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// advance brings every touched job up to date: from the deliveries when the cached state stands right before them, from
// store and log otherwise.
func (p *Partition) advance(ctx context.Context) error {
	for _, j := range p.touched {
		if j.flying || j.loading {
			continue
		}
		err := p.contain(ctx, j, func() error { return p.catchUp(ctx, j) })
		if crashed(err) {
			return err
		}
		if err != nil {
			j.forget()
			p.postpone(j, err)
		}
	}
	return p.at(AtStepped)
}

// contain turns a panic about one job into its quarantine.
func (p *Partition) contain(ctx context.Context, j *job, f func() error) error {
	err := recovered(j.id, f)
	if err == nil {
		return nil
	}
	var q *quarantine
	if errors.As(err, &q) {
		p.quarantine(ctx, j, q.fault)
		return nil
	}
	return err
}

// recovered gives what f gives, and a quarantine when it panics.
func recovered(job string, f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &quarantine{events.Fault{
				Code: events.CodeInternal, Message: "the scheduler panicked about this job",
				Cause: fmt.Sprint(r), Hint: "please report it with `jobgraph export " + job + "`",
			}}
		}
	}()
	return f()
}

func (p *Partition) catchUp(ctx context.Context, j *job) error {
	switch {
	case j.fault != nil:
		return nil
	case j.state == nil && len(j.news) == 0:
		return p.load(ctx, j)
	}
	news := j.news
	j.news = nil
	for i := range news {
		if err := p.apply(ctx, j, &news[i]); err != nil {
			return err
		}
		news[i] = events.Event{}
	}
	return nil
}

// apply steps one event. What was applied before does nothing.
func (p *Partition) apply(ctx context.Context, j *job, e *events.Event) error {
	if e.Kind == events.KindJobAdvanced && j.state != nil {
		return nil // Read by people; the state knows it already.
	}
	if j.state != nil && e.Seq <= j.state.Seq {
		p.Meter.Count(Duplicates, string(e.Kind))
		return nil
	}
	state, err := p.fold(ctx, j.id, j.state, e)
	if err != nil {
		return err
	}
	j.whole = j.whole || j.state == nil
	j.state = state
	p.applied(j, e)
	return nil
}

// applied notes what memory has to know of an event that is in the state now.
func (p *Partition) applied(j *job, e *events.Event) {
	if e.Kind == events.KindJobRequested {
		j.trace = e.Trace
	}
	if d, ok := e.Data.(*events.TimerFired); ok && d.Timer == graph.TurnTimer() {
		j.armed = false // Whatever our clock says: the server's may be ahead.
	}
	if e.Kind == events.KindSubJobReported && p.Takers != nil {
		if pool, expert := j.state.Address(e.SubJob); expert != "" {
			p.paces.note(address{pool, expert}, e.Report())
		}
	}
	p.keep(j.id, e)
	j.change(p.now)
}

// fold gives a state behind one more event; without a state the event is the request. It may be called beside the loop.
func (p *Partition) fold(ctx context.Context, job string, state *graph.Job, e *events.Event) (*graph.Job, error) {
	if state == nil {
		return p.begin(job, e)
	}
	if err := p.resolve(ctx, e); err != nil {
		return state, err
	}
	effect := state.Step(*e)
	switch effect.Verdict {
	case graph.Poisoned:
		return state, &quarantine{events.Fault{
			Code: events.CodeMustUnderstand, Message: fmt.Sprintf("event %d (%s) cannot be understood", e.Seq, e.Kind),
			Cause: effect.Reason, Hint: "upgrade the scheduler, then `jobgraph dlq retry " + job + "`",
		}}
	case graph.Ignored:
		p.Meter.Count(Ignored, string(e.Kind))
		p.Logger.Info("event ignored", "job", job, "subjob", e.SubJob, "run", e.Run, "kind", string(e.Kind), "seq", e.Seq, "reason", effect.Reason)
	}
	return state, nil
}

// begin makes the state from job.requested.
func (p *Partition) begin(job string, e *events.Event) (*graph.Job, error) {
	state, err := graph.New(*e)
	switch {
	case errors.Is(err, graph.ErrRules):
		return nil, &quarantine{events.Fault{
			Code: events.CodeMustUnderstand, Message: "the job is decided by newer rules",
			Cause: err.Error(), Hint: "upgrade the scheduler, then `jobgraph dlq retry " + job + "`",
		}}
	case err != nil:
		if e.Fault != nil {
			err = e.Fault
		}
		p.Meter.Count(Malformed, "")
		return nil, &quarantine{events.Fault{
			Code: events.CodeMalformed, Message: "job.requested cannot be read", Cause: err.Error(),
			Hint: "`jobgraph delete " + job + "`, then submit the job again",
		}}
	}
	return state, nil
}

// resolve fills in a plan that went by reference.
func (p *Partition) resolve(ctx context.Context, e *events.Event) error {
	switch d := e.Data.(type) {
	case *events.GraphCreated:
		return p.resolvePlan(ctx, e, d.PlanRef, &d.Plan)
	case *events.PlanEdited:
		return p.resolvePlan(ctx, e, d.PlanRef, &d.Plan)
	}
	return nil
}

func (p *Partition) resolvePlan(ctx context.Context, e *events.Event, ref *events.Ref, plan **events.Plan) error {
	if *plan != nil || ref == nil {
		return nil
	}
	data, err := p.blob(ctx, e.Job, ref)
	if err != nil {
		return err
	}
	*plan = &events.Plan{}
	if err = events.ReadPlan(data, *plan); err != nil {
		return &quarantine{events.Fault{
			Code: events.CodeMalformed, Message: fmt.Sprintf("the plan of event %d cannot be read", e.Seq),
			Cause: err.Error(), RawRef: ref, Hint: "submit the job again",
		}}
	}
	return nil
}

// blob reads a payload; one that is gone quarantines the job.
func (p *Partition) blob(ctx context.Context, job string, ref *events.Ref) ([]byte, error) {
	data, err := p.Blobs.GetBlob(ctx, job, ref.Digest)
	if errors.Is(err, ErrNotFound) {
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

// release forgets a job that is no more, and covers its deliveries.
func (p *Partition) release(j *job) {
	for _, r := range j.unacked {
		p.ledger.cover(r)
	}
	j.forget()
	j.unacked, j.owing, j.failures = nil, false, 0
	delete(p.waiting, j)
	if p.jobs[j.id] == j {
		delete(p.jobs, j.id)
	}
}
