package web

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// ending reads the journal's record of the call: an answer of the server, or the output that a person declared.
func (x *Expert) ending(raw json.RawMessage) task.Ending {
	var k kept
	if json.Unmarshal(raw, &k) != nil || k.HTTP == nil || k.HTTP.Status == 0 {
		return task.Ending{Report: &events.SubJobReported{Outcome: events.Success, Output: raw}}
	}
	a := k.HTTP
	switch {
	case a.Over:
		return task.Failure(events.CodeTooLarge, fmt.Sprintf("the answer (%d) has more than %d bytes", a.Status, x.config.Limit), "", "ask for less, or raise answer_limit on the card")
	case a.Status >= 200 && a.Status < 300:
		return a.success()
	}
	return x.refusal(a)
}

// success returns the body as the output.
func (a *answer) success() task.Ending {
	r := &events.SubJobReported{Outcome: events.Success, Output: a.JSON}
	switch {
	case a.Text != "":
		quoted, err := json.Marshal(a.Text)
		if err != nil {
			return task.Failure(events.CodeInternal, "the answer cannot be kept", err.Error(), "")
		}
		r.Output = quoted
	case a.Bytes != nil:
		r.Output, r.OutputRef = a.Bytes, &events.Ref{MediaType: a.Type}
		if a.Type == "" {
			r.OutputRef.MediaType = "application/octet-stream"
		}
	}
	return task.Ending{Report: r}
}

// refusal maps unsuccessful answers to endings, according to the table in the documentation.
func (x *Expert) refusal(a *answer) task.Ending {
	outcome, code, hint := events.ExecutionError, events.CodeExecution, "see the server's log"
	switch a.Status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong, http.StatusUnprocessableEntity:
		outcome, code, hint = events.InputDataError, events.CodeInputData, "correct what is handed over"
	case http.StatusNotFound, http.StatusGone:
		hint = "correct the url on the card"
		if x.address.places() {
			outcome, code, hint = events.InputDataError, events.CodeInputData, "correct what fills the address"
		}
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		code, hint = events.CodeNotPermitted, "correct the headers on the card"
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		code, hint = events.CodeUnavailable, "wait, or ask less often"
	default:
		switch {
		case a.Status >= 500:
			code = events.CodeUnavailable
		case a.Status >= 300 && a.Status < 400:
			hint = "put the address that it leads to into the url on the card"
		}
	}
	fault := &events.Fault{Code: code, Message: fmt.Sprintf("%s answered %d %s", x.address.base.Host, a.Status, http.StatusText(a.Status)), Cause: a.words(), Hint: hint}
	r := &events.SubJobReported{Outcome: outcome, Error: fault, Lesson: fault.Error()}
	if outcome == events.ExecutionError {
		r.RetryAfter = a.RetryAfter
	}
	return task.Ending{Report: r}
}
