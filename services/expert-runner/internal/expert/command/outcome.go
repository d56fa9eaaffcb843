package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// ExitInputData is the exit code that says: the input cannot be worked with (EX_DATAERR of sysexits.h).
const ExitInputData = 65

// ended is how a process ended and what it printed.
type ended struct {
	// code is the exit code, signal the name of the signal that killed it, if one did.
	code   int
	signal string
	stdout []byte
	// overflow is true when the program printed more than it may.
	overflow bool
	stderr   string
}

// ending reads the contract of command experts: what was printed, unless the exit code says otherwise.
func (e *ended) ending(limit int64) task.Ending {
	if e.overflow {
		return task.Failure(events.CodeTooLarge, fmt.Sprintf("the program printed more than %d bytes", limit), e.stderr,
			"print less, or raise stdout_limit on the expert's card")
	}
	report, explicit := e.report()
	switch {
	case e.code == 0 && e.signal == "", explicit && report.Outcome.Valid() && report.Outcome != events.Success:
		return task.Ending{Report: report}
	case e.code == ExitInputData:
		r := &events.SubJobReported{
			Outcome: events.InputDataError, Lesson: e.stderr,
			Error: &events.Fault{Code: events.CodeInputData, Message: "the program cannot work with its input", Cause: e.stderr},
		}
		return task.Ending{Report: r}
	case e.signal != "":
		return task.Failure(events.CodeExecution, "the program was killed by "+e.signal, e.stderr, "")
	}
	return task.Failure(events.CodeExecution, "the program ended with exit code "+strconv.Itoa(e.code), e.stderr, "")
}

// report reads standard output: an object with "outcome" is a report, any other JSON or text the output of a SUCCESS.
func (e *ended) report() (r *events.SubJobReported, explicit bool) {
	text := bytes.TrimSpace(e.stdout)
	switch {
	case len(text) == 0:
		return &events.SubJobReported{Outcome: events.Success}, false
	case json.Valid(text):
		if r, explicit = explicitReport(text); explicit {
			return r, true
		}
		return &events.SubJobReported{Outcome: events.Success, Output: compact(text)}, false
	case !utf8.Valid(e.stdout):
		// No JSON can hold it: the loop moves it to a blob, as the bytes they are.
		return &events.SubJobReported{
			Outcome: events.Success, Output: e.stdout,
			OutputRef: &events.Ref{MediaType: "application/octet-stream"},
		}, false
	}
	quoted, err := json.Marshal(strings.TrimRight(string(e.stdout), "\r\n"))
	if err != nil {
		return &events.SubJobReported{Outcome: events.ExecutionError}, false
	}
	return &events.SubJobReported{Outcome: events.Success, Output: quoted}, false
}

func explicitReport(text []byte) (*events.SubJobReported, bool) {
	var keys map[string]json.RawMessage
	if text[0] != '{' || json.Unmarshal(text, &keys) != nil || keys["outcome"] == nil {
		return nil, false
	}
	r := &events.SubJobReported{}
	if err := json.Unmarshal(text, r); err != nil {
		f := task.Failure(events.CodeMalformed, "the program printed a report that cannot be read", err.Error(),
			`print {"outcome":"SUCCESS","output":…}`)
		return f.Report, true
	}
	r.OutputRef, r.Selected = nil, nil // A program has no blobs and knows no selection.
	return r, true
}

func compact(text []byte) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return text
	}
	return b.Bytes()
}
