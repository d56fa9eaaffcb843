package client

import (
	"encoding/json"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// PlanRef gives the reference to the plan of an event that still lacks it, and what fills it in; nil for any other event.
func PlanRef(e *events.Event) (ref *events.Ref, fill func(text []byte) error) {
	into := func(plan **events.Plan) func([]byte) error {
		return func(text []byte) error {
			var p events.Plan
			if err := json.Unmarshal(text, &p); err != nil {
				return fmt.Errorf("plan of event %d: %w", e.Seq, err)
			}
			*plan = &p
			return nil
		}
	}
	switch data := e.Data.(type) {
	case *events.GraphCreated:
		if data.Plan == nil {
			return data.PlanRef, into(&data.Plan)
		}
	case *events.PlanEdited:
		if data.Plan == nil {
			return data.PlanRef, into(&data.Plan)
		}
	}
	return nil, nil
}

// Refs lists the payloads that an event names, in its envelope and inside its plan.
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
		add(data.OutputRef)
		refs = append(refs, data.Artifacts...)
	case *events.JobEnded:
		add(data.ResultRef)
		refs = append(refs, data.Artifacts...)
	}
	return refs
}
