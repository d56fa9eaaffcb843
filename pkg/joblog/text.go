package joblog

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// Texts holds the texts of a job's SubJobs, collected from its log. The zero value belongs to an empty log.
type Texts struct {
	planned map[place]*events.SubJob
	edits   map[uint64]json.RawMessage
}

// place identifies a SubJob by the event of its plan.
type place struct {
	seq uint64
	id  string
}

// Take adds an event with its plan resolved. Events without texts of SubJobs change nothing.
func (t *Texts) Take(e *events.Event) {
	switch data := e.Data.(type) {
	case *events.GraphCreated:
		t.plan(e.Seq, data.Plan)
	case *events.PlanEdited:
		t.plan(e.Seq, data.Plan)
	case *events.RerunRequested:
		if len(data.Edit) > 0 {
			if t.edits == nil {
				t.edits = map[uint64]json.RawMessage{}
			}
			t.edits[e.Seq] = data.Edit
		}
	}
}

func (t *Texts) plan(seq uint64, p *events.Plan) {
	if p == nil {
		return
	}
	if t.planned == nil {
		t.planned = make(map[place]*events.SubJob, len(p.SubJobs))
	}
	for i := range p.SubJobs {
		t.planned[place{seq, p.SubJobs[i].ID}] = &p.SubJobs[i]
	}
}

// Planned returns a SubJob as its plan specifies it; ok is false if that plan is unknown.
func (t *Texts) Planned(at graph.Spec) (s events.SubJob, ok bool) {
	if p := t.planned[place{at.Seq, at.ID}]; p != nil {
		return *p, true
	}
	return s, false
}

// Text returns a SubJob with all edits; ok is false if its plan is unknown. An unreadable edit is skipped, as in the core.
func (t *Texts) Text(at graph.Spec) (s events.SubJob, ok bool) {
	s, ok = t.Planned(at)
	for _, seq := range at.Edits {
		if edited, err := Edited(s, t.edits[seq]); err == nil {
			s = edited
		}
	}
	return s, ok
}

// Edited returns a copy of a SubJob with the fields of an edit replaced. The copy shares nothing with the original.
func Edited(s events.SubJob, edit json.RawMessage) (events.SubJob, error) {
	if len(edit) == 0 {
		return s, nil
	}
	s.Dependencies, s.Needs, s.Artifacts = slices.Clone(s.Dependencies), slices.Clone(s.Needs), slices.Clone(s.Artifacts)
	s.OutputSchema, s.ExecutionRes = slices.Clone(s.OutputSchema), slices.Clone(s.ExecutionRes)
	s.LifeCycle, s.Retries, s.Timeout = own(s.LifeCycle), own(s.Retries), own(s.Timeout)
	s.Schedule, s.ExecutionRef = own(s.Schedule), own(s.ExecutionRef)
	if err := json.Unmarshal(edit, &s); err != nil {
		return s, fmt.Errorf("edit of SubJob %s: %w", s.ID, err)
	}
	return s, nil
}

// own copies a value, since a decoder writes into an existing pointer's target.
func own[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
