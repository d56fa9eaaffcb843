package conversation

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Evaluation is an evaluator's judgement of a result.
type Evaluation struct {
	// Outcome is one of the four.
	Outcome events.Outcome `json:"status"`
	// Evaluation gives the reasons, Lesson is what the next attempt should do better.
	Evaluation string `json:"evaluation"`
	Lesson     string `json:"lesson"`
}

// priority orders the outcomes that an evaluator may name together: the first that is named counts.
func priority() []events.Outcome {
	return []events.Outcome{events.ExecutionError, events.InputDataError, events.TooComplicated, events.Success}
}

// ReadEvaluation reads an evaluator's JSON. ok is false if it names none of the four, and the evaluator should be asked again. A
// result without inputs cannot be the fault of its inputs: that counts as the expert's own error.
func ReadEvaluation(raw json.RawMessage, inputs bool) (e Evaluation, ok bool) {
	var said struct {
		Status     json.RawMessage `json:"status"`
		Evaluation json.RawMessage `json:"evaluation"`
		Lesson     json.RawMessage `json:"lesson"`
	}
	if json.Unmarshal(raw, &said) != nil {
		return e, false
	}
	named := named(said.Status)
	at := slices.IndexFunc(priority(), func(o events.Outcome) bool { return slices.Contains(named, o) })
	if at < 0 {
		return e, false
	}
	e = Evaluation{Outcome: priority()[at], Evaluation: remark(said.Evaluation), Lesson: remark(said.Lesson)}
	if e.Outcome == events.InputDataError && !inputs {
		e.Outcome = events.ExecutionError
	}
	return e, true
}

// named returns the outcomes that a status names: a text, several of them, or a list.
func named(status json.RawMessage) (list []events.Outcome) {
	var texts []json.RawMessage
	if json.Unmarshal(status, &texts) != nil {
		texts = []json.RawMessage{status}
	}
	for _, raw := range texts {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			continue
		}
		for _, word := range strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(",|;/ \t\n", c) }) {
			list = append(list, outcome(word))
		}
	}
	return list
}

// outcome reads the name of an outcome as predecessor systems and models write it.
func outcome(text string) events.Outcome {
	text = strings.ToUpper(strings.Trim(strings.TrimSpace(text), `"'.`))
	text = text[strings.LastIndexByte(text, '.')+1:] // "WorkflowStatus.SUCCESS".
	if text == "TOO_COMPLICATED" || text == "JOB_TOO_COMPLICATED" {
		return events.TooComplicated
	}
	return events.Outcome(text)
}

// remark returns the text of an evaluator's remark, whatever JSON it is.
func remark(raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	return strings.TrimSpace(Words(raw))
}

// EvaluationSchema is the JSON Schema of an evaluation. Without inputs it has no status that blames them.
func EvaluationSchema(inputs bool) json.RawMessage {
	statuses := `"SUCCESS","EXECUTION_ERROR","JOB_TOO_COMPLICATED_ERROR"`
	if inputs {
		statuses += `,"INPUT_DATA_ERROR"`
	}
	return json.RawMessage(`{"type":"object","additionalProperties":false,"required":["status","evaluation","lesson"],"properties":{` +
		`"status":{"type":"string","enum":[` + statuses + `]},` +
		`"evaluation":{"type":"string","description":"why"},` +
		`"lesson":{"type":"string","description":"what is to be done better next time; empty when nothing is"}}}`)
}

// evaluator is the system prompt of an evaluator.
const evaluator = "You judge the result of a request that someone else has worked on. Do not work on it yourself. Say in JSON:\n" +
	"- status: SUCCESS when the result does what the request asks for, by its criteria where it has some; EXECUTION_ERROR when it does not, is " +
	"wrong, made up or incomplete; JOB_TOO_COMPLICATED_ERROR when the request has to be split before anybody can do it."

// faultyInputs is the additional status for work with results of predecessors.
const faultyInputs = " INPUT_DATA_ERROR when what others have handed over is wrong or unusable, so that they have to do it again."

// Evaluating returns the conversation that asks an evaluator about a result.
func Evaluating(b *Brief, result json.RawMessage) []Message {
	task := evaluator
	if len(b.Work.Results) > 0 {
		task += faultyInputs
	}
	task += "\n- evaluation: why, in a few sentences.\n- lesson: what is to be done better next time."
	system := []string{task, foreign, language(b.Work), strings.TrimSpace(b.Prompt)}
	return []Message{
		{Role: System, Text: paragraphs(system)},
		{Role: User, Text: request(b) + "\n" + Data("evaluated", "result", Words(result), MaxShown)},
	}
}

// Judged returns the ending of a conversation that was evaluated: a SUCCESS keeps its result unchanged.
func (e *Evaluation) Judged(result Ending) Ending {
	if e.Outcome == events.Success {
		return result
	}
	code := events.CodeExecution
	switch e.Outcome {
	case events.InputDataError:
		code = events.CodeInputData
	case events.TooComplicated:
		code = events.CodeTooComplicated
	}
	fault := &events.Fault{Code: code, Message: "the evaluator does not accept the result", Cause: Clip(e.Evaluation, maxLast)}
	lesson := strings.TrimSpace(Clip(e.Evaluation, maxLast) + "\n" + Clip(e.Lesson, maxLast))
	if lesson == "" {
		lesson = fault.Error()
	}
	return Ending{Outcome: e.Outcome, Fault: fault, Lesson: lesson}
}
