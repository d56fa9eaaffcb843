package plan

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Evaluation is what an evaluator says of a result (ancestors C30).
type Evaluation struct {
	// Outcome is one of the four.
	Outcome events.Outcome `json:"status"`
	// Evaluation says why, Lesson what whoever tries next should do better.
	Evaluation string `json:"evaluation,omitempty"`
	Lesson     string `json:"lesson,omitempty"`
}

// priority orders the outcomes that an evaluator may name together: the first that is named counts.
var priority = []events.Outcome{events.ExecutionError, events.InputDataError, events.TooComplicated, events.Success}

// ReadEvaluation reads an evaluator's JSON. ok is false when it names none of the four, and should be asked for again. A
// result without inputs cannot be the fault of its inputs: that counts as the expert's own error.
func ReadEvaluation(raw json.RawMessage, inputs bool) (e Evaluation, ok bool) {
	d := &draft{}
	r, ok := d.read(raw, "")
	if !ok {
		return e, false
	}
	var named []events.Outcome
	if list, isList := cutList(r.get("status")); isList && kindOf(r.get("status")) == '[' {
		for _, item := range list {
			text, _ := scalar(item)
			named = append(named, outcome(text))
		}
	} else {
		for _, text := range strings.FieldsFunc(r.text("status"), func(c rune) bool { return strings.ContainsRune(",|;/ \t\n", c) }) {
			named = append(named, outcome(text))
		}
	}
	e.Evaluation, e.Lesson = r.text("evaluation"), r.text("lesson")
	at := slices.IndexFunc(priority, func(o events.Outcome) bool { return slices.Contains(named, o) })
	if at < 0 {
		return e, false
	}
	if e.Outcome = priority[at]; e.Outcome == events.InputDataError && !inputs {
		e.Outcome = events.ExecutionError
	}
	return e, true
}

// outcome reads the name of an outcome as ancestors and models write it.
func outcome(text string) events.Outcome {
	text = strings.ToUpper(strings.Trim(strings.TrimSpace(text), `"'.`))
	if i := strings.LastIndexByte(text, '.'); i >= 0 {
		text = text[i+1:] // "WorkflowStatus.SUCCESS".
	}
	if text == "TOO_COMPLICATED" || text == "JOB_TOO_COMPLICATED" {
		return events.TooComplicated
	}
	return events.Outcome(text)
}
