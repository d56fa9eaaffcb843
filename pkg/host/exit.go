package host

import (
	"errors"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Exit codes of a service process.
const (
	ExitOK          = 0   // Ended in order.
	ExitFailure     = 1   // Ended by an error; not ready, for healthcheck.
	ExitUsage       = 2   // A flag, a setting or a configuration file is wrong.
	ExitNotFound    = 5   // What the service was asked to read is not there.
	ExitUnavailable = 69  // The bus or a model cannot be reached.
	ExitInterrupted = 130 // A second signal asked to end at once.
)

// ErrUnavailable is wrapped by errors that mean that the bus or a model could not be reached.
var ErrUnavailable = errors.New("unavailable")

// ExitCode is the code that a program ends with for an error; of several faults the first decides.
func ExitCode(err error) int {
	var faults Faults
	var wire events.Faults
	switch {
	case err == nil:
		return ExitOK
	case errors.Is(err, ErrInterrupted):
		return ExitInterrupted
	case errors.As(err, &faults):
		return ExitUsage
	case errors.Is(err, ErrUnavailable):
		return ExitUnavailable
	case errors.As(err, &wire) && len(wire) > 0:
		return faultCode(wire[0].Code)
	}
	return ExitFailure
}

func faultCode(code events.Code) int {
	switch {
	case AskedWrongly(code):
		return ExitUsage
	case code == events.CodeNotFound:
		return ExitNotFound
	case code == events.CodeUnavailable:
		return ExitUnavailable
	}
	return ExitFailure
}

// AskedWrongly reports whether a fault is an error of usage or configuration, which the user must correct first.
func AskedWrongly(code events.Code) bool {
	switch code {
	case events.CodeMalformed, events.CodeUnknownField, events.CodeInvalid, events.CodeMissing, events.CodeTooLarge,
		events.CodeDuplicateID, events.CodeCycle, events.CodeDangling, events.CodeHiddenExpert,
		CodeUnreadable, CodeDuplicateKey, CodeUnknownVariable:
		return true
	}
	return false
}
