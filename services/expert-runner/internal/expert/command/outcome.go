package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/sandbox"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// ExitInputData is the exit code for unusable input (EX_DATAERR of sysexits.h).
const ExitInputData = 65

// ended describes how a process ended and what it printed.
type ended struct {
	// code is the exit code; signal is the signal that killed it, if any.
	code   int
	signal syscall.Signal
	stdout []byte
	// overflow is true if the program printed too much.
	overflow bool
	// full is true if the program left too much in its workspace.
	full   bool
	stderr string
}

// ending applies the contract of command experts: the output is the result, unless the exit code says otherwise.
func (e *ended) ending(c *Config) task.Ending {
	if e.overflow {
		return task.Failure(events.CodeTooLarge, fmt.Sprintf("the program printed more than %d bytes", c.Stdout), e.stderr,
			"print less, or raise stdout_limit on the expert's card")
	}
	if e.full {
		return task.Failure(events.CodeTooLarge, fmt.Sprintf("the workspace of the program held more than %d bytes", c.Policy.Limits.Workspace), e.stderr,
			"leave less there, or raise limits.workspace on the expert's card")
	}
	report, explicit := e.report()
	switch {
	case e.code == 0 && e.signal == 0, explicit && report.Outcome.Valid() && report.Outcome != events.Success:
		return task.Ending{Report: report}
	case e.code == ExitInputData:
		r := &events.SubJobReported{
			Outcome: events.InputDataError, Lesson: e.stderr,
			Error: &events.Fault{Code: events.CodeInputData, Message: "the program cannot work with its input", Cause: e.stderr},
		}
		return task.Ending{Report: r}
	case e.signal != 0:
		return e.killed(c)
	}
	if e.code > shellSignal && c.limited(syscall.Signal(e.code-shellSignal)) {
		e.signal = syscall.Signal(e.code - shellSignal) // A shell reported this about its child.
		return e.killed(c)
	}
	return task.Failure(events.CodeExecution, "the program ended with exit code "+strconv.Itoa(e.code), e.stderr, c.hint())
}

// report parses standard output: an object with "outcome" is a report, any other JSON or text is the output of a SUCCESS.
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
		// JSON cannot contain these bytes: the loop stores them as a blob.
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
	r.OutputRef, r.Artifacts, r.Selected, r.LogRef = nil, nil, nil, nil // A program has no blobs and cannot select values.
	return r, true
}

func compact(text []byte) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return text
	}
	return b.Bytes()
}

// shellSignal is what a shell adds to the number of the signal that killed its child.
const shellSignal = 128

// limited reports whether a signal means that a limit of the sandbox was exceeded.
func (c *Config) limited(s syscall.Signal) bool {
	return c.boxed() && (s == syscall.SIGXFSZ || s == syscall.SIGXCPU && c.Policy.Limits.CPU > 0)
}

// killed returns the ending for a limit that killed the program.
func (e *ended) killed(c *Config) task.Ending {
	limits := c.Policy.Limits.Filled()
	switch {
	case c.limited(e.signal) && e.signal == syscall.SIGXCPU:
		return task.Failure(events.CodeBudget, fmt.Sprintf("the program took more than %s on processors", limits.CPU), e.stderr,
			"give it less to do, or raise limits.cpu on the expert's card")
	case c.limited(e.signal):
		return task.Failure(events.CodeTooLarge, fmt.Sprintf("a file of the program became larger than %d bytes", limits.FileSize), e.stderr,
			"write less, or raise limits.file_size on the expert's card")
	}
	return task.Failure(events.CodeExecution, "the program was killed by "+e.signal.String(), e.stderr, c.hint())
}

// hint returns what a failed program may have lacked because of its sandbox.
func (c *Config) hint() string {
	if !c.boxed() {
		return ""
	}
	return fmt.Sprintf("it ran at sandbox level %s: if that kept it from files or from the network, allow them on the expert's card by read, write and network", c.Box.Level())
}

func (c *Config) boxed() bool { return c.Box != nil && c.Box.Level() != sandbox.None }
