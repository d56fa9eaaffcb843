package conversation

import (
	"encoding/json"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Terminate is the name of the tool that ends the conversation.
const Terminate = "terminate"

// statusSuccess is the status of Terminate that comes with a result.
const statusSuccess = "success"

// surrender returns the outcome for a status of Terminate without a result; known is false for an unknown status.
func surrender(status string) (outcome events.Outcome, code events.Code, message string, known bool) {
	switch status {
	case "failure":
		return events.ExecutionError, events.CodeExecution, "the expert gave up", true
	case "bad_input":
		return events.InputDataError, events.CodeInputData, "the expert cannot work with its input", true
	case "too_complicated":
		return events.TooComplicated, events.CodeTooComplicated, "the work is too much for one expert", true
	}
	return "", "", "", false
}

// TerminateSchema is the JSON Schema of Terminate's arguments.
const TerminateSchema = `{"type":"object","properties":{` +
	`"status":{"type":"string","enum":["success","failure","bad_input","too_complicated"],` +
	`"description":"success when the request is done, failure when it cannot be done, bad_input when what others have handed over ` +
	`has to be made again, too_complicated when it has to be split into several requests"},` +
	`"output":{"description":"the result; what you said beside the call when left out"},` +
	`"reason":{"type":"string","description":"why it cannot be done, and what would help"}},"required":["status"]}`

// finalCall has the arguments of Terminate.
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
	if _, _, _, known := surrender(f.Status); !known && f.Status != statusSuccess {
		return f, "the status of terminate is success, failure, bad_input or too_complicated"
	}
	return f, ""
}

// terminate ends the conversation as the model wants.
func (m *Machine) terminate() {
	f := *m.final
	m.final = nil
	if f.Status != statusSuccess {
		m.gaveUp(&f)
		return
	}
	if name := m.missing(); name != "" {
		m.remind(name)
		return
	}
	m.judge(f.result(m.text))
}

// result returns the text to read the result from.
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
func (m *Machine) gaveUp(f *finalCall) {
	reason := strings.TrimSpace(f.Reason)
	if reason == "" {
		reason = m.text
	}
	outcome, code, message, _ := surrender(f.Status)
	fault := &events.Fault{Code: code, Message: message, Cause: Clip(reason, maxLast)}
	m.end(Ending{Outcome: outcome, Fault: fault, Lesson: fault.Error()})
}
