package plan

import (
	"encoding/json"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Dialect is the form of a plan.
type Dialect string

// The dialects. Each is recognised by its shape alone.
const (
	Native     Dialect = "native"     // {"subjobs":[{id, goal, …}]}
	Chat2Graph Dialect = "chat2graph" // {"subtask_1":{goal, …}}, bare or inside <decomposition>
	DeerGo     Dialect = "deer-go"    // {"steps":[{title, description, step_type, …}]}
	ValueCell  Dialect = "valuecell"  // {"tasks":[{title, query, agent_name, …}]}
	OpenManus  Dialect = "openmanus"  // {"steps":["[TAG] …"]}
)

// Dialects lists all dialects, the native one first.
func Dialects() []Dialect { return []Dialect{Native, Chat2Graph, DeerGo, ValueCell, OpenManus} }

const emptyHint = `send {"subjobs":[{"id":"a","goal":"…","expert":"…"}]}, or one of the other dialects`

// draft is a plan while it is being decoded and checked.
type draft struct {
	dialect  Dialect
	plan     events.Plan
	steps    []step
	faults   notes
	warnings notes
	// questions ask for what has to be known first.
	questions []Question
	// rules are the rules for drafts of models; nil for other plans.
	rules *DraftRules
	// retries is Options.Retries.
	retries *int
	// informed is Options.Informed, version Options.Version, discreet Options.Discreet.
	informed, discreet bool
	version            int
}

// step is a SubJob with data that only its dialect has.
type step struct {
	events.SubJob
	// path is its place in the input, "tasks[0]".
	path string
	// expertField and goalField are the dialect's names of these fields, for the paths of faults.
	expertField, goalField string
	// wish is true if the dialect guessed Needs: then they rank experts but exclude none.
	wish bool
	// timeout and retries are the step's own, which precede those of its expert's card.
	timeout *events.Duration
	retries *int
}

func (s *step) at(field string) string { return join(s.path, field) }

// decode decodes a plan in any dialect. If it cannot continue, ok is false and the faults say why.
func (d *draft) decode(raw []byte) (ok bool) {
	value, ok := d.locate(raw)
	if ok && kindOf(value) == '"' {
		var text string
		if json.Unmarshal(value, &text) != nil {
			return false
		}
		value, ok = d.locate([]byte(text))
	}
	if !ok {
		return false
	}
	switch kindOf(value) {
	case '[':
		return d.decodeList(value)
	case '{':
		o, err := readObject(value)
		if err != nil {
			return false
		}
		return d.decodeObject(reader{draft: d, object: o})
	}
	d.faults.add(events.CodeMalformed, "", "the plan is "+nameOf(value)+", expected an object or a list", emptyHint)
	return false
}

// decodeList reads a bare list of steps. The form of its first item determines the dialect.
func (d *draft) decodeList(raw json.RawMessage) bool {
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		return false
	}
	name := "subjobs"
	if len(items) > 0 {
		o, err := readObject(items[0])
		switch {
		case err != nil, o.has("step_type"), o.has("need_web_search"), d.version > 0 && o.has(stepField):
			name = "steps"
		case o.has("agent_name"), o.has("query"):
			name = "tasks"
		}
	}
	r := reader{draft: d, object: object{fields: []field{{key: name, value: raw}}}}
	return d.decodeObject(r)
}

func (d *draft) decodeObject(r reader) bool {
	switch {
	case r.has("subjobs"):
		d.dialect = Native
		d.native(r)
	case r.has("tasks"):
		d.dialect = ValueCell
		d.valueCell(r)
	case r.has("steps") && (hasTexts(r.get("steps")) || d.version > 0 && hasMilestones(r.get("steps"))):
		d.dialect = OpenManus
		d.openManus(r)
	case r.has("steps"):
		d.dialect = DeerGo
		d.deerGo(r)
	case looksDecomposed(r.object):
		d.dialect = Chat2Graph
		d.chat2Graph(r)
	case len(r.fields) == 0:
		d.faults.add(events.CodeMissing, "", "the plan is empty", emptyHint)
	default:
		d.faults.add(events.CodeMalformed, "", "no known form of a plan; its fields are "+some(r.keys(), 8),
			"the forms are known by subjobs (native), subtask_1 (chat2graph), steps (deer-go, openmanus) and tasks (valuecell)")
	}
	if d.dialect != Chat2Graph {
		r.doubled()
	}
	return d.dialect != ""
}

// hasTexts reports whether the first item of a list is a text.
func hasTexts(raw json.RawMessage) bool {
	rest := strings.TrimLeft(string(raw[:min(len(raw), 1<<10)]), " \t\r\n")
	return strings.HasPrefix(rest, "[") && kindOf([]byte(rest[1:])) == '"'
}

// hasMilestones reports whether the first item of a list is an object with the text of a step.
func hasMilestones(raw json.RawMessage) bool {
	items, ok := cutList(raw)
	if !ok || len(items) == 0 {
		return false
	}
	o, err := readObject(items[0])
	return err == nil && o.has(stepField)
}

// looksDecomposed reports whether the values of an object are tasks, or its first key is a "subtask".
func looksDecomposed(o object) bool {
	for i := range o.fields {
		if strings.HasPrefix(o.fields[i].key, "subtask") {
			return true
		}
		task, err := readObject(o.fields[i].value)
		if err == nil && (task.has("goal") || task.has("assigned_expert")) {
			return true
		}
	}
	return false
}

// tell warns about fields that belong to the dialect but have no meaning here.
func (r *reader) tell() {
	for _, name := range r.unread() {
		r.draft.warnings.add(events.CodeUnknownField, join(r.path, name), "is not known and left out", "")
	}
}

// passOver marks fields of a dialect that have no meaning here.
func (r *reader) passOver(names ...string) {
	for _, name := range names {
		if i := r.find(name); i >= 0 {
			r.fields[i].used = true
		}
	}
}
