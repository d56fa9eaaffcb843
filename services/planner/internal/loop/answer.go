package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/planner/internal/plan"
)

// source is the CloudEvents source of everything that the planner states.
const source = "jobgraph/planner"

// answer decides about a piece of work and makes the fact of it.
func (l *Loop) answer(work, intake context.Context, w *events.Work, fault *events.Fault) (events.Event, Outcome, error) {
	var raw []byte
	if fault == nil {
		var err error
		if raw, fault, err = l.given(work, w); err != nil {
			return events.Event{}, Outcome{}, err
		}
	}
	var d plan.Decision
	if fault != nil {
		d = plan.Reject(*fault)
	} else {
		var err error
		if d, err = l.decide(work, intake, w, raw); err != nil {
			return events.Event{}, Outcome{}, err
		}
	}
	data, err := l.payload(work, w, &d)
	o := Outcome{Kind: d.Kind, Run: w.Run, Faults: d.Faults}
	if d.Plan != nil {
		o.Steps, o.EnoughContext = len(d.Plan.SubJobs), d.Plan.HasEnoughContext
	}
	return events.Event{
		Kind: d.Kind, Job: w.Job, SubJob: w.SubJob, Run: w.Run, Source: source, Data: data,
		ID: w.Job + "/" + string(d.Kind) + "/" + w.SubJob + "/" + strconv.Itoa(w.Run),
	}, o, err
}

// errDraining gives work back that waits for an expert: somebody else can wait longer.
var errDraining = errors.New("the planner ends while the plan waits for an expert")

// decide checks the plan against the cards there are. One that lacks nothing but experts is checked again whenever the
// cards change, for a while: a runner may just be starting. While it waits it does not count as busy.
func (l *Loop) decide(work, intake context.Context, w *events.Work, raw []byte) (plan.Decision, error) {
	patience := time.NewTimer(l.ExpertWait)
	defer patience.Stop()
	for waited := l.ExpertWait <= 0; ; {
		cards, changed := l.Catalog.Cards()
		l.busy <- struct{}{}
		d := l.guard(w, func() plan.Decision { return plan.Decide(w, raw, cards, l.Options) })
		<-l.busy
		if waited || !d.Absent() {
			return d, nil
		}
		select {
		case <-changed:
		case <-patience.C:
			waited = true
		case <-work.Done():
			return d, errDraining
		case <-intake.Done():
			return d, errDraining
		}
	}
}

// payload makes the data of the fact. A plan that is too large for a message is stored first.
func (l *Loop) payload(ctx context.Context, w *events.Work, d *plan.Decision) (any, error) {
	switch d.Kind {
	case events.KindJobAnswered:
		answer, err := json.Marshal(d.Answer)
		return &events.JobAnswered{Answer: answer}, err
	case events.KindPlanRejected:
		return &events.PlanRejected{Faults: d.Faults}, nil
	}
	created := &events.GraphCreated{PlanVersion: w.PlanVersion, Plan: d.Plan}
	if d.Final != nil {
		created.FinalPool, created.FinalPure = d.Final.Pool, d.Final.Pure
		if created.FinalPool == "" {
			created.FinalPool = events.DefaultPool
		}
	}
	text, err := events.Marshal(d.Plan)
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
	if errors.Is(err, ErrTooLarge) {
		*d = plan.Reject(events.Fault{Code: events.CodeTooLarge, Field: "plan", Message: fmt.Sprintf("the plan takes %d bytes", len(text)), Cause: err.Error(), Hint: "hand large data over as inputs or attachments"})
		return &events.PlanRejected{Faults: d.Faults}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("store plan: %w", err)
	}
	created.Plan, created.PlanRef = nil, &ref
	return created, nil
}
