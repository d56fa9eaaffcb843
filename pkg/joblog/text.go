package joblog

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// Texts are the SubJobs of a job as its log has them. The zero value is those of an empty log.
type Texts struct {
	planned map[place]*events.SubJob
	edits   map[uint64]json.RawMessage
}

// place is a SubJob of a plan by the event of the plan.
type place struct {
	seq uint64
	id  string
}

// Take adds an event, with its plan filled in. An event that has no text of a SubJob changes nothing.
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

// Planned is a SubJob as its plan has it; ok is false when that plan is not known.
func (t *Texts) Planned(at graph.Spec) (s events.SubJob, ok bool) {
	if p := t.planned[place{at.Seq, at.ID}]; p != nil {
		return *p, true
	}
	return s, false
}

// Text is a SubJob as its plan has it, with the edits since; ok is false when that plan is not known. An edit that cannot be read is
// passed over, as the core does.
func (t *Texts) Text(at graph.Spec) (s events.SubJob, ok bool) {
	s, ok = t.Planned(at)
	for _, seq := range at.Edits {
		if edited, err := Edited(s, t.edits[seq]); err == nil {
			s = edited
		}
	}
	return s, ok
}

// Edited is a SubJob with the fields that an edit gives; without an edit it is the same. It shares nothing with what it was made of.
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

// own is a copy of a value: a decoder writes into the value behind a pointer that it finds.
func own[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
