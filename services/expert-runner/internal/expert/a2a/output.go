package a2a

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// ending converts the record to an ending, according to the table in the documentation.
func (r *run) ending() task.Ending {
	rec := r.record
	if rec.Refused != nil {
		return rec.Refused.ending()
	}
	said := clip(rec.words(), maxShown)
	switch rec.State {
	case stateCompleted, stateAnswered:
		return r.success()
	case stateFailed:
		return task.Failure(events.CodeExecution, "the agent at "+r.host+" failed", said, "")
	case stateRejected:
		return task.Failure(events.CodeRejected, "the agent at "+r.host+" rejected the work", said, "change what is asked, or ask another")
	case stateCanceled:
		return task.Failure(events.CodeCancelled, "the agent at "+r.host+" gave its task up", said, "")
	case stateAuth:
		return task.Failure(events.CodeNotPermitted, "the agent at "+r.host+" wants to know who asks", said, "give it what it needs in headers on the card")
	}
	return task.Failure(events.CodeMalformed, fmt.Sprintf("the task of the agent at %s is in a state that A2A does not know: %q", r.host, clip(string(rec.State), maxName)), said, "see that the agent speaks the version of A2A that its card says")
}

// ending converts a refusal of the agent to an ending.
func (r *refusal) ending() task.Ending {
	e := task.Failure(r.Code, r.Message, r.Cause, r.Hint)
	e.Report.RetryAfter = r.RetryAfter
	return e
}

// words returns the agent's text about the state of its task.
func (r *record) words() string {
	if text := textOf(r.Said, inMessage); text != "" {
		return text
	}
	for i := range r.Said {
		if r.Said[i].Data != nil {
			return string(r.Said[i].Data)
		}
	}
	return r.Spoken
}

// success returns the agent's result: its artifacts, else its text.
func (r *run) success() task.Ending {
	report := &events.SubJobReported{Outcome: events.Success}
	groups, between := r.record.Artifacts, inArtifact
	if len(groups) == 0 {
		between = inMessage
		groups = []artifact{{Parts: r.record.Said}}
		if len(r.record.Said) == 0 && r.record.Spoken != "" {
			groups[0].Parts = []part{{Text: r.record.Spoken}}
		}
	}
	only := groups[0].Parts
	switch {
	case len(groups) == 1 && len(only) == 0:
		report.Output = json.RawMessage(quoted(""))
	case len(groups) == 1 && !slices.ContainsFunc(only, func(p part) bool { return !p.isText() }):
		report.Output = json.RawMessage(quoted(textOf(only, between)))
	case len(groups) == 1 && len(only) == 1 && only[0].Data != nil:
		report.Output = only[0].Data
	case len(groups) == 1 && len(only) == 1 && only[0].Bytes != nil && r.form == nil:
		report.Output, report.OutputRef = only[0].Bytes, &events.Ref{MediaType: mediaType(&only[0])}
		return task.Ending{Report: report}
	default:
		raw, err := json.Marshal(map[string]any{"artifacts": groups})
		if err != nil {
			return task.Failure(events.CodeInternal, "what the agent made cannot be kept", err.Error(), "")
		}
		report.Output = raw
	}
	return r.fit(report)
}

func mediaType(p *part) string {
	if p.Type == "" {
		return "application/octet-stream"
	}
	return p.Type
}

// fit validates the output against the wanted form, if there is one. Text that is JSON is then used as JSON.
func (r *run) fit(report *events.SubJobReported) task.Ending {
	if r.form == nil {
		return task.Ending{Report: report}
	}
	wrong := r.form.Misfits(report.Output)
	var text string
	if len(wrong) > 0 && json.Unmarshal(report.Output, &text) == nil {
		if raw := json.RawMessage(strings.TrimSpace(text)); json.Valid(raw) {
			report.Output, wrong = raw, r.form.Misfits(raw)
		}
	}
	if len(wrong) > 0 {
		return task.Failure(events.CodeMalformed, "what the agent at "+r.host+" made does not fit output_schema", clip(strings.Join(wrong, "; "), maxEvidence)+": "+clip(string(report.Output), maxEvidence), "")
	}
	return task.Ending{Report: report}
}
