package joblog

import (
	"errors"
	"fmt"
	"iter"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// ErrPlan means that the payload that an event refers to as its plan is not a plan.
var ErrPlan = errors.New("the payload is no plan")

// Payloads reads a payload of one job. Nil bytes without an error mean that the payload is left out.
type Payloads func(ref events.Ref) ([]byte, error)

// PlanRef returns the payload that holds the plan of an event; nil if the event has no plan, or has it filled in.
func PlanRef(e *events.Event) *events.Ref {
	ref, _ := planOf(e)
	return ref
}

// planOf returns the payload that holds the plan of an event, and the field that takes the plan; nil if there is nothing to fill in.
func planOf(e *events.Event) (*events.Ref, **events.Plan) {
	var ref *events.Ref
	var into **events.Plan
	switch data := e.Data.(type) {
	case *events.GraphCreated:
		ref, into = data.PlanRef, &data.Plan
	case *events.PlanEdited:
		ref, into = data.PlanRef, &data.Plan
	}
	if ref == nil || *into != nil {
		return nil, nil
	}
	return ref, into
}

// Resolve fills the plan of an event that refers to one, unless get leaves it out. It does not change other events. Errors:
// those of get, and ErrPlan.
func Resolve(e *events.Event, get Payloads) error {
	ref, into := planOf(e)
	if ref == nil {
		return nil
	}
	text, err := get(*ref)
	if err != nil {
		return fmt.Errorf("plan of event %d: %w", e.Seq, err)
	}
	if text == nil {
		return nil
	}
	p := &events.Plan{}
	if err := events.ReadPlan(text, p); err != nil {
		return fmt.Errorf("plan of event %d: %w: %w", e.Seq, ErrPlan, err)
	}
	*into = p
	return nil
}

// Resolved yields the events of a log with their plans resolved. It ends with the first error, of the log or of Resolve.
func Resolved(log iter.Seq2[events.Event, error], get Payloads) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		for e, err := range log {
			if err == nil {
				err = Resolve(&e, get)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// Refs lists the payloads that an event refers to, in its envelope and inside its plan.
func Refs(e events.Event) []events.Ref {
	var refs []events.Ref
	add := func(list ...*events.Ref) {
		for _, r := range list {
			if r != nil {
				refs = append(refs, *r)
			}
		}
	}
	plan := func(p *events.Plan) {
		if p == nil {
			return
		}
		for i := range p.SubJobs {
			add(p.SubJobs[i].ExecutionRef)
			refs = append(refs, p.SubJobs[i].Artifacts...)
		}
	}
	switch data := e.Data.(type) {
	case *events.JobRequested:
		add(data.Request.PlanRef, data.Request.InputsRef)
		refs = append(refs, data.Request.Attachments...)
	case *events.GraphCreated:
		add(data.PlanRef)
		plan(data.Plan)
	case *events.PlanEdited:
		add(data.PlanRef)
		plan(data.Plan)
	case *events.SubJobReported:
		add(data.OutputRef, data.LogRef)
		refs = append(refs, data.Artifacts...)
	case *events.JobEnded:
		add(data.ResultRef)
		refs = append(refs, data.Artifacts...)
	}
	return refs
}
