package turn

import (
	"encoding/json"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Terminate is the name of the tool that ends the conversation.
const Terminate = "terminate"

// The statuses of Terminate.
const (
	statusSuccess = "success"
	statusFailure = "failure"
)

// TerminateSchema is the JSON Schema of Terminate's arguments.
const TerminateSchema = `{"type":"object","properties":{` +
	`"status":{"type":"string","enum":["success","failure"],"description":"success when the task is done, failure when it cannot be done"},` +
	`"output":{"description":"the result; what you said beside the call when left out"},` +
	`"reason":{"type":"string","description":"why it cannot be done, and what would help"}},"required":["status"]}`

// finalCall is how the model ends the conversation.
type finalCall struct {
	Status string          `json:"status"`
	Output json.RawMessage `json:"output"`
	Reason string          `json:"reason"`
}

func readFinal(args string) (finalCall, string) {
	var f finalCall
	if err := json.Unmarshal([]byte(args), &f); err != nil {
		return f, "the arguments of terminate are not the JSON they should be: " + err.Error()
	}
	f.Status = strings.ToLower(strings.TrimSpace(f.Status))
	if f.Status != statusSuccess && f.Status != statusFailure {
		return f, `the status of terminate is "success" or "failure"`
	}
	return f, ""
}

// terminate ends as the model says.
func (m *Machine) terminate() {
	f := *m.final
	m.final = nil
	if f.Status == statusFailure {
		m.gaveUp(f.Reason)
		return
	}
	if name := m.missing(); name != "" {
		m.remind(name)
		return
	}
	m.judge(f.result(m.text))
}

// result is the text to read the result from.
func (f *finalCall) result(said string) string {
	var text string
	switch {
	case len(f.Output) == 0 || string(f.Output) == "null":
		return said
	case json.Unmarshal(f.Output, &text) == nil:
		return text
	}
	return string(f.Output)
}

// gaveUp ends with the failure that the model has declared.
func (m *Machine) gaveUp(reason string) {
	if reason = strings.TrimSpace(reason); reason == "" {
		reason = m.text
	}
	fault := &events.Fault{Code: events.CodeExecution, Message: "the expert gave up", Cause: Clip(reason, maxLast)}
	m.end(Ending{Outcome: events.ExecutionError, Fault: fault, Lesson: fault.Error()})
}
