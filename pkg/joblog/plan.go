package joblog

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// PlanDifference is the difference between two plans.
type PlanDifference struct {
	// Plan names the differing fields of the plan itself.
	Plan []string `json:"plan,omitempty"`
	// Added and Removed are ids of SubJobs, in the order of the plan that has them.
	Added   []string `json:"added,omitempty"`
	Removed []string `json:"removed,omitempty"`
	// Changed are the steps in both plans that differ, in the order of the later plan.
	Changed []PlanChange `json:"changed,omitempty"`
}

// PlanChange is one step that differs.
type PlanChange struct {
	// SubJob is the id of the step.
	SubJob string `json:"subjob"`
	// Fields lists the differences, by the field names of the native form.
	Fields []FieldChange `json:"fields"`
}

// FieldChange is one differing value, as JSON; absent on the side that lacks it.
type FieldChange struct {
	// Field is the name of the field.
	Field string `json:"field"`
	// Before and After are the values.
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
}

// Empty reports whether there are no differences.
func (d *PlanDifference) Empty() bool {
	return len(d.Plan)+len(d.Added)+len(d.Removed)+len(d.Changed) == 0
}

// DiffPlans compares two plans step by step, by id; nil counts as a plan without steps. The order of dependencies and of
// needs does not matter.
func DiffPlans(before, after *events.Plan) PlanDifference {
	a, b := orEmpty(before), orEmpty(after)
	d := PlanDifference{Plan: planFields(a, b)}
	old := make(map[string]*events.SubJob, len(a.SubJobs))
	for i := range a.SubJobs {
		old[a.SubJobs[i].ID] = &a.SubJobs[i]
	}
	kept := make(map[string]bool, len(b.SubJobs))
	for i := range b.SubJobs {
		s := &b.SubJobs[i]
		kept[s.ID] = true
		was, ok := old[s.ID]
		if !ok {
			d.Added = append(d.Added, s.ID)
			continue
		}
		if fields := changes(fieldsOf(normal(*was)), fieldsOf(normal(*s))); len(fields) > 0 {
			d.Changed = append(d.Changed, PlanChange{SubJob: s.ID, Fields: fields})
		}
	}
	for i := range a.SubJobs {
		if !kept[a.SubJobs[i].ID] {
			d.Removed = append(d.Removed, a.SubJobs[i].ID)
		}
	}
	return d
}

func orEmpty(p *events.Plan) *events.Plan {
	if p == nil {
		return &events.Plan{}
	}
	return p
}

func planFields(a, b *events.Plan) []string {
	before, after := *a, *b
	before.SubJobs, after.SubJobs = nil, nil
	var names []string
	for _, c := range changes(fieldsOf(before), fieldsOf(after)) {
		names = append(names, c.Field)
	}
	return names
}

// normal sorts the lists whose order does not matter.
func normal(s events.SubJob) events.SubJob {
	s.Dependencies = slices.Sorted(slices.Values(s.Dependencies))
	s.Needs = slices.Sorted(slices.Values(s.Needs))
	return s
}

// field is one field of a JSON object.
type field struct {
	name  string
	value json.RawMessage
}

// fieldsOf returns the fields of a value as it would be encoded. If it contains an invalid raw value, there are none.
func fieldsOf(value any) []field {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	var list []field
	d := json.NewDecoder(bytes.NewReader(raw))
	_, _ = d.Token() // The opening brace; what Marshal wrote can be parsed.
	for d.More() {
		token, _ := d.Token()
		name, _ := token.(string)
		var text json.RawMessage
		if d.Decode(&text) != nil {
			return nil
		}
		list = append(list, field{name, text})
	}
	return list
}

func changes(before, after []field) []FieldChange {
	var list []FieldChange
	find := func(in []field, name string) json.RawMessage {
		if at := slices.IndexFunc(in, func(f field) bool { return f.name == name }); at >= 0 {
			return in[at].value
		}
		return nil
	}
	for _, f := range before {
		if now := find(after, f.name); string(f.value) != string(now) {
			list = append(list, FieldChange{Field: f.name, Before: f.value, After: now})
		}
	}
	for _, f := range after {
		if find(before, f.name) == nil {
			list = append(list, FieldChange{Field: f.name, After: f.value})
		}
	}
	return list
}
