package host

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Codes of faults in settings and files, in addition to those of events.
const (
	CodeUnreadable      events.Code = "unreadable_file"  // A file is missing, too large or not readable.
	CodeDuplicateKey    events.Code = "duplicate_key"    // A key occurs twice in one mapping.
	CodeUnknownVariable events.Code = "unknown_variable" // The environment does not have ${NAME}.
)

// Fault is an events.Fault with a position in a file.
type Fault struct {
	// Code is the class, stable for programs.
	Code events.Code `json:"code"`
	// Message says what is wrong, with the value and the limit.
	Message string `json:"message"`
	// Field is the faulty flag, variable or path of keys, such as "models.default.temperature".
	Field string `json:"field,omitempty"`
	// Cause is the text of the underlying error, if any.
	Cause string `json:"cause,omitempty"`
	// Hint says what to do next.
	Hint string `json:"hint,omitempty"`
	// File is the file that contains the fault; empty for flags and the environment.
	File string `json:"file,omitempty"`
	// Line counts from 1; 0 when unknown.
	Line int `json:"line,omitempty"`
	// Column counts characters from 1; 0 when unknown.
	Column int `json:"column,omitempty"`
}

// Error returns the fault on one line: file:line:column: field: message: cause (hint).
func (f Fault) Error() string {
	var parts []string
	if place := f.place(); place != "" {
		parts = append(parts, place)
	}
	for _, part := range []string{f.Field, f.Message, f.Cause} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	text := strings.Join(parts, ": ")
	if f.Hint != "" {
		text += " (" + f.Hint + ")"
	}
	return text
}

func (f Fault) place() string {
	switch {
	case f.File == "":
		return ""
	case f.Line == 0:
		return f.File
	case f.Column == 0:
		return fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	return fmt.Sprintf("%s:%d:%d", f.File, f.Line, f.Column)
}

// Faults lists all faults in order of position. Main exits with ExitUsage for them.
type Faults []Fault

// Error returns one line per fault.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = fault.Error()
	}
	return strings.Join(lines, "\n")
}

// Err returns the faults as an error, nil if there are none.
func (f Faults) Err() error {
	if len(f) == 0 {
		return nil
	}
	return f
}

// Wire converts the faults to the form of replies and events, with the position before the message.
func (f Faults) Wire() events.Faults {
	wire := make(events.Faults, len(f))
	for i, fault := range f {
		message := fault.Message
		if place := fault.place(); place != "" {
			message = place + ": " + message
		}
		wire[i] = events.Fault{
			Code: fault.Code, Message: message, Field: fault.Field, Cause: fault.Cause, Hint: fault.Hint,
		}
	}
	return wire
}

// faultsOf converts any error to faults; nil yields none.
func faultsOf(err error) Faults {
	if err == nil {
		return nil
	}
	var ours Faults
	if errors.As(err, &ours) {
		return ours
	}
	var theirs events.Faults
	if errors.As(err, &theirs) {
		return fromWire(theirs)
	}
	var one *events.Fault
	if errors.As(err, &one) {
		return fromWire(events.Faults{*one})
	}
	return Faults{{Code: events.CodeInvalid, Message: err.Error()}}
}

func fromWire(wire events.Faults) Faults {
	faults := make(Faults, len(wire))
	for i, fault := range wire {
		faults[i] = Fault{
			Code: fault.Code, Message: fault.Message, Field: fault.Field, Cause: fault.Cause, Hint: fault.Hint,
		}
	}
	return faults
}
