package joblog

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// PlanDifference is what changed from one plan to another.
type PlanDifference struct {
	// Plan names the fields that differ about the plan as a whole.
	Plan []string `json:"plan,omitempty"`
	// Added and Removed are ids, in the order of the plan that has them.
	Added   []string `json:"added,omitempty"`
	Removed []string `json:"removed,omitempty"`
	// Changed are the steps that both have, in the order of the later plan.
	Changed []PlanChange `json:"changed,omitempty"`
}

// PlanChange is one step that differs.
type PlanChange struct {
	// SubJob is its id.
	SubJob string `json:"subjob"`
	// Fields says what differs, by the names of the native form.
	Fields []FieldChange `json:"fields"`
}

// FieldChange is one value that differs, as JSON; absent on the side that lacks it.
type FieldChange struct {
	// Field is the name.
	Field string `json:"field"`
	// Before and After are the values.
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
}

// Empty reports whether nothing differs.
func (d *PlanDifference) Empty() bool {
	return len(d.Plan)+len(d.Added)+len(d.Removed)+len(d.Changed) == 0
}

// DiffPlans compares two plans step by step, by id; nil counts as a plan without steps. The order of dependencies and of
// needs does not count.
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

// normal brings what has no order into one.
func normal(s events.SubJob) events.SubJob {
	s.Dependencies = slices.Sorted(slices.Values(s.Dependencies))
	s.Needs = slices.Sorted(slices.Values(s.Needs))
	return s
}

// field is one of a JSON object.
type field struct {
	name  string
	value json.RawMessage
}

// fieldsOf takes a value apart as it would be written. A raw value in it that is no JSON counts as no fields.
func fieldsOf(value any) []field {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	var list []field
	d := json.NewDecoder(bytes.NewReader(raw))
	_, _ = d.Token() // The brace: what Marshal has written can be read.
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
