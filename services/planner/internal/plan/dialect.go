package plan

import (
	"encoding/json"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Dialect is a form that a plan can be written in.
type Dialect string

// The dialects, each told by its shape alone.
const (
	Native     Dialect = "native"     // {"subjobs":[{id, goal, …}]}
	Chat2Graph Dialect = "chat2graph" // {"subtask_1":{goal, …}}, bare or inside <decomposition>
	DeerGo     Dialect = "deer-go"    // {"steps":[{title, description, step_type, …}]}
	ValueCell  Dialect = "valuecell"  // {"tasks":[{title, query, agent_name, …}]}
	OpenManus  Dialect = "openmanus"  // {"steps":["[TAG] …"]}
)

// Dialects lists all of them, the native one first.
func Dialects() []Dialect { return []Dialect{Native, Chat2Graph, DeerGo, ValueCell, OpenManus} }

const emptyHint = `send {"subjobs":[{"id":"a","goal":"…","expert":"…"}]}, or one of the other dialects`

// draft is a plan on its way from bytes to a JobGraph.
type draft struct {
	dialect  Dialect
	plan     events.Plan
	steps    []step
	faults   notes
	warnings notes
	// rules are those for drafts of models, nil for other plans.
	rules *DraftRules
	// informed is Options.Informed.
	informed bool
}

// step is a SubJob with what only its dialect knows.
type step struct {
	events.SubJob
	// path is its place in the input, "tasks[0]".
	path string
	// expertField and goalField are what the dialect calls the expert and the goal, for the places of faults.
	expertField, goalField string
	// wish is true when Needs are the dialect's guess: they choose among experts but refuse none.
	wish bool
}

func (s *step) at(field string) string { return join(s.path, field) }

// decode reads bytes in any dialect. ok is false when there is nothing to go on with; the faults say why.
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

// decodeList reads a bare list of steps, which is the list of whichever dialect its first item looks like.
func (d *draft) decodeList(raw json.RawMessage) bool {
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		return false
	}
	name := "subjobs"
	if len(items) > 0 {
		o, err := readObject(items[0])
		switch {
		case err != nil, o.has("step_type"), o.has("need_web_search"):
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
	case r.has("steps") && hasTexts(r.get("steps")):
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

// hasTexts is true for a list whose first item is a text.
func hasTexts(raw json.RawMessage) bool {
	rest := strings.TrimLeft(string(raw[:min(len(raw), 1<<10)]), " \t\r\n")
	return strings.HasPrefix(rest, "[") && kindOf([]byte(rest[1:])) == '"'
}

// looksDecomposed is true for an object whose values are tasks, or whose first key is a "subtask".
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

// tell warns of fields that a dialect has but that mean nothing here.
func (r *reader) tell() {
	for _, name := range r.unread() {
		r.draft.warnings.add(events.CodeUnknownField, join(r.path, name), "is not known and left out", "")
	}
}

// passOver names fields of a dialect that are known to mean nothing here.
func (r *reader) passOver(names ...string) {
	for _, name := range names {
		if i := r.find(name); i >= 0 {
			r.fields[i].used = true
		}
	}
}
